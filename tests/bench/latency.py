"""What the council adds to its models' own time: one `council/verify` against the same calls made bare.

A scripted Ollama takes 200 ms a call. A verify with three members and a challenge is two serial steps, three calls in
parallel and then one, so the floor is what raw sockets need for these. Bare calls, a verify over stdio and a verify in
this process take turns within one run, and medians are compared. Exits 1 where stdio takes more than the bar allows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from neuron_council.council import Council
from neuron_council.evidence.pack import ContextPack
from support import MODELS, Stub, settings

CALL_S = 0.2
"""Seconds that the stub takes for a call."""
BAR = 1.05
"""What a verify over stdio may take, as a multiple of the bare calls."""
CONTEXT = "The minutes of the harbour board name the lighthouse of Ostby and its keeper."


def claim(number: int) -> str:
    """A claim that was never judged before."""
    return f"The lighthouse of Ostby has its keeper, says minute {'i' * number} of the harbour board."


class BareLine:
    """One kept connection to the stub."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, stub: Stub) -> BareLine:
        return cls(*await asyncio.open_connection("127.0.0.1", stub.port))

    async def call(self, body: bytes) -> bytes:
        """What `/api/chat` answers to BODY."""
        head = f"POST /api/chat HTTP/1.1\r\nHost: stub\r\nContent-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        return await read_frame(self._reader)

    def close(self) -> None:
        self._writer.close()


class Session:
    """One `neuron-council serve` and its client."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin
        assert process.stdout
        self._process, self._stdin, self._stdout = process, process.stdin, process.stdout
        self._last = 0

    @classmethod
    async def open(cls, stub: Stub, home: Path) -> Session:
        program = Path(sys.executable).with_name("neuron-council")
        session = cls(
            await asyncio.create_subprocess_exec(
                program,
                "serve",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "NEURON_HOME": str(home), "OLLAMA_HOST": f"127.0.0.1:{stub.port}"},
            )
        )
        await session.request("initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": {}})
        session.send({"method": "initialized", "params": {}})
        return session

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def request(self, method: str, params: object = None) -> Any:
        """The result of METHOD."""
        self._last += 1
        self.send({"id": self._last, "method": method, **({} if params is None else {"params": params})})
        while True:
            message = json.loads(await read_frame(self._stdout))
            if message.get("id") == self._last:
                return message["result"]

    async def close(self) -> None:
        await self.request("shutdown")
        self.send({"method": "exit"})
        self._stdin.close()
        await asyncio.wait_for(self._process.wait(), 10)


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """The body of one answer or message with a Content-Length."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = next(line.partition(":")[2] for line in head.split("\r\n") if line.startswith("content-length:"))
    return await reader.readexactly(int(length))


async def measure(runs: int) -> dict[str, list[float]]:
    """The seconds of RUNS bare rounds, verifies over stdio and verifies in this process."""
    stub = Stub()
    stub.start()
    with tempfile.TemporaryDirectory() as home:
        stub.script(default={"delay": CALL_S})
        council = Council(settings(stub.url, Path(home)))
        session = await Session.open(stub, Path(home))
        lines = [await BareLine.open(stub) for _ in MODELS]
        numbers = iter(range(1_000_000))

        async def direct() -> None:
            verdict = await council.verify(ContextPack(claim(next(numbers)), CONTEXT))
            assert verdict.outcome.tags == ("verified",), verdict.outcome

        async def stdio() -> None:
            result = await session.request("council/verify", {"claim": claim(next(numbers)), "context": CONTEXT})
            assert result["tags"] == ["verified"], result

        async def bare() -> None:
            await asyncio.gather(*(line.call(body) for line, body in zip(lines, votes, strict=True)))
            await lines[-1].call(challenge)

        try:
            await direct()
            votes = [_bytes(stub.votes(model)[0].body) for model in MODELS]
            challenge = _bytes(stub.challenges()[0].body)
            await stdio()
            await bare()
            return await _in_turns({"bare": bare, "stdio": stdio, "direct": direct}, runs)
        finally:
            await session.close()
            await council.close()
            for line in lines:
                line.close()
            stub.kill()


async def _in_turns(measured: dict[str, Callable[[], Awaitable[None]]], runs: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(runs):
        for name, once in measured.items():
            began = time.perf_counter()
            await once()
            taken[name].append(time.perf_counter() - began)
    return taken


def _bytes(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


def _line(name: str, taken: Sequence[float], floor: float) -> str:
    low, _, high = quantiles(taken, n=4)
    return (
        f"{name:8} median {median(taken) * 1e3:6.1f} ms, quartiles {low * 1e3:6.1f} to {high * 1e3:6.1f} ms, "
        f"{median(taken) / floor:.3f} x bare"
    )


def main() -> int:
    """Measure, print, and say with the exit code whether the bar is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=21, help="rounds of each kind (default 21)")
    taken = asyncio.run(measure(parser.parse_args().runs))
    floor = median(taken["bare"])
    for name, times in taken.items():
        sys.stdout.write(_line(name, times, floor) + "\n")
    ratio = median(taken["stdio"]) / floor
    sys.stdout.write(f"a verify over stdio takes {ratio:.3f} x its models' own time; the bar is {BAR}\n")
    return ratio > BAR


if __name__ == "__main__":
    sys.exit(main())

"""What the tests share: the scripted Ollama as a child process, raw HTTP answers, and short ways to say things."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen, mutable

from clock import now
from neuron_council import config
from neuron_council.config import Settings
from neuron_council.evidence.pack import ContextPack

STUB = Path(__file__).with_name("stub_ollama.py")

CLAIM = "Ada Lovelace wrote the first published program for the Analytical Engine."
CONTEXT = "Notes: Ada Lovelace translated Menabrea's paper in 1843 and added a program for the Analytical Engine."
PACK = ContextPack(CLAIM, CONTEXT)
BARE_PACK = ContextPack(CLAIM)

NEURON, NEURON_FT, DOLPHIN = MODELS = ("neuron:latest", "neuron-ft:latest", "dolphin3:8b")


@frozen
class Call:
    """One request that the stub saw; START and END are the stub's monotonic seconds."""

    path: str
    model: str | None
    body: dict[str, Any]
    outcome: str
    start: float
    end: float | None

    @property
    def is_load(self) -> bool:
        return self.path == "/api/chat" and not self.body["messages"]

    @property
    def is_vote(self) -> bool:
        return self._asks_for("ballot")

    @property
    def is_challenge(self) -> bool:
        return self._asks_for("refuted")

    @property
    def user(self) -> str:
        """The user text of a question."""
        return str(self.body["messages"][-1]["content"])

    def _asks_for(self, key: str) -> bool:
        return self.path == "/api/chat" and bool(self.body["messages"]) and key in self.body["format"]["properties"]


@mutable
class Stub:
    """The scripted Ollama; see stub_ollama.py for what a script can say."""

    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, on the port that it had before if there was one."""
        self._process = subprocess.Popen([sys.executable, "-E", STUB, str(self.port)], stdout=subprocess.PIPE)
        assert self._process.stdout
        self.port = json.loads(self._process.stdout.readline())["port"]

    def kill(self) -> None:
        """End it as a crash would: its connections are reset and its port refuses."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            assert self._process.stdout
            self._process.stdout.close()
            self._process = None

    def script(self, **script: Any) -> None:
        """Behave like this from now on; the log is emptied, and what is resident stays unless SCRIPT says it."""
        self._talk("POST", "/stub/config", script)

    def reset(self) -> None:
        """Forget the script, the log and the loaded models."""
        self.script(resident={})

    def calls(self, path: str | None = None) -> list[Call]:
        """What was asked since the last script, in order."""
        calls = [Call(**entry) for entry in self._talk("GET", "/stub/log")]
        return [call for call in calls if path in (None, call.path)]

    def votes(self, model: str | None = None) -> list[Call]:
        return [call for call in self.calls() if call.is_vote and model in (None, call.model)]

    def loads(self, model: str | None = None) -> list[Call]:
        return [call for call in self.calls() if call.is_load and model in (None, call.model)]

    def challenges(self) -> list[Call]:
        return [call for call in self.calls() if call.is_challenge]

    def _talk(self, method: str, path: str, body: object = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


def seats(*models: str, **common: Any) -> list[dict[str, Any]]:
    """`[[member]]` entries for MODELS, the last one the contrarian's; COMMON goes to every entry."""
    last = len(models) - 1
    return [
        {"id": f"m{number}", "model": model, "role": "contrarian" if number == last else "member", **common}
        for number, model in enumerate(models)
    ]


def settings(
    url: str, home: Path, *, member: Sequence[dict[str, Any]] = (), ollama: dict[str, Any] | None = None, **council: Any
) -> Settings:
    """Settings as a client would send them: the default board at URL unless MEMBER says another."""
    options: dict[str, Any] = {"council": council, "ollama": {"base_url": url, **(ollama or {})}}
    return config.load(home, {}, options | ({"member": list(member)} if member else {}))


async def until(condition: Callable[[], object], within_s: float = 20.0) -> None:
    """Wait until CONDITION holds, or fail."""
    give_up = now() + within_s
    while not condition():
        assert now() < give_up, "what was waited for did not happen"
        await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def closing(thing: Any) -> AsyncIterator[Any]:
    """THING for the block, then its `close`."""
    try:
        yield thing
    finally:
        await thing.close()


@frozen
class Request:
    """One HTTP request as it came; header names in lower case. `connection` counts connections from 0."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = Callable[[Request], bytes | Awaitable[bytes]]


@mutable
class RawServer:
    """An HTTP server that sends what ANSWER returns, byte for byte; empty bytes close the connection unanswered."""

    answer: Answer
    requests: list[Request] = field(factory=list)
    port: int = 0
    _tasks: list[asyncio.Task[None] | None] = field(factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(self._tasks)
        self._tasks.append(asyncio.current_task())
        try:
            while True:
                request = await _request(reader, number)
                self.requests.append(request)
                data = self.answer(request)
                if not isinstance(data, bytes):
                    data = await data
                writer.write(data)
                await writer.drain()
                if not data or not _is_whole(data):
                    break
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def hang_up(self) -> None:
        """Close every connection."""
        tasks = [task for task in self._tasks if task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def raw_server(answer: Answer | bytes) -> AsyncIterator[RawServer]:
    """A RawServer on a free port of loopback for the block."""
    raw = RawServer(answer if callable(answer) else lambda _: answer)
    server = await asyncio.start_server(raw.serve, "127.0.0.1", 0)
    raw.port = server.sockets[0].getsockname()[1]
    try:
        yield raw
    finally:
        server.close()
        await raw.hang_up()


def http_answer(status: int, body: object, *headers: str) -> bytes:
    """A whole HTTP answer; BODY is JSON unless it is bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + data


def refusing_url() -> str:
    """The address of a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


@contextlib.contextmanager
def black_hole() -> Iterator[str]:
    """The address of a port whose connections are never made: its queue is full and nobody accepts."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                filler.connect(address)
        yield f"http://127.0.0.1:{address[1]}"


async def _request(reader: asyncio.StreamReader, connection: int) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    method, path, _ = first.split(" ")
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, body, connection)


def _is_whole(data: bytes) -> bool:
    head, _, body = data.partition(b"\r\n\r\n")
    return f"Content-Length: {len(body)}\r\n".encode() in head + b"\r\n"

"""A scripted Ollama for the tests: it answers the routes that the council uses, on loopback, without a model.

Run alone, with a port or on one of the system's choice, it prints {"port": N} and serves until it is killed. A test
scripts it over HTTP:

    POST /stub/config  {"default": BEHAVIOUR, "models": {NAME: BEHAVIOUR}, "installed": [NAME], "digests": {NAME: HEX},
                        "ps_limit": models resident at once, "dead_routes": paths that never answer,
                        "resident": {NAME: WINDOW} to begin with (else what is resident stays so),
                        "requests_per_connection": the next request on a connection is read and never answered,
                        "routes": {PATH: whole JSON answer}}
                       from now on; the log is emptied
    GET  /stub/log     [{"path", "model", "body", "start", "end", "outcome"}] with monotonic seconds, outcome
                       `answered`, `fault` or `client-closed`

BEHAVIOUR may hold: ballot, score (1..5), confidence (0..100), rationale, argument, quote, refuted, delay (seconds),
load (seconds of loading before the first answer), load_fault and fault (see FAULTS), fault_first (calls that have the
fault), content (a text instead of the JSON that is asked for), by_call (behaviours of the 1st, 2nd … call, the last for
all later ones), capabilities, family, remote_host, context_length, envelope (fields of the answer).
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from collections import Counter
from typing import Any

from clock import SteadyLoop, now

INSTALLED = ["neuron:latest", "neuron-ft:latest", "dolphin3:8b"]
WORDS = {
    "plausible": "It agrees with what is given.",
    "uncertain": "Nothing given decides it.",
    "confabulation": "It contradicts what is given.",
}
SCORES = {"plausible": 5, "uncertain": 3, "confabulation": 1}


def status(code: int, body: Any, extra: str = "") -> bytes:
    """A whole HTTP answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {code} Stub\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n{extra}\r\n"
    return head.encode() + data


FAULTS = {
    "http500": status(500, {"error": "the runner has stopped"}),
    "busy": status(503, {"error": "server busy, please try again.  maximum pending requests exceeded"}),
    "html502": status(502, b"<html>Bad Gateway</html>"),
    "unauthorized": status(401, {"error": "unauthorized"}),
    "forbidden": status(403, b""),
    "redirect": status(302, b"", "Location: http://127.0.0.2:9/\r\n"),
    "error_200": status(200, {"error": "it went wrong"}),
    "not_json": status(200, b"\x00{{{"),
    "bad_utf8": status(200, b'{"message": {"content": "\xff"}, "done": true}'),
    "wrong_type": status(200, ["a", "list"]),
    "no_message": status(200, {"done": True}),
    "truncated": status(200, {"message": {"content": "x" * 400}})[:-200],
    "compressed": status(200, b"\x1f\x8b\x08", "Content-Encoding: gzip\r\n"),
    "not_http": b"SSH-2.0-OpenSSH_9.2\r\n",
    "overflow": status(
        400, {"error": json.dumps({"error": {"type": "exceed_context_size_error", "message": "too long"}})}
    ),
    "huge": b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n" + b" " * 9_000_000,
    "close": b"",
    "hang": b"",
}


class StubOllama:
    """What the stub knows: its script, its log, the models that are resident with their windows."""

    def __init__(self) -> None:
        self.script: dict[str, Any] = {}
        self.log: list[dict[str, Any]] = []
        self.calls: dict[str, int] = {}
        self.resident: dict[str, int] = {}
        self.busy: Counter[str] = Counter()
        self.loader = asyncio.Lock()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        served = 0
        try:
            while (answer := await self.answer(reader, served)) is not None:
                served += 1
                writer.write(answer)
                await writer.drain()
                if answer in FAULTS.values():
                    break
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def answer(self, reader: asyncio.StreamReader, served: int) -> bytes | None:
        """The answer to the next request of a connection that had SERVED; None closes the connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        path = head.split(" ")[1]
        length = next((int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:")), 0)
        body = json.loads(await reader.readexactly(length) or b"{}")
        if path == "/stub/config":
            self.script, self.log, self.calls = body, [], {}
            if "resident" in body:
                self.resident, self.busy, self.loader = dict(body["resident"]), Counter(), asyncio.Lock()
            return status(200, {})
        if path == "/stub/log":
            return status(200, self.log)
        if served >= self.script.get("requests_per_connection", math.inf):
            return None
        entry = {"path": path, "model": body.get("model"), "body": body, "outcome": "answered"}
        self.log.append(entry | {"start": time.monotonic(), "end": None})
        entry = self.log[-1]
        try:
            answer = await self.route(path, body, entry, reader)
        finally:
            entry["end"] = time.monotonic()
        if answer is None:
            entry["outcome"] = "client-closed"
        return answer

    async def route(self, path: str, body: Any, entry: dict[str, Any], reader: asyncio.StreamReader) -> bytes | None:
        """Answer one call of Ollama's own routes."""
        model = body.get("model", "")
        if path in (self.script.get("dead_routes") or ()):
            return None if await self.gone(reader, 3600) else b""
        if path in (routes := self.script.get("routes") or {}):
            return status(200, routes[path])
        if path == "/api/version":
            return status(200, {"version": "0.40.12"})
        if path in ("/api/tags", "/api/ps"):
            return status(
                200, {"models": [self.row(name, path) for name in self.installed() if self.lists(name, path)]}
            )
        if model not in self.installed():
            return status(404, {"error": f"model '{model}' not found"})
        doing = self.behaviour(model)
        if path == "/api/show":
            shown = {
                "capabilities": doing.get("capabilities", ["completion"]),
                "details": {"family": doing.get("family", "llama")},
            }
            return status(200, shown | {"remote_host": doing.get("remote_host", "")})
        if path != "/api/chat":
            return status(404, b"404 page not found")
        return await self.chat(model, body, doing, entry, reader)

    async def chat(
        self, model: str, body: Any, doing: dict[str, Any], entry: dict[str, Any], reader: asyncio.StreamReader
    ) -> bytes | None:
        """Load the model if need be, then vote."""
        if not await self.load(model, doing, body["options"]["num_ctx"], reader):
            return None
        if not body["messages"]:
            if load_fault := doing.get("load_fault"):
                return FAULTS[load_fault]
            return status(200, {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "load"})
        self.busy[model] += 1
        try:
            return await self.generate(model, body, doing, entry, reader)
        finally:
            self.busy[model] -= 1

    async def generate(
        self, model: str, body: Any, doing: dict[str, Any], entry: dict[str, Any], reader: asyncio.StreamReader
    ) -> bytes | None:
        """The resident model's answer."""
        self.calls[model] = self.calls.get(model, 0) + 1
        if steps := doing.get("by_call"):
            doing = doing | steps[min(self.calls[model], len(steps)) - 1]
        fault = doing.get("fault") if self.calls[model] <= doing.get("fault_first", math.inf) else None
        if await self.gone(reader, 3600 if fault == "hang" else doing.get("delay", 0)):
            return None
        if fault:
            entry["outcome"] = "fault"
            return FAULTS[fault] or None
        return status(200, self.vote(doing, body))

    def vote(self, doing: dict[str, Any], body: Any) -> dict[str, Any]:
        """The answer that the schema of the request asks for, as the behaviour says."""
        label = doing.get("ballot", "plausible")
        text = doing.get("rationale", WORDS[label])
        fields = body["format"]["properties"]
        if "ballot" in fields:
            score = doing.get("score", SCORES[label])
            null = fields["scores"]["properties"]["grounded"]["type"] == "null"
            value: dict[str, Any] = {
                "ballot": label,
                "confidence": doing.get("confidence", 90),
                "rationale": text,
                "scores": {"coherent": score, "factual": score, "grounded": None if null else score},
            }
        else:
            value = {
                "argument": doing.get("argument", text),
                "quote": doing.get("quote", ""),
                "refuted": doing.get("refuted", False),
            }
        content = doing.get("content", json.dumps(value))
        answer = {"message": {"role": "assistant", "content": content}, "done": True, "done_reason": "stop"}
        if body.get("logprobs") and "content" not in doing and "ballot" in fields:
            answer["logprobs"] = odds(content, label)
        return answer | doing.get("envelope", {})

    async def load(self, model: str, doing: dict[str, Any], window: int, reader: asyncio.StreamReader) -> bool:
        """Have the model resident with this window, one load at a time; False where the client left meanwhile."""
        if self.resident.get(model) == window:
            return True
        async with self.loader:
            if self.resident.get(model) != window:
                self.resident.pop(model, None)
                if not await self.make_room(reader) or await self.gone(reader, doing.get("load", 0)):
                    return False
                self.resident[model] = window
            return True

    async def make_room(self, reader: asyncio.StreamReader) -> bool:
        """Evict the oldest idle models until one more fits; False where the client left meanwhile."""
        while len(self.resident) >= self.script.get("ps_limit", math.inf):
            if idle := [name for name in self.resident if not self.busy[name]]:
                self.resident.pop(idle[0])
            elif await self.gone(reader, 0.005):
                return False
        return True

    async def gone(self, reader: asyncio.StreamReader, seconds: float) -> bool:
        """Wait; True as soon as the client has closed its side."""
        until = now() + seconds
        while (left := until - now()) > 0:
            await asyncio.sleep(min(left, 0.005))
            if reader.at_eof():
                return True
        return False

    def behaviour(self, model: str) -> dict[str, Any]:
        """What the script says of this model."""
        return {**self.script.get("default", {}), **self.script.get("models", {}).get(model, {})}

    def installed(self) -> list[str]:
        """The models that are installed."""
        names = self.script.get("installed")
        return INSTALLED if names is None else names

    def lists(self, name: str, path: str) -> bool:
        """Whether a listing of this route has this model."""
        return path == "/api/tags" or name in self.resident

    def row(self, name: str, path: str) -> dict[str, Any]:
        """A model's row in a listing."""
        number = self.installed().index(name)
        digest = (self.script.get("digests") or {}).get(name, f"{number:064x}")
        row = {
            "name": name,
            "model": name,
            "size": (4 + number) << 30,
            "digest": digest,
            "details": {"family": "llama"},
        }
        if path == "/api/ps":
            row["context_length"] = self.behaviour(name).get("context_length", self.resident[name])
        return row


def odds(content: str, label: str) -> list[dict[str, Any]]:
    """Token probabilities with word pieces: 0.8 on the ballot's, 0.1 on another label's, the rest elsewhere."""
    piece = {"plausible": "pl", "uncertain": "unc", "confabulation": "conf"}
    at = content.index(f'"{label}"') + 1
    other = next(text for name, text in piece.items() if name != label)
    top = [
        {"token": text, "logprob": math.log(share)} for text, share in ((piece[label], 0.8), (other, 0.1), ("Hm", 0.1))
    ]
    tokens = [content[:at], piece[label], content[at + len(piece[label]) :]]
    return [
        {"token": text, "logprob": math.log(0.8), "top_logprobs": top if text == tokens[1] else []} for text in tokens
    ]


async def main() -> None:
    """Serve on a port of the system's choice."""
    stub = StubOllama()
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    server = await asyncio.start_server(stub.serve, "127.0.0.1", port, backlog=1024)
    sys.stdout.write(json.dumps({"port": server.sockets[0].getsockname()[1]}) + "\n")
    sys.stdout.flush()
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=SteadyLoop) as runner:
        runner.run(main())

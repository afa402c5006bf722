"""A server without a process: messages go in as bodies, and what it sends is kept."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

from fake_council import FakeCouncil
from neuron_council.errors import ConfigError
from neuron_council.rpc.server import CouncilServer


class Sink(list):
    """A writer that keeps what it is given, read back as JSON."""

    is_congested = False

    def write(self, frame):
        header, _, body = frame.partition(b"\r\n\r\n")
        assert header == b"Content-Length: %d" % len(body)
        self.append(json.loads(body))


class Bench:
    """A server without a process."""

    def __init__(self):
        self.exits, self.watched, self.options = [], [], []
        self.sink = Sink()
        self.councils = []
        watch = SimpleNamespace(client=self.watched.append)
        self.server = CouncilServer({}, lambda *end: self.exits.append(end), watch, self.load, self.convene)
        self.server.protocol.set_writer(self.sink)
        self.protocol = self.server.protocol

    def load(self, _, __, options):
        self.options.append(options)
        if options == "wrong":
            raise ConfigError("council.toml: [council] max_loops: it must be 1 to 3.")
        council = SimpleNamespace(deadline_s=60.0)
        return SimpleNamespace(council=council, members=(1, 2, 3), warnings=("A variable is unknown.",))

    def convene(self, settings):
        self.councils.append(FakeCouncil(settings))
        return self.councils[-1]

    @property
    def council(self):
        return self.councils[-1]

    def send(self, ident, method, params=None):
        body = {"jsonrpc": "2.0", "method": method, "params": params}
        self.protocol.dispatch(json.dumps(body if ident is None else {**body, "id": ident}).encode())

    def start(self, ident, method, params=None):
        self.send(ident, method, params)
        return self

    def initialized(self):
        self.send("init", "initialize", {"processId": 4711})
        assert self.sink.pop()["id"] == "init"
        return self

    async def settled(self):
        """Let everything run that can run now."""
        for _ in range(20):
            await asyncio.sleep(0)
        return self

    def codes(self):
        """Ids and error codes (None for a result) so far, in order; forgets them."""
        got = [(m["id"], m.get("error", {}).get("code")) for m in self.sink if "method" not in m]
        self.sink.clear()
        return got

"""A client that sends bytes as they are, and sees every byte that comes back. Everything in it is bounded in time."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

FAKE = (sys.executable, str(Path(__file__).with_name("fake_council.py")))
PATIENCE_S = 60.0
"""How long a reply may take on a machine that is busy with other things."""


def framed(message) -> bytes:
    """MESSAGE, a JSON value or a body, as a frame."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def request(ident, method, params=None) -> dict:
    """A request; without params where they are None."""
    return {"jsonrpc": "2.0", "id": ident, "method": method} | ({} if params is None else {"params": params})


def notification(method, params=None) -> dict:
    """A notification; without params where they are None."""
    return {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})


class Wire:
    """A server in a process of its own. `noise` is what it wrote on stdout outside of frames."""

    def __init__(self, home, command=FAKE, *, initialize=True, read=True, **options) -> None:
        env = {"PATH": os.environ["PATH"], "NEURON_HOME": str(home), **options.pop("env", {})}
        pipe = subprocess.PIPE
        options = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "bufsize": 0, **options}
        self.process = subprocess.Popen(command, env=env, **options)
        self.noise = b""
        self.headers = set()
        self.stderr = b""
        self._messages = queue.Queue()
        self._kept = []
        self._threads = []
        if self.process.stderr is not None:
            self._threads.append(threading.Thread(target=self._drain, daemon=True))
        if read:
            self._threads.append(threading.Thread(target=self._read, daemon=True))
        for thread in self._threads:
            thread.start()
        if initialize:
            self.send(request(0, "initialize", {"processId": os.getpid(), "capabilities": {}}))
            self.initialized = self.reply(0)["result"] if read else None

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def raw(self, data: bytes) -> None:
        """Send bytes, all of them."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.process.stdin.write(rest) :]

    def send(self, *messages) -> None:
        """Send JSON values or bodies, each in a frame, all in one piece."""
        self.raw(b"".join(framed(message) for message in messages))

    def next(self, fits=lambda _: True, what="a message", timeout=PATIENCE_S) -> dict:
        """The oldest message that FITS and was not taken yet; the others are kept."""
        until = time.monotonic() + timeout
        for message in self._kept:
            if fits(message):
                self._kept.remove(message)
                return message
        while True:
            try:
                message = self._messages.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"no {what} in {timeout} s, stderr: {self.stderr[-500:]!r}") from None
            if message is None:
                self._messages.put(None)
                raise EOFError(f"stdout ended before {what}, stderr: {self.stderr[-500:]!r}")
            if fits(message):
                return message
            self._kept.append(message)

    def reply(self, ident, timeout=PATIENCE_S) -> dict:
        """The reply with this very id, of this very type."""
        return self.next(lambda m: "method" not in m and m["id"] == ident and type(m["id"]) is type(ident),
                         f"a reply to {ident!r}", timeout)  # fmt: skip

    def ask(self, ident, method, params=None) -> dict:
        """The reply to one request."""
        self.send(request(ident, method, params))
        return self.reply(ident)

    def progress(self, token) -> dict:
        """The next value of the progress of TOKEN."""
        fits = lambda m: m.get("method") == "$/progress" and m["params"]["token"] == token  # noqa: E731 - read once
        return self.next(fits, f"progress of {token!r}")["params"]["value"]

    def rest(self) -> list:
        """What was not taken, once stdout has ended."""
        kept, self._kept = self._kept, []
        while (message := self._messages.get(timeout=PATIENCE_S)) is not None:
            kept.append(message)
        self._messages.put(None)
        return kept

    def ended(self, timeout=PATIENCE_S) -> int:
        """The exit code, negative for a signal that killed it."""
        code = self.process.wait(timeout)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        return code

    def leave(self) -> int:
        """Say goodbye; the exit code."""
        self.send(request("bye", "shutdown"), notification("exit"))
        return self.ended()

    def _drain(self) -> None:
        while chunk := self.process.stderr.read(65536):
            self.stderr += chunk

    def _read(self) -> None:
        stream = os.fdopen(os.dup(self.process.stdout.fileno()), "rb")
        with stream:
            while True:
                length = None
                while (line := stream.readline()) not in (b"\r\n", b""):
                    name, _, value = line.partition(b": ")
                    self.headers.add(name)
                    if name == b"Content-Length":
                        length = int(value)
                    else:
                        self.noise += line
                if not line:
                    break
                if length is not None:
                    self._messages.put(json.loads(stream.read(length)))
        self._messages.put(None)

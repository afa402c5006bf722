"""The two descriptors of the wire, each with a thread, so that neither can block the event loop."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import AsyncIterator, Callable
from queue import SimpleQueue
from threading import Semaphore, Thread

CHUNK = 64 * 1024
"""Bytes read at once."""
LOOK_S = 0.01
"""Seconds between two looks at what is left to read."""
HIGH_WATER = 4 * 1024 * 1024
"""Bytes waiting to be written from which on nothing more is read: a client that does not read is not worked for."""


class Reader:
    """Chunks of a descriptor, read ahead by one: what is not taken stays in the pipe, where it slows the sender."""

    def __init__(self, fd: int, loop: asyncio.AbstractEventLoop) -> None:
        self._fd = fd
        self._loop = loop
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._room = Semaphore(2)
        self._thread = Thread(target=self._run, name="wire-reader", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        chunk = b"-"
        while chunk:
            self._room.acquire()
            chunk = self._read()
            try:
                self._loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)
            except RuntimeError:  # the loop is closed
                return

    def _read(self) -> bytes:
        while True:
            try:
                return os.read(self._fd, CHUNK)
            except BlockingIOError:  # whoever shares the pipe made it non-blocking
                _wait(self._fd, select.POLLIN)
            except OSError:
                return b""

    async def chunks(self) -> AsyncIterator[bytes]:
        """Every chunk up to the end of the stream."""
        while chunk := await self._chunks.get():
            yield chunk
            self._room.release()

    async def emptied(self, timeout_s: float) -> None:
        """Wait until all that is in the pipe has been taken, for TIMEOUT_S seconds at most."""
        give_up = self._loop.time() + timeout_s
        looks = 0
        while looks < 2 and self._loop.time() < give_up:  # two, since a chunk may be on its way between pipe and queue
            looks = 0 if self._has_more() else looks + 1
            await asyncio.sleep(LOOK_S)

    @property
    def is_left(self) -> bool:
        """Whether nobody can write into the pipe any more, whatever is still in it."""
        return not self._thread.is_alive() or self._has(select.POLLHUP)

    def _has_more(self) -> bool:
        return not self._chunks.empty() or self._has(select.POLLIN)

    def _has(self, event: int) -> bool:
        poll = select.poll()
        poll.register(self._fd, event)
        return any(found & event for _, found in poll.poll(0))


class Writer:
    """Frames to a descriptor, whole and in order. Its methods belong to the loop's thread and never block it."""

    def __init__(self, fd: int, loop: asyncio.AbstractEventLoop, on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._loop = loop
        self._on_broken = on_broken
        self._frames: SimpleQueue[bytes | None] = SimpleQueue()
        self._backlog = 0
        self._drained = asyncio.Event()
        self._drained.set()
        self._thread = Thread(target=self._run, name="wire-writer", daemon=True)
        self._thread.start()

    @property
    def is_congested(self) -> bool:
        """Whether so much waits to be written that what can be done without should not be added."""
        return self._backlog >= HIGH_WATER

    def write(self, frame: bytes) -> None:
        """Have FRAME written after all before it; dropped where the reader at the other end is gone."""
        self._account(len(frame))
        self._frames.put(frame)

    async def drained(self) -> None:
        """Wait until the client has read enough."""
        await self._drained.wait()

    def close(self, timeout_s: float = 0.0) -> None:
        """Write what is queued, for TIMEOUT_S seconds at most. Blocks."""
        self._frames.put(None)
        self._thread.join(timeout_s)

    def _account(self, size: int) -> None:
        self._backlog += size
        if self.is_congested:
            self._drained.clear()
        else:
            self._drained.set()

    def _run(self) -> None:
        broken = False
        while (frame := self._frames.get()) is not None:
            try:
                if not broken:
                    self._write(frame)
            except OSError:
                broken = True
                self._tell(self._on_broken)
            self._tell(self._account, -len(frame))

    def _tell(self, callback: Callable[..., None], *args: int) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:  # the loop is closed, while the last frames are written
            return

    def _write(self, frame: bytes) -> None:
        rest = memoryview(frame)
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:
                _wait(self._fd, select.POLLOUT)


def _wait(fd: int, event: int) -> None:
    poll = select.poll()
    poll.register(fd, event)
    poll.poll()

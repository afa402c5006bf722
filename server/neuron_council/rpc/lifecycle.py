"""What ends the process: signals, a parent that is gone, and the reasons that others give."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from functools import partial

log = logging.getLogger(__name__)

POLL_S = 1.0
"""Seconds between two looks at a process that cannot be watched."""
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Stop:
    """The end of the server. The first reason counts and decides the exit code."""

    def __init__(self) -> None:
        self.code = 0
        self._event = asyncio.Event()

    def __call__(self, code: int, reason: str) -> None:
        """End with CODE."""
        if not self._event.is_set():
            log.info("ending with exit code %d: %s", code, reason)
            self.code = code
            self._event.set()

    async def wait(self) -> None:
        """Wait for the first reason."""
        await self._event.wait()


def heed_signals(stop: Stop) -> None:
    """Let the signals that ask a process to end do so in order, with the shell's exit code for them."""
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stop, 128 + number, number.name)


class Watch:
    """Watches other processes, and stops when one of them is gone."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._watched: set[int] = set()
        self._polls: set[asyncio.Task[None]] = set()

    def parent(self, pid: int) -> None:
        """Watch PID, which was the parent when the process started."""
        end = partial(self._stop, 1, "the parent is gone")
        self._follow(pid, end, is_gone=lambda: os.getppid() != pid)
        if os.getppid() != pid:  # it went before it could be watched
            end()

    def client(self, pid: int) -> None:
        """Watch PID, which calls itself the client; one that cannot be seen from here is no reason to end."""
        if pid <= 0 or pid in self._watched:
            return
        if _is_gone(pid):
            log.warning("the client's processId is not of a process that can be seen from here; it is not watched")
            return
        self._follow(pid, partial(self._stop, 1, "the client is gone"), is_gone=partial(_is_gone, pid))

    def _follow(self, pid: int, end: Callable[[], None], is_gone: Callable[[], bool]) -> None:
        self._watched.add(pid)
        try:
            descriptor = os.pidfd_open(pid)
        except (AttributeError, OSError):  # another system, or a sandbox that knows no such call
            poll = asyncio.create_task(_poll(is_gone, end))
            self._polls.add(poll)
            poll.add_done_callback(self._polls.discard)
            return
        loop = asyncio.get_running_loop()

        def gone() -> None:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            end()

        loop.add_reader(descriptor, gone)


async def _poll(is_gone: Callable[[], bool], end: Callable[[], None]) -> None:
    while not is_gone():  # noqa: ASYNC110 - nobody tells that a process has ended where it cannot be watched
        await asyncio.sleep(POLL_S)
    end()


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False

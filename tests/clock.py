"""An event loop whose time stands still while the machine has other work, so that no deadline of a test comes by that.

It counts what its own thread computes. A processor many times slower than usual still shortens a deadline.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
import time

SLICE_S = 0.002
"""The most that one wait counts for: a process that is not let run for a second has lost this much of its time."""


class SteadySelector(selectors.DefaultSelector):
    """Waits in slices, and counts of each no more than was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready within TIMEOUT seconds of counted time; None waits for ever."""
        left_s = float("inf") if timeout is None else max(timeout, 0.0)
        while True:
            slice_s = min(left_s, SLICE_S)
            began = time.monotonic()
            ready = super().select(slice_s)
            self.waited_s += min(time.monotonic() - began, slice_s)
            left_s -= slice_s
            if ready or left_s <= 0:
                return ready


class SteadyLoop(asyncio.SelectorEventLoop):
    """Its time is what it waited, counted by a SteadySelector, and what its own thread computed."""

    def __init__(self) -> None:
        self._steady = SteadySelector()
        # macOS has no clock of one thread.
        clock = getattr(time, "pthread_getcpuclockid", lambda _: time.CLOCK_PROCESS_CPUTIME_ID)
        self._computing = clock(threading.get_ident())
        super().__init__(self._steady)

    def time(self) -> float:
        """Seconds, for any thread; fewer than on the wall where the machine has other work to do."""
        return self._steady.waited_s + time.clock_gettime(self._computing)

    def skip(self, seconds: float) -> None:
        """Have SECONDS gone by."""
        self._steady.waited_s += seconds


def now() -> float:
    """The seconds of the running loop: what a test measures with."""
    return asyncio.get_running_loop().time()


def skip(seconds: float) -> None:
    """Have SECONDS gone by for the running loop, with whatever was due in them."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SteadyLoop)
    loop.skip(seconds)

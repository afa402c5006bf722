"""A model's queue: so many calls at a time, a person's before an errand's, first come first served among equals."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """Hands out a model's turns; used from one event loop."""

    def __init__(self, calls: int) -> None:
        """CALLS, at least 1, may be in flight at a time."""
        self._free = calls
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._patient: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self, *, is_urgent: bool) -> AsyncIterator[None]:
        """Wait for a turn and hold it for the block. Whoever is urgent goes before all who are not."""
        await self._take(self._urgent if is_urgent else self._patient)
        try:
            yield
        finally:
            self._give()

    async def _take(self, queue: deque[asyncio.Future[None]]) -> None:
        if self._free > 0:
            self._free -= 1
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # the turn came in the moment of the cancellation, and goes to the next
                self._give()
            raise

    def _give(self) -> None:
        for queue in (self._urgent, self._patient):
            while queue:
                if not (waiter := queue.popleft()).done():
                    waiter.set_result(None)
                    return
        self._free += 1

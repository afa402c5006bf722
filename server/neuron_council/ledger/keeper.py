"""The ledger as the event loop uses it: every call on one thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from neuron_council.errors import CorruptLedgerError
from neuron_council.ledger.ledger import FILE, Ledger

T = TypeVar("T")


class Keeper:
    """Keeps one home's ledger."""

    def __init__(self, home: Path) -> None:
        """Opens nothing yet."""
        self._ledger = Ledger(home / FILE)
        self._thread = ThreadPoolExecutor(1, "ledger")
        self._is_closed = False
        self._warnings: list[str] = []

    async def do(self, work: Callable[[Ledger], T]) -> T:
        """What WORK says of the ledger. Raises what it raises.

        A call that has begun is carried out though it is cancelled.

        A corrupt file was set aside then, and the call can be made again.
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._ledger)
        except CorruptLedgerError as error:
            self._warnings.append(str(error))
            raise

    async def write(self, work: Callable[[Ledger], T]) -> T:
        """What WORK says, in a new file where the ledger is corrupt. Raises LedgerError."""
        try:
            result = await self.do(work)
        except CorruptLedgerError:
            result = await self.do(work)
        # The answer need not wait for the disk: only a power failure in these milliseconds could lose it.
        self._thread.submit(self._ledger.harden)
        return result

    def warnings(self) -> tuple[str, ...]:
        """What has happened to the file and was not told yet."""
        told, self._warnings = tuple(dict.fromkeys(self._warnings)), []
        return told

    async def close(self) -> None:
        """Close the file, after what was begun; once is enough."""
        if not self._is_closed:
            self._is_closed = True
            await self.do(Ledger.close)
            self._thread.shutdown(wait=False)

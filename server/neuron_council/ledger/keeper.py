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

    async def do(self, work: Callable[[Ledger], T]) -> T:
        """What WORK says of the ledger. Raises what it raises; a cancelled call is carried out all the same."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._ledger)

    async def write(self, work: Callable[[Ledger], T]) -> tuple[T, str | None]:
        """What WORK says, and a warning where a corrupt ledger had to be set aside for it. Raises LedgerError."""
        warning = None
        try:
            result = await self.do(work)
        except CorruptLedgerError as error:
            result, warning = await self.do(work), str(error)
        # The answer need not wait for the disk: only a power failure in these milliseconds could lose it.
        self._thread.submit(self._ledger.harden)
        return result, warning

    async def close(self) -> None:
        """Close the file, after what was begun; once is enough."""
        if not self._is_closed:
            self._is_closed = True
            await self.do(Ledger.close)
            self._thread.shutdown(wait=False)

"""Judges again what nobody could judge, when the backends are back; never ahead of a person's request."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from attrs import frozen

from neuron_council.errors import LedgerError
from neuron_council.evidence.consensus import MIN_VALID_AGENTS
from neuron_council.ledger.keeper import Keeper
from neuron_council.ledger.ledger import Due
from neuron_council.maker.adapter import Backend

log = logging.getLogger(__name__)

PAUSES_S = (0.5, 1.0, 2.0, 4.0)
"""Seconds between two looks at backends that are away, the last for all later ones; DESIGN allows 5."""
QUIET_S = 5.0
"""Seconds between two looks for what another server of this home left in the queue; no backend is asked for that."""
LEASE_S = 15.0
"""Seconds for which a claim belongs to whoever judges it; renewed meanwhile, so that a crash frees it soon."""
RETRY_S = (5.0, 300.0)
"""Seconds before a claim that could not be judged is tried again: doubled each time, between these two."""
MOST_DROPPED_S = 86_400.0
"""Seconds to which the doubling goes on for a claim in whose tries members that were there could not be reached."""


@frozen
class Tried:
    """What a try came to; UNREACHABLE members' backends refused them, or dropped them."""

    is_settled: bool
    unreachable: int = 0


Judge = Callable[[Due, str], Awaitable[Tried]]
Remind = Callable[[], Awaitable[None]]


class Reevaluator:
    """The background task of one server."""

    def __init__(
        self, keeper: Keeper, backends: Mapping[Backend, int], judge: Judge, remind: Remind, idle: asyncio.Event
    ) -> None:
        """BACKENDS are those of the board, each with the number of its members.

        JUDGE gets a claim and the lease's owner and says what came of it. REMIND tells the client what is news in
        the ledger; IDLE is set while nobody waits.
        """
        self._keeper = keeper
        self._backends = backends
        self._judge = judge
        self._remind = remind
        self._idle = idle
        self._news = asyncio.Event()
        self._owner = f"{os.getpid()}-{secrets.token_hex(8)}"

    def wake(self) -> None:
        """Look at the queue now."""
        self._news.set()

    async def run(self) -> None:
        """Work the queue until cancelled. A ledger that fails is tried again later."""
        looks = 0
        while True:
            pending = 0
            self._news.clear()  # what comes from here on may come too late for this look
            try:
                await self._remind()
                pending = await self._keeper.do(lambda ledger: ledger.pending())
                if not pending:
                    looks = 0
                elif await self._work():
                    looks = 0
                    continue
            except LedgerError:
                log.warning("the queue cannot be read or written")
            except Exception as error:  # noqa: BLE001 - one claim that cannot be judged must not end the work on the rest
                log.error("re-evaluation failed: %s", type(error).__name__)  # noqa: TRY400 - a traceback may quote the claim
            if await self._rest(PAUSES_S[min(looks, len(PAUSES_S) - 1)] if pending else QUIET_S):
                looks = 0
            else:
                looks += 1

    async def _rest(self, seconds: float) -> bool:
        """Rest until news come, those since the last look included, and tell whether any did."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._news.wait()
        return False

    async def _home(self) -> int:
        """How many members' backends answer."""
        states = await asyncio.gather(*(backend.state() for backend in self._backends))
        return sum(members for members, state in zip(self._backends.values(), states, strict=True) if state.reachable)

    async def _work(self) -> bool:
        """Judge the claim that is due longest; False where none is, or too few members could be asked."""
        home = await self._home()
        if home >= MIN_VALID_AGENTS and not self._idle.is_set():
            await self._idle.wait()
            home = await self._home()  # that may have taken long
        if home < MIN_VALID_AGENTS:  # those would be asked in vain, claim by claim
            return False
        due = await self._keeper.do(lambda ledger: ledger.lease(self._owner, LEASE_S))
        if due is None:
            return False
        keeping = asyncio.create_task(self._keep(due))
        tried = Tried(is_settled=False)
        try:
            tried = await self._judge(due, self._owner)
        finally:
            keeping.cancel()
            if not tried.is_settled:
                await self._put_off(due, was_dropped=tried.unreachable > sum(self._backends.values()) - home)
        return True

    async def _put_off(self, due: Due, *, was_dropped: bool) -> None:
        """Give DUE back, for longer each time; what may itself end a backend, for longer than what waits for one."""
        least, most = RETRY_S
        pause = min(least * 2 ** min(due.attempts, 20), most)
        if was_dropped:
            pause = max(pause, min(least * 2 ** min(due.dropped, 20), MOST_DROPPED_S))
            log.warning("%s: a backend was there and could not be reached, %d times", due.ids[0], due.dropped + 1)
        await self._keeper.do(
            lambda ledger: ledger.release(due, self._owner, again_in_s=pause, was_dropped=was_dropped)
        )

    async def _keep(self, due: Due) -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            try:
                await self._keeper.do(lambda ledger: ledger.renew(due, self._owner, LEASE_S))
            except LedgerError:
                log.warning("a lease could not be renewed")

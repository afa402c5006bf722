"""The council convenes: maker to checker, loop by loop, until the checker decides or parks."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid

from attrs import evolve, frozen

from neuron_council import __version__
from neuron_council.checker.outcome import outcome
from neuron_council.checker.verifier import admits, verify
from neuron_council.config import Settings
from neuron_council.evidence.debate import DebateResult
from neuron_council.evidence.failure import FailureKind
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.report import Status, VerificationReport
from neuron_council.evidence.verdict import Verdict
from neuron_council.maker.adapter import BackendState
from neuron_council.maker.backends import seat
from neuron_council.maker.debate import DebateEngine, OnVote

log = logging.getLogger(__name__)

_NEEDS_MENDING = frozenset({FailureKind.MODEL_NOT_FOUND, FailureKind.UNAUTHORIZED, FailureKind.CONTEXT_OVERFLOW})
"""Failures that waiting does not cure, so that a warning says what to mend."""


@frozen
class MemberHealth:
    """A member and what is known of its model; None is unknown."""

    id: str
    model: str
    installed: bool | None
    loaded: bool | None


@frozen
class Health:
    """How the council stands. `pending` claims await another evaluation, `in_flight` are being judged."""

    status: str
    version: str
    backends: tuple[BackendState, ...]
    members: tuple[MemberHealth, ...]
    pending: int
    in_flight: int


class Council:
    """Three or more models and a verifier, in front of a memory."""

    def __init__(self, settings: Settings) -> None:
        """Opens no connection and starts nothing."""
        self._settings = settings
        self._board, self._backends = seat(settings.members, settings.connections)
        self._warming: list[asyncio.Task[None]] = []
        self._in_flight = 0

    async def start(self) -> None:
        """Begin to load the models in the background."""
        self._warming = [asyncio.create_task(backend.warm_up()) for backend in self._backends]

    async def close(self) -> None:
        """Stop what runs in the background and close the connections."""
        for task in self._warming:
            task.cancel()
        await asyncio.gather(*self._warming, return_exceptions=True)
        await asyncio.gather(*(backend.close() for backend in self._backends), return_exceptions=True)

    async def verify(
        self,
        pack: ContextPack,
        *,
        id: str | None = None,  # noqa: A002 - the wire's own name
        deadline_s: float | None = None,
        fresh: bool = False,  # noqa: ARG002 - nothing is kept yet that could answer in a debate's stead
        on_vote: OnVote | None = None,
    ) -> Verdict:
        """Judge the claim of PACK and check the judgement.

        DEADLINE_S bounds all loops, in seconds; ON_VOTE hears each vote as it comes in. Never raises: whatever the
        backends do is evidence. Cancelling it stops the model calls.
        """
        began = time.monotonic()
        self._in_flight += 1
        try:
            debate, report = await self._debate(pack, deadline_s or self._settings.council.deadline_s, on_vote)
        finally:
            self._in_flight -= 1
        verdict = Verdict(
            id=id or str(uuid.uuid4()),
            pack=pack,
            debate=debate,
            report=report,
            outcome=outcome(debate, report),
            latency_ms=round((time.monotonic() - began) * 1000),
            warnings=_warnings(debate),
        )
        log.info("%s %s in %d ms, %d loops", verdict.id, report.status, verdict.latency_ms, report.loop_count)
        return verdict

    async def health(self) -> Health:
        """How backends and models stand, within about a second; never waits for a model to load."""
        backends, models = await asyncio.gather(
            asyncio.gather(*(backend.state() for backend in self._backends)),
            asyncio.gather(*(seat.adapter.state() for seat in self._board.seats)),
        )
        members = [
            MemberHealth(seat.member.id, seat.member.model, model.installed, model.loaded)
            for seat, model in zip(self._board.seats, models, strict=True)
        ]
        return Health("ok", __version__, tuple(backends), tuple(members), pending=0, in_flight=self._in_flight)

    async def _debate(
        self, pack: ContextPack, deadline_s: float, on_vote: OnVote | None
    ) -> tuple[DebateResult, VerificationReport]:
        """Hold loops until the checker settles the matter."""
        debate = DebateResult(self._board.members, max_loops=self._settings.council.max_loops)
        if not admits(pack):
            return debate, verify(debate, pack)
        engine = DebateEngine(
            self._board, load_wait_s=self._settings.council.load_wait_s, deadline_s=deadline_s, on_vote=on_vote
        )
        while True:
            held = await engine.hold(pack, debate.loops[-1] if debate.loops else None)
            if debate.loops and (held.was_cut or held.was_lost):
                # Only a whole loop can change what the whole loops before it showed.
                debate = evolve(debate, cut=held.was_cut, lost=held.was_lost)
            else:
                debate = evolve(debate, loops=(*debate.loops, held.loop), cut=held.was_cut)
            report = verify(debate, pack)
            if report.status is not Status.WITHHELD:
                return debate, report


def _warnings(debate: DebateResult) -> tuple[str, ...]:
    """What to mend, once each, where a member failed for a reason that waiting does not cure."""
    failures = [vote.failure for vote in debate.votes if vote.failure]
    return tuple(dict.fromkeys(failure.message for failure in failures if failure.kind in _NEEDS_MENDING))

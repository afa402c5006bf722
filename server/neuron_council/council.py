"""The council convenes: maker to checker, loop by loop, until the checker settles it; then the ledger keeps it."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import attrs
from attrs import evolve, frozen

from neuron_council import __version__
from neuron_council.checker import coherence, faithfulness, panel, verifier
from neuron_council.checker.outcome import outcome
from neuron_council.checker.verifier import admits, verify
from neuron_council.config import Settings
from neuron_council.errors import LedgerError, TakenIdError, UnknownVerdictError
from neuron_council.evidence.consensus import MIN_VALID_AGENTS
from neuron_council.evidence.debate import DebateResult
from neuron_council.evidence.failure import FailureKind
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.report import Status, VerificationReport
from neuron_council.evidence.verdict import Verdict
from neuron_council.flight import Flight
from neuron_council.ledger import codec
from neuron_council.ledger.keeper import Keeper
from neuron_council.ledger.ledger import Announcement, Decided, Due, Kept, Ledger, Page, Shown
from neuron_council.maker import prompts
from neuron_council.maker.adapter import BackendState
from neuron_council.maker.backends import seat
from neuron_council.maker.debate import DebateEngine, OnVote
from neuron_council.reevaluator import Reevaluator, Tried
from neuron_council.replay import Replay, replay, replay_pages

log = logging.getLogger(__name__)

OnReevaluated = Callable[[Announcement], None]

_NEEDS_MENDING = frozenset({FailureKind.MODEL_NOT_FOUND, FailureKind.UNAUTHORIZED, FailureKind.CONTEXT_OVERFLOW})
"""Failures that waiting does not cure, so that a warning says what to mend."""
_WAITING_CURES = frozenset({FailureKind.UNREACHABLE, FailureKind.NOT_LOADED})
"""Failures of members that may be back without anybody's doing."""

MOST_UNWRITTEN = 10_000
"""Verdicts that are kept in memory at most while the ledger cannot be written."""
MOST_LOST = 5
"""Tries from which on a claim that loses its members each time is settled by what the others said, or said before."""
IDENTIFY_S = 0.3
"""Seconds that the models' digests are waited for: `unavailable` must be answered within 1.5 s (DESIGN)."""
CONSTANTS = {
    "MIN_VALID_AGENTS": MIN_VALID_AGENTS,
    "MAX_LOOPS": verifier.MAX_LOOPS,
    "FAITHFULNESS_CONFIDENCE_FLOOR": faithfulness.FAITHFULNESS_CONFIDENCE_FLOOR,
    "FAITHFULNESS_STRENGTH_FLOOR": faithfulness.FAITHFULNESS_STRENGTH_FLOOR,
    "DEFAULT_PANEL_QUORUM": panel.DEFAULT_PANEL_QUORUM,
    "SPREAD_CEILING": coherence.SPREAD_CEILING,
}
"""What decides beside the evidence; stored with every verdict, and part of the cache's key."""


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
    pending: int | None
    in_flight: int


@frozen
class _Answered:
    """A verdict that is answered, for the ledger to keep."""

    verdict: Verdict
    about: Mapping[str, Any]
    cache_key: str | None


class Council:
    """Three or more models and a verifier, in front of a memory."""

    def __init__(self, settings: Settings) -> None:
        """Opens no file and no connection."""
        self._settings = settings
        self._on_reevaluated: OnReevaluated = lambda _: None
        self._is_owed = False
        self._board, self._backends = seat(settings.members, settings.connections)
        self._keeper = Keeper(settings.home)
        self._flights: dict[str, Flight] = {}
        self._told = 0
        self._unwritten: deque[_Answered] = deque(maxlen=MOST_UNWRITTEN)
        self._people = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._reevaluator = Reevaluator(self._keeper, self._backends, self._judge_again, self._remind, self._idle)
        self._background: list[asyncio.Task[None]] = []

    async def start(self, on_reevaluated: OnReevaluated | None = None, *, acknowledges: bool = True) -> None:
        """Begin to load the models in the background, tell what was not acknowledged, and work the queue.

        ON_REEVALUATED hears of each verdict that supersedes an unavailable one; without it, nothing is announced.
        ACKNOWLEDGES says whether it can be told for good: what supersedes a verdict that was given to somebody who
        cannot acknowledge it is not announced for ever.
        """
        self._on_reevaluated = on_reevaluated or self._on_reevaluated
        self._is_owed = on_reevaluated is not None and acknowledges
        self._background = [
            asyncio.create_task(self.warm_up()),
            asyncio.create_task(self._reevaluator.run()),
            asyncio.create_task(asyncio.to_thread(_rehearse)),
        ]
        for task in self._background:
            task.add_done_callback(_log_failure)

    async def warm_up(self) -> None:
        """Load the models of all members; returns when each is resident or has failed."""
        await asyncio.gather(*(backend.warm_up() for backend in self._backends))

    async def close(self) -> None:
        """Stop what runs in the background, and close the connections and the ledger."""
        tasks = [*self._background, *(flight.task for flight in self._flights.values())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(backend.close() for backend in self._backends), return_exceptions=True)
        with suppress(LedgerError):
            await self._catch_up()
        await self._keeper.close()

    async def verify(
        self,
        pack: ContextPack,
        *,
        id: str | None = None,  # noqa: A002 - the wire's own name
        deadline_s: float | None = None,
        fresh: bool = False,
        is_urgent: bool = True,
        on_vote: OnVote | None = None,
    ) -> Verdict:
        """Judge the claim of PACK, check the judgement and keep it.

        A claim whose ID is in the ledger already gets that verdict; so does, unless FRESH, one that an equal claim got
        lately. Equal claims in flight share one debate. DEADLINE_S bounds all loops, in seconds; ON_VOTE hears each
        vote as it comes in; what is not urgent lets the urgent go first. Cancelling it stops the model calls. Whatever
        backends and ledger do is evidence or a warning; raises UnknownVerdictError for an ID that was forgotten, and
        TakenIdError for one that belongs to another claim.
        """
        self._people += is_urgent
        if self._people:
            self._idle.clear()
        try:
            if known := await self._known(pack, id):
                return known
            key = await self._key(pack)
            if not fresh and key and (cached := await self._cached(key)):
                return cached
            deadline_s = deadline_s or self._settings.council.deadline_s
            return await self._share(pack, id, key, deadline_s, is_fresh=fresh, is_urgent=is_urgent, on_vote=on_vote)
        finally:
            self._people -= is_urgent
            if not self._people:
                self._idle.set()

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
        try:
            pending: int | None = await self._keeper.do(Ledger.pending)
        except LedgerError:
            pending = None
        return Health("ok", __version__, tuple(backends), tuple(members), pending, in_flight=len(self._flights))

    async def list(self, **filters: Any) -> Page:
        """Stored verdicts, newest first; see Ledger.list."""
        return await self._keeper.do(lambda ledger: ledger.list(**filters))

    async def show(self, verdict_id: str) -> Shown:
        """A stored verdict; see Ledger.show."""
        return await self._keeper.do(lambda ledger: ledger.show(verdict_id))

    async def replay(self, verdict_id: str | None = None) -> Replay:
        """Decide stored verdicts again, all or one. No model is asked. Raises UnknownVerdictError."""
        if verdict_id is not None:
            record = await self._keeper.do(lambda ledger: ledger.record(verdict_id))
            return await asyncio.to_thread(replay, [record])
        return await replay_pages(lambda after: self._keeper.do(lambda ledger: ledger.recorded(after)))

    async def review(self, verdict_id: str, decision: Decided, note: str | None) -> Shown:
        """Record a person's decision; see Ledger.review."""
        return await self._keeper.do(lambda ledger: ledger.review(verdict_id, decision, note))

    async def reevaluate(self, ids: Sequence[str] | None = None) -> int:
        """Have queued claims judged again as soon as may be; how many those are. Raises UnknownVerdictError."""
        queued = await self._keeper.do(lambda ledger: ledger.hasten(ids))
        self._reevaluator.wake()
        return queued

    async def forget(self, verdict_id: str) -> None:
        """Remove a claim and all that was said of it; see Ledger.forget. A debate on it goes on, and is not kept."""
        with suppress(LedgerError, UnknownVerdictError):
            claim = (await self.show(verdict_id)).verdict.pack.claim
            for flight in self._flights.values():
                flight.is_forgotten = flight.is_forgotten or flight.claim == claim
        await self._keeper.do(lambda ledger: ledger.forget(verdict_id))

    async def acknowledge(self, ids: Sequence[str]) -> int:
        """Note which new verdicts the client knows; see Ledger.acknowledge."""
        return await self._keeper.do(lambda ledger: ledger.acknowledge(ids))

    async def _known(self, pack: ContextPack, verdict_id: str | None) -> Verdict | None:
        """The verdict that this id has already."""
        if verdict_id is None:
            return None
        try:
            return await self._keeper.do(lambda ledger: ledger.answer(verdict_id, pack))
        except LedgerError:
            return None

    async def _cached(self, key: str) -> Verdict | None:
        """What an equal claim got lately."""
        max_age_s = self._settings.council.cache_ttl_s
        if not max_age_s:
            return None
        try:
            return await self._keeper.do(lambda ledger: ledger.cached(key, max_age_s))
        except LedgerError:
            return None

    async def _key(self, pack: ContextPack) -> str | None:
        """What two claims share where the verdict on one answers the other.

        None for a claim that is screened out, whose verdict costs nothing, and where backends do not tell their models'
        digests in time.
        """
        if not admits(pack):
            return None
        try:
            async with asyncio.timeout(IDENTIFY_S):
                digests = await asyncio.gather(*(seat.adapter.identify() for seat in self._board.seats))
        except TimeoutError:
            return None
        known = zip(self._settings.members, digests, strict=True)
        if any(spec.backend == "ollama" and digest is None for spec, digest in known):
            return None
        return codec.digest([pack.claim, pack.context, self._about(digests)])

    def _about(self, digests: Sequence[str | None]) -> dict[str, Any]:
        """What decides beside claim and context: versions, constants, prompts, the board and its models' DIGESTS."""
        connections = self._settings.connections
        return {
            "version": __version__,
            "constants": CONSTANTS,
            "max_loops": self._settings.council.max_loops,
            "num_ctx": connections.num_ctx,
            "prompts": codec.digest(prompts.wording()),
            "board": [
                {**attrs.asdict(spec), "digest": digest}
                for spec, digest in zip(self._settings.members, digests, strict=True)
            ],
        }

    async def _share(
        self,
        pack: ContextPack,
        verdict_id: str | None,
        key: str | None,
        deadline_s: float,
        *,
        is_fresh: bool,
        is_urgent: bool,
        on_vote: OnVote | None,
    ) -> Verdict:
        """Join the debate on an equal claim, or begin one."""
        flight_key = uuid.uuid4().hex if is_fresh else codec.digest([codec.pack_key(pack), deadline_s])
        flight = self._flights.get(flight_key)
        if flight is None or flight.is_over:

            async def convene(flight: Flight) -> Verdict:
                verdict, about = await self._judge(pack, verdict_id, deadline_s, lambda: flight.is_urgent, flight.hear)
                if flight.is_forgotten:
                    return _warned(
                        verdict, ["The claim was forgotten while it was judged, so the verdict is not kept."]
                    )
                return await self._keep(verdict, about, key)

            flight = self._begin(flight_key, Flight(pack.claim, convene))
        return await flight.board(on_vote, is_urgent=is_urgent)

    def _begin(self, flight_key: str, flight: Flight) -> Flight:
        self._flights[flight_key] = flight

        def land(_: object) -> None:
            if self._flights.get(flight_key) is flight:
                del self._flights[flight_key]

        flight.task.add_done_callback(land)
        return flight

    async def _judge(
        self,
        pack: ContextPack,
        verdict_id: str | None,
        deadline_s: float,
        is_urgent: Callable[[], bool],
        on_vote: OnVote | None = None,
    ) -> tuple[Verdict, Mapping[str, Any]]:
        """Debate and check; the verdict and what decided it beside the evidence."""
        clock = asyncio.get_running_loop().time
        began = clock()
        debate, report = await self._debate(pack, deadline_s, is_urgent, on_vote)
        about = self._about([seat.adapter.digest for seat in self._board.seats])
        verdict = Verdict(
            id=verdict_id or str(uuid.uuid4()),
            pack=pack,
            debate=debate,
            report=report,
            outcome=outcome(debate, report),
            latency_ms=round((clock() - began) * 1000),
            warnings=(*_warnings(debate), *_shared_weights(about["board"])),
        )
        log.info("%s %s in %d ms, %d loops", verdict.id, report.status, verdict.latency_ms, report.loop_count)
        return verdict, about

    async def _keep(self, verdict: Verdict, about: Mapping[str, Any], key: str | None) -> Verdict:
        """Store VERDICT. Without a ledger it is answered all the same, with a warning."""
        cache_key = key if _may_answer_again(verdict.debate, verdict.report) else None
        answered = _Answered(verdict, about, cache_key)
        try:
            kept = await self._write(answered)
        except LedgerError as error:
            log.error("%s is not in the ledger yet", verdict.id)  # noqa: TRY400 - the warning says why
            self._unwritten.append(answered)
            return _warned(verdict, (*self._keeper.warnings(), str(error)))
        if kept is None:
            raise AssertionError("only an evaluation from the queue can lose its lease")
        if kept.announcements or verdict.outcome.status is Status.UNAVAILABLE:
            self._reevaluator.wake()
        return _warned(kept.verdict, self._keeper.warnings())

    async def _catch_up(self) -> None:
        """Write what the ledger could not take when it was answered. Raises LedgerError where it still cannot."""
        while self._unwritten:
            late = self._unwritten[0]
            try:
                await self._write(late)
            except (TakenIdError, UnknownVerdictError) as error:  # it never can be, and others wait behind it
                log.error("%s is not kept: %s", late.verdict.id, type(error).__name__)  # noqa: TRY400 - no fault of ours
            self._unwritten.popleft()

    async def _write(self, answered: _Answered) -> Kept | None:
        """Store it. Raises LedgerError."""
        return await self._keeper.write(
            lambda ledger: ledger.add(
                answered.verdict, about=answered.about, cache_key=answered.cache_key, is_owed=self._is_owed
            )
        )

    async def _judge_again(self, due: Due, owner: str) -> Tried:
        """Convene for a queued claim. Raises LedgerError where the verdict cannot be stored."""
        key = await self._key(due.pack)
        deadline_s = self._settings.council.deadline_s
        verdict, about = await self._judge(due.pack, None, deadline_s, lambda: False)
        if verdict.outcome.status is Status.UNAVAILABLE or _waits_for_members(verdict.debate, due):
            failures = [vote.failure for vote in verdict.votes if vote.failure]
            return Tried(False, sum(failure.kind is FailureKind.UNREACHABLE for failure in failures))
        cache_key = key if _may_answer_again(verdict.debate, verdict.report) else None
        kept = await self._keeper.write(
            lambda ledger: ledger.add(verdict, about=about, cache_key=cache_key, owner=owner)
        )
        return Tried(is_settled=kept is not None)

    async def _remind(self) -> None:
        """Catch up with the ledger, and tell what the client has not acknowledged, once, whoever judged it."""
        await self._catch_up()
        while True:
            news, place = await self._keeper.do(lambda ledger: ledger.announcements(self._told))
            for announcement in news:
                self._on_reevaluated(announcement)
            if place == self._told:
                return
            self._told = place

    async def _debate(
        self, pack: ContextPack, deadline_s: float, is_urgent: Callable[[], bool], on_vote: OnVote | None
    ) -> tuple[DebateResult, VerificationReport]:
        """Hold loops until the checker settles the matter."""
        debate = DebateResult(self._board.members, max_loops=self._settings.council.max_loops)
        if not admits(pack):
            return debate, verify(debate, pack)
        engine = DebateEngine(
            self._board,
            load_wait_s=self._settings.council.load_wait_s,
            deadline_s=deadline_s,
            is_urgent=is_urgent,
            on_vote=on_vote,
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


def _rehearse() -> None:
    """Have the oracles compile their patterns before the first claim."""
    verify(DebateResult(()), ContextPack("Tea was a drink in 1911.", "Tea was a drink in 1911, say 4 notes."))


def _log_failure(task: asyncio.Task[None]) -> None:
    """Log what ended a background task, by its type: a message may quote a claim."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("a background task ended with %s", type(error).__name__)


def _warnings(debate: DebateResult) -> tuple[str, ...]:
    """What to mend, once each, where a member failed for a reason that waiting does not cure."""
    failures = [vote.failure for vote in debate.votes if vote.failure]
    return tuple(dict.fromkeys(failure.message for failure in failures if failure.kind in _NEEDS_MENDING))


def _shared_weights(board: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """A warning for each model that has the weights of an earlier one under another name."""
    first: dict[str, str] = {}
    warnings = []
    for member in board:
        model, digest = member["model"], member["digest"]
        if digest is not None and first.setdefault(digest, model) != model:
            warnings.append(
                f"{first[digest]} and {model} have the same weights, so their votes are not independent. "
                "Name another model in council.toml."
            )
    return tuple(warnings)


def _warned(verdict: Verdict, warnings: Sequence[str]) -> Verdict:
    return evolve(verdict, warnings=(*verdict.warnings, *warnings)) if warnings else verdict


def _waits_for_members(debate: DebateResult, due: Due) -> bool:
    """Whether too few members could be asked for what is DUE, and enough of the others may be back later."""
    if debate.lost:  # by chance; or always, where the prompt of a later loop is too long or ends a backend
        return due.attempts < MOST_LOST
    is_dropped = any(vote.failure is not None and vote.failure.kind is FailureKind.UNREACHABLE for vote in debate.votes)
    if is_dropped and due.dropped >= MOST_LOST:
        return False
    askable = sum(vote.was_askable for vote in debate.votes)
    away = sum(vote.failure is not None and vote.failure.kind in _WAITING_CURES for vote in debate.votes)
    return askable < MIN_VALID_AGENTS <= askable + away


def _may_answer_again(debate: DebateResult, report: VerificationReport) -> bool:
    """Whether this verdict may answer an equal claim: it was emitted or rejected, and no member failed in any loop."""
    asked = [each.failure for loop in debate.loops for each in (*loop.votes, loop.challenge) if each is not None]
    return bool(asked) and not any(asked) and report.status in (Status.EMITTED, Status.REJECTED)

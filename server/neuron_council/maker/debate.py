"""The debate engine: phases serial, members within a phase in parallel, the contrarian's challenge last.

It asks and records. It decides nothing: which loop is the last is the checker's word, and a member that fails is
evidence.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

from attrs import evolve, frozen

from neuron_council.evidence.ballot import Ballot, Label
from neuron_council.evidence.consensus import challenge_is_due
from neuron_council.evidence.debate import Challenge, Loop, Vote
from neuron_council.evidence.failure import Err, Failure, FailureKind, Ok
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.scoring import MAX_REPLY, UnparsableError, ballot_odds, parse_ballot, parse_rebuttal
from neuron_council.maker import prompts
from neuron_council.maker.adapter import Prompt, Reply
from neuron_council.maker.board import Board, BoundMember

log = logging.getLogger(__name__)

T = TypeVar("T")
OnVote = Callable[[Vote], None]

JUST_NOW_MS = 1000
"""Milliseconds for which a vote is proof that its model is resident."""
PROMPTLY_S = 0.05
"""Seconds within which a turn has come at once."""
CURES = {
    FailureKind.BUSY: "Ask again later, or let the backend take more requests at a time.",
    FailureKind.HTTP_ERROR: "The log of the backend, or council.log, says more.",
    FailureKind.MALFORMED: "If it stays so, look whether council.toml names a model server there.",
    FailureKind.UNPARSABLE: "If it stays so, name another model in council.toml.",
    FailureKind.TOO_LARGE: "If it stays so, name another model in council.toml.",
}
"""What to do about failures that do not say so themselves, whichever backend had them."""


@frozen
class Held:
    """A loop that was held; `was_cut` says that the deadline ended it, `was_lost` that nobody could be asked in it."""

    loop: Loop
    was_cut: bool
    was_lost: bool


@frozen
class _Answer(Generic[T]):
    """What one question to one member came to, with the times in milliseconds since the claim was taken up."""

    result: Ok[tuple[T, Reply]] | Err
    began_ms: float
    ended_ms: float
    was_cut: bool = False

    @property
    def failure(self) -> Failure | None:
        return self.result.failure if isinstance(self.result, Err) else None


class DebateEngine:
    """Holds the loops of one claim's debate."""

    def __init__(
        self,
        board: Board,
        *,
        load_wait_s: float,
        deadline_s: float,
        is_urgent: Callable[[], bool] = lambda: True,
        on_vote: OnVote | None = None,
    ) -> None:
        """The clock starts here. LOAD_WAIT_S and DEADLINE_S are seconds; ON_VOTE hears each vote as it comes in.

        A claim that is not urgent, when its turn is asked for, lets urgent ones go first at each model.
        """
        self._board = board
        self._is_urgent = is_urgent
        self._load_wait_s = load_wait_s
        self._on_vote = on_vote or (lambda _: None)
        self._clock = asyncio.get_running_loop().time
        self._since = self._clock()
        self._until = self._since + deadline_s

    async def hold(self, pack: ContextPack, heard: Loop | None) -> Held:
        """Hold one loop: a blind ballot of all members, then the challenge where it is due.

        HEARD is the loop before, whose arguments and challenge the members read; None for the first.
        """
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._ballot(seat, pack, heard)) for seat in self._board.seats]
        answers = [task.result() for task in tasks]
        votes = tuple(vote for vote, _ in answers)
        was_cut = any(cut for _, cut in answers)
        challenge = None
        if challenge_is_due(votes, pack):
            challenge, cut = await self._challenge(pack, votes, votes[-1])
            was_cut = was_cut or cut
        was_lost = not any(vote.was_askable for vote in votes)
        return Held(Loop(votes, challenge), was_cut, was_lost)

    async def _ballot(self, seat: BoundMember, pack: ContextPack, heard: Loop | None) -> tuple[Vote, bool]:
        prompt = prompts.ballot(pack, heard, seat.persona)
        answer = await self._ask(seat, prompt, lambda text: parse_ballot(text, has_context=pack.has_context))
        vote = _vote(seat, answer)
        self._on_vote(vote)
        return vote, answer.was_cut

    async def _challenge(self, pack: ContextPack, votes: tuple[Vote, ...], last: Vote) -> tuple[Challenge, bool]:
        """The contrarian's challenge; LAST is its own vote, which may just have shown that its model is resident."""
        seat = self._board.contrarian
        is_there = last.is_valid and self._ms(self._clock()) - last.ended_ms < JUST_NOW_MS
        prompt = prompts.challenge(pack, votes, seat.persona)
        answer = await self._ask(seat, prompt, parse_rebuttal, is_resident=is_there)
        made = Challenge(seat.member, failure=answer.failure, began_ms=answer.began_ms, ended_ms=answer.ended_ms)
        if isinstance(answer.result, Ok):
            rebuttal, _ = answer.result.value
            made = evolve(made, argument=rebuttal.argument, quote=rebuttal.quote, refuted=rebuttal.refuted)
        return made, answer.was_cut

    async def _ask(
        self, seat: BoundMember, prompt: Prompt, parse: Callable[[str], T], *, is_resident: bool = False
    ) -> _Answer[T]:
        """Have the model resident, wait for a turn, then ask; the member's own clock runs only while it is asked."""
        stage: Literal["loading", "waiting", "asking"] = "loading"
        began = self._clock()
        was_cut = False
        result: Ok[tuple[T, Reply]] | Err
        try:
            async with asyncio.timeout_at(self._until):
                absence = None if is_resident else await self._resident(seat)
                stage, since = "waiting", self._clock()
                if not absence:
                    async with seat.turns.turn(is_urgent=self._is_urgent()):
                        if self._clock() - since > PROMPTLY_S:  # it may have been evicted meanwhile
                            stage = "loading"
                            absence = await self._resident(seat)
                        if not absence:
                            stage, began = "asking", self._clock()
                            result = await _within_its_time(seat, prompt, parse)
                if absence:
                    result = Err(absence)
        except TimeoutError:
            result, was_cut = Err(_cut_off(seat, stage)), True
        except Exception as error:  # noqa: BLE001 - a fault in an adapter is that member's failure, not the claim's loss
            # The traceback stays out of the log, for it may quote the claim.
            log.error("member %s: unexpected %s", seat.member.id, type(error).__name__)  # noqa: TRY400 - as above
            result = Err(Failure(FailureKind.HTTP_ERROR, f"{seat.member.id}: unexpected {type(error).__name__}."))
        ended = self._clock()
        if isinstance(result, Err) and (cure := CURES.get(result.failure.kind)):
            result = Err(evolve(result.failure, message=f"{result.failure.message} {cure}"))
        return _Answer(result, self._ms(began if stage == "asking" else ended), self._ms(ended), was_cut)

    async def _resident(self, seat: BoundMember) -> Failure | None:
        left_s = max(0.0, self._until - self._clock())
        return await seat.adapter.resident(min(self._load_wait_s, left_s))

    def _ms(self, at: float) -> float:
        return (at - self._since) * 1000


async def _within_its_time(seat: BoundMember, prompt: Prompt, parse: Callable[[str], T]) -> Ok[tuple[T, Reply]] | Err:
    """Ask, and once more where the reply does not hold what was asked for, all within the member's time."""
    try:
        async with asyncio.timeout(seat.timeout_s):
            first = await _once(seat, prompt, parse)
            if isinstance(first, Ok) or first.failure.kind is not FailureKind.UNPARSABLE:
                return first
            return await _once(seat, evolve(prompt, user=prompt.user + prompts.REMINDER), parse)
    except TimeoutError:
        return Err(
            Failure(
                FailureKind.TIMEOUT,
                f"{seat.member.id} gave no vote within {seat.timeout_s:g} s. Raise `member_timeout_s` in council.toml, "
                "or name a faster model.",
            )
        )


async def _once(seat: BoundMember, prompt: Prompt, parse: Callable[[str], T]) -> Ok[tuple[T, Reply]] | Err:
    answer = await seat.adapter.run(prompt)
    if isinstance(answer, Err):
        return answer
    reply = answer.value
    if len(reply.text) > MAX_REPLY:
        return Err(Failure(FailureKind.TOO_LARGE, f"{seat.member.id} answered with more than {MAX_REPLY} characters."))
    try:
        return Ok((parse(reply.text), reply))
    except UnparsableError as error:
        return Err(Failure(FailureKind.UNPARSABLE, f"{seat.member.id}: {error}"))


def _vote(seat: BoundMember, answer: _Answer[Ballot]) -> Vote:
    vote = Vote(
        seat.member, Label.UNCERTAIN, failure=answer.failure, began_ms=answer.began_ms, ended_ms=answer.ended_ms
    )
    if not isinstance(answer.result, Ok):
        return vote
    ballot, reply = answer.result.value
    return evolve(
        vote,
        label=ballot.label,
        axes=ballot.axes,
        confidence=ballot.confidence,
        rationale=ballot.rationale,
        probabilities=ballot_odds(token.place for token in reply.tokens),
    )


def _cut_off(seat: BoundMember, stage: str) -> Failure:
    """The failure of a member that the claim's deadline cut off at this stage."""
    match stage:
        case "loading":
            return Failure(
                FailureKind.NOT_LOADED,
                f"{seat.member.model} was not loaded before the claim's deadline. It goes on loading; ask again, "
                "or raise `deadline_s` in council.toml.",
            )
        case "waiting":
            return Failure(
                FailureKind.TIMEOUT,
                f"{seat.member.model} was busy with other claims until this claim's deadline. Ask again, "
                "or raise `deadline_s` in council.toml.",
            )
        case _:
            return Failure(FailureKind.TIMEOUT, f"{seat.member.id} gave no vote before the claim's deadline.")

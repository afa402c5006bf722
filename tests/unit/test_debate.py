"""The debate engine, with adapters that say what they are told to: order, blindness, clocks, failures as evidence."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from attrs import field, mutable

from neuron_council.evidence.ballot import Axes, Label, Probabilities
from neuron_council.evidence.debate import Loop, Member, Vote
from neuron_council.evidence.failure import Err, Failure, FailureKind, Ok
from neuron_council.evidence.pack import QUOTABLE, ContextPack
from neuron_council.evidence.scoring import MAX_REPLY
from neuron_council.maker.adapter import ModelState, Prompt, Reply, Token
from neuron_council.maker.board import Board, BoundMember
from neuron_council.maker.debate import CURES, DebateEngine, Held
from neuron_council.maker.turn import Turns
from support import BARE_PACK, CLAIM, CONTEXT, PACK, until

Said = str | Reply | Err | Exception
Answer = Said | Callable[[Prompt], Awaitable[Said]]


def ballot(label: str = "plausible", score: int = 5, confidence: int = 90, rationale: str = "It fits.") -> str:
    scores = {"coherent": score, "factual": score, "grounded": score}
    return json.dumps({"ballot": label, "confidence": confidence, "rationale": rationale, "scores": scores})


def rebuttal(*, refuted: bool = False, quote: str = "", argument: str = "Nothing to say.") -> str:
    return json.dumps({"argument": argument, "quote": quote, "refuted": refuted})


def err(kind: FailureKind) -> Err:
    return Err(Failure(kind, "It failed."))


async def hang(_: Prompt) -> Said:
    await asyncio.Event().wait()
    raise AssertionError


def after(seconds: float, said: Said) -> Answer:
    async def answer(_: Prompt) -> Said:
        await asyncio.sleep(seconds)
        return said

    return answer


def is_ballot(prompt: Prompt) -> bool:
    return "ballot" in prompt.schema["properties"]


@mutable
class Fake:
    """An adapter: the ballots in order, the last one for good; the challenges likewise; and how loading goes."""

    ballots: list[Answer] = field(factory=lambda: [ballot()])
    challenges: list[Answer] = field(factory=lambda: [rebuttal()])
    loading_s: float = 0.0
    absence: Failure | None = None
    prompts: list[Prompt] = field(factory=list)
    waits_s: list[float] = field(factory=list)
    cancelled: int = 0

    async def resident(self, wait_s: float) -> Failure | None:
        self.waits_s.append(wait_s)
        try:
            await asyncio.wait_for(asyncio.sleep(self.loading_s), wait_s)
        except TimeoutError:
            return Failure(FailureKind.NOT_LOADED, "It is loading.")
        return self.absence

    async def run(self, prompt: Prompt) -> Ok[Reply] | Err:
        self.prompts.append(prompt)
        answers = self.ballots if is_ballot(prompt) else self.challenges
        number = sum(is_ballot(earlier) == is_ballot(prompt) for earlier in self.prompts)
        answer = answers[min(number, len(answers)) - 1]
        try:
            said = await answer(prompt) if callable(answer) else answer
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Err):
            return said
        return Ok(Reply(said) if isinstance(said, str) else said)

    async def state(self) -> ModelState:
        return ModelState(None, None)

    @property
    def user(self) -> str:
        """The user text of the last question."""
        return self.prompts[-1].user


def board(*fakes: Fake, timeout_s: float = 5.0, turns: Turns | None = None) -> Board:
    last = len(fakes) - 1
    return Board(
        tuple(
            BoundMember(
                Member(f"m{number}", f"model-{number}", "contrarian" if number == last else "member"),
                fake,
                timeout_s,
                turns or Turns(1),
            )
            for number, fake in enumerate(fakes)
        )
    )


def engine(*fakes: Fake, deadline_s: float = 20.0, load_wait_s: float = 10.0, **more: Any) -> DebateEngine:
    on_vote = more.pop("on_vote", None)
    return DebateEngine(board(*fakes, **more), load_wait_s=load_wait_s, deadline_s=deadline_s, on_vote=on_vote)


async def hold(*fakes: Fake, pack: ContextPack = PACK, heard: Loop | None = None, **more: Any) -> Held:
    async with asyncio.timeout(10):
        return await engine(*fakes, **more).hold(pack, heard)


def voting(*labels: str) -> list[Fake]:
    return [Fake([ballot(label, rationale=f"Reason {number}.")]) for number, label in enumerate(labels)]


def kinds(held: Held) -> list[FailureKind | None]:
    return [vote.failure and vote.failure.kind for vote in held.loop.votes]


# The ballot


async def test_a_vote_keeps_all_that_the_member_said() -> None:
    fakes = [Fake([ballot("confabulation", score=2, confidence=73, rationale="The year is wrong.")]), Fake(), Fake()]
    held = await hold(*fakes)
    first = held.loop.votes[0]
    assert (first.member.id, first.label, first.confidence) == ("m0", Label.CONFABULATION, 0.73)
    assert (first.rationale, first.axes, first.failure) == ("The year is wrong.", Axes(2, 2, 2), None)
    assert first.strength == 4.0
    assert first.probabilities is None
    assert not held.was_cut
    assert not held.was_lost


async def test_votes_stand_in_board_order_whoever_comes_first() -> None:
    fakes = [Fake([after(delay, ballot())]) for delay in (0.06, 0.03, 0.0)]
    heard: list[str] = []
    held = await hold(*fakes, on_vote=lambda vote: heard.append(vote.member.id))
    assert [vote.member.id for vote in held.loop.votes] == ["m0", "m1", "m2"]
    assert heard == ["m2", "m1", "m0"]


async def test_each_vote_is_heard_as_it_comes_in() -> None:
    heard: list[Vote] = []
    gate = asyncio.Event()

    async def gated(_: Prompt) -> Said:
        await gate.wait()
        return ballot()

    held = asyncio.create_task(hold(Fake(), Fake([gated]), Fake(), on_vote=heard.append))
    await until(lambda: len(heard) == 2)
    assert not held.done()
    gate.set()
    await held
    assert [vote.member.id for vote in heard][-1] == "m1"
    assert len(heard) == 3


async def test_members_of_a_phase_are_asked_in_parallel() -> None:
    together = asyncio.Barrier(3)

    async def meet(_: Prompt) -> Said:
        await together.wait()
        return ballot()

    held = await hold(*(Fake([meet]) for _ in range(3)))
    assert kinds(held) == [None] * 3


async def test_nobody_votes_after_seeing_a_vote() -> None:
    fakes = voting("plausible", "confabulation", "plausible")
    await hold(*fakes)
    for fake in fakes:
        (prompt,) = [prompt for prompt in fake.prompts if is_ballot(prompt)]
        assert "Reason" not in prompt.user


async def test_members_are_asked_the_same() -> None:
    fakes = voting("plausible", "plausible", "plausible")
    await hold(*fakes)
    assert len({fake.prompts[0].system for fake in fakes}) == 1
    for fake in fakes:
        assert CLAIM in fake.prompts[0].user
        assert CONTEXT in fake.prompts[0].user


async def test_a_persona_belongs_to_its_member() -> None:
    fakes = [Fake(), Fake(), Fake()]
    seated = board(*fakes)
    own = BoundMember(seated.seats[0].member, fakes[0], 5.0, Turns(1), "Doubt every date.")
    await DebateEngine(Board((own, *seated.seats[1:])), load_wait_s=1, deadline_s=5).hold(PACK, None)
    assert "Doubt every date." in fakes[0].prompts[0].system
    assert "Doubt every date." not in fakes[1].prompts[0].system


async def test_token_probabilities_are_kept() -> None:
    text = ballot("plausible")
    at = text.index("plausible")
    odds = (("pl", math.log(0.8)), ("conf", math.log(0.1)), ("Hm", math.log(0.1)))
    tokens = (Token(text[:at], -0.1), Token("pl", math.log(0.8), odds), Token(text[at + 2 :], -0.1))
    held = await hold(Fake([Reply(text, tokens)]), Fake(), Fake())
    assert held.loop.votes[0].probabilities == Probabilities(
        pytest.approx(8 / 9), pytest.approx(0), pytest.approx(1 / 9)
    )


async def test_grounded_is_null_without_a_context() -> None:
    held = await hold(Fake(), Fake(), Fake(), pack=BARE_PACK)
    assert held.loop.votes[0].axes == Axes(5, 5, None)


async def test_scores_out_of_range_are_dropped_and_the_vote_is_valid() -> None:
    held = await hold(Fake([ballot(score=7, confidence=250)]), Fake(), Fake())
    vote = held.loop.votes[0]
    assert (vote.is_valid, vote.axes, vote.confidence, vote.strength) == (True, Axes(), None, None)


# The challenge


@pytest.mark.parametrize(
    ("labels", "is_due"),
    [
        (["plausible"] * 3, True),
        (["plausible", "plausible", "confabulation"], True),
        (["plausible", "uncertain", "confabulation"], False),
        (["uncertain"] * 3, False),
        (["confabulation"] * 3, False),
        (["plausible", "plausible", "uncertain", "uncertain"], False),
        (["plausible", "plausible", "plausible", "uncertain"], True),
        (["plausible", "plausible", "plausible", "uncertain", "uncertain"], False),
    ],
)
async def test_a_challenge_is_due_from_two_thirds_on(labels: list[str], is_due: bool) -> None:
    fakes = voting(*labels)
    held = await hold(*fakes)
    assert (held.loop.challenge is not None) is is_due
    asked = [sum(not is_ballot(prompt) for prompt in fake.prompts) for fake in fakes]
    assert asked == [0] * (len(fakes) - 1) + [int(is_due)]


@pytest.mark.parametrize(("length", "is_due"), [(QUOTABLE - 1, False), (QUOTABLE, True)])
async def test_a_challenge_needs_something_to_quote(length: int, is_due: bool) -> None:
    held = await hold(Fake(), Fake(), Fake(), pack=ContextPack(CLAIM, f"  {'x' * length}\n"))
    assert (held.loop.challenge is not None) is is_due


async def test_a_failed_member_counts_as_uncertain_for_the_challenge() -> None:
    assert (await hold(Fake(), Fake(), Fake([err(FailureKind.HTTP_ERROR)]))).loop.challenge is not None
    broken = [Fake([err(FailureKind.HTTP_ERROR)]) for _ in range(2)]
    assert (await hold(*broken, Fake())).loop.challenge is None


async def test_the_contrarian_challenges_after_every_ballot() -> None:
    ended: list[str] = []
    fakes = [Fake([after(delay, ballot())]) for delay in (0.05, 0.02, 0.0)]

    async def challenge(_: Prompt) -> Said:
        assert len(ended) == 3
        return rebuttal(refuted=True, quote="in 1843", argument="Another year.")

    fakes[2].challenges = [challenge]
    held = await hold(*fakes, on_vote=lambda vote: ended.append(vote.member.id))
    made = held.loop.challenge
    assert made is not None
    assert (made.member.id, made.failure, made.refuted) == ("m2", None, True)
    assert (made.quote, made.argument) == ("in 1843", "Another year.")
    assert made.began_ms >= max(vote.ended_ms for vote in held.loop.votes)
    assert made.ended_ms >= made.began_ms


async def test_the_challenge_hears_reasons_but_no_votes() -> None:
    fakes = voting("plausible", "confabulation", "plausible")
    await hold(*fakes)
    user = fakes[2].user
    assert "Reason 0." in user
    assert "Reason 2." in user
    assert "Reason 1." not in user


async def test_a_failed_challenge_is_kept_as_a_failure() -> None:
    held = await hold(Fake(), Fake(), Fake(challenges=[err(FailureKind.UNREACHABLE)]))
    made = held.loop.challenge
    assert made is not None
    assert made.failure
    assert made.failure.kind is FailureKind.UNREACHABLE
    assert not made.refuted
    assert kinds(held) == [None] * 3


async def test_a_challenge_is_re_asked_once_too() -> None:
    contrarian = Fake(challenges=["I concede.", rebuttal()])
    held = await hold(Fake(), Fake(), contrarian)
    assert held.loop.challenge
    assert held.loop.challenge.failure is None
    assert len(contrarian.prompts) == 3


async def test_a_challenge_that_hangs_times_out() -> None:
    held = await hold(Fake(), Fake(), Fake(challenges=[hang]), timeout_s=0.05)
    assert held.loop.challenge
    assert held.loop.challenge.failure
    assert held.loop.challenge.failure.kind is FailureKind.TIMEOUT
    assert not held.was_cut


# A later loop


async def test_a_later_loop_hears_the_arguments_and_the_challenge() -> None:
    fakes = voting("plausible", "confabulation", "plausible")
    fakes[2].challenges = [rebuttal(refuted=True, quote="in 1843", argument="It was a translation.")]
    hall = engine(*fakes)
    first = await hall.hold(PACK, None)
    await hall.hold(PACK, first.loop)
    for fake in fakes:
        later = [prompt for prompt in fake.prompts if is_ballot(prompt)][1].user
        for said in ("Reason 0.", "Reason 1.", "Reason 2.", "It was a translation."):
            assert said in later
        assert not any(name in later for name in ("m0", "m1", "m2", "model-"))


async def test_times_are_counted_from_the_claims_beginning() -> None:
    hall = engine(*(Fake([after(0.03, ballot())]) for _ in range(3)))
    first = await hall.hold(PACK, None)
    second = await hall.hold(PACK, first.loop)
    assert first.loop.challenge
    assert 0 <= first.loop.votes[0].began_ms < 25
    assert min(vote.began_ms for vote in second.loop.votes) >= first.loop.challenge.ended_ms > 25


# Failures are evidence


@pytest.mark.parametrize("kind", [kind for kind in FailureKind if kind is not FailureKind.UNPARSABLE])
async def test_a_failure_is_recorded_and_stops_nobody(kind: FailureKind) -> None:
    broken = Fake([err(kind)])
    held = await hold(Fake(), broken, Fake())
    vote = held.loop.votes[1]
    assert vote.failure
    assert vote.failure.kind == kind
    assert vote.failure.message == f"It failed. {CURES.get(kind, '')}".strip()
    assert (vote.label, vote.is_valid, vote.strength) == (Label.UNCERTAIN, False, None)
    assert [held.loop.votes[seat].is_valid for seat in (0, 2)] == [True, True]
    assert len(broken.prompts) == 1  # nothing but an unparsable reply is asked for again


async def test_an_absent_model_is_not_asked() -> None:
    gone = Failure(FailureKind.MODEL_NOT_FOUND, "It is not installed.")
    absent = Fake(absence=gone)
    held = await hold(Fake(), absent, Fake())
    assert held.loop.votes[1].failure == gone
    assert not absent.prompts


@pytest.mark.parametrize("error", [RuntimeError(f"about {CLAIM}"), KeyError("model"), UnicodeError(CLAIM)])
async def test_an_adapter_that_raises_is_a_failed_member(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    held = await hold(Fake([error]), Fake(), Fake())
    vote = held.loop.votes[0]
    assert vote.failure
    assert CLAIM not in vote.failure.message
    assert CLAIM not in caplog.text
    assert kinds(held)[1:] == [None, None]


async def test_all_of_the_unaskable_lose_the_loop() -> None:
    gone = [err(FailureKind.UNREACHABLE), err(FailureKind.UNAUTHORIZED), err(FailureKind.CONTEXT_OVERFLOW)]
    assert (await hold(*(Fake([each]) for each in gone))).was_lost
    assert not (await hold(*(Fake([each]) for each in gone[:2]), Fake([err(FailureKind.TIMEOUT)]))).was_lost


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I find it plausible.",
        '{"ballot": "plaus',
        f"{ballot()}{ballot('confabulation')}",
        f"Sure: {ballot()}",
        "[]",
    ],
    ids=["empty", "prose", "cut", "two", "after prose", "list"],
)
async def test_an_unparsable_reply_is_re_asked_exactly_once(text: str) -> None:
    stubborn = Fake([text])
    held = await hold(Fake(), stubborn, Fake())
    assert kinds(held) == [None, FailureKind.UNPARSABLE, None]
    assert len(stubborn.prompts) == 2
    first, second = stubborn.prompts
    assert second.user.startswith(first.user)
    assert len(second.user) > len(first.user)
    assert (second.system, second.schema) == (first.system, first.schema)


async def test_a_second_answer_counts() -> None:
    held = await hold(Fake(), Fake(["Well.", ballot("confabulation", score=1)]), Fake())
    assert held.loop.votes[1].label is Label.CONFABULATION
    assert held.loop.votes[1].is_valid


async def test_a_failure_on_the_second_try_is_the_failure() -> None:
    held = await hold(Fake(), Fake(["Well.", err(FailureKind.HTTP_ERROR)]), Fake())
    assert kinds(held) == [None, FailureKind.HTTP_ERROR, None]


async def test_an_unparsable_failure_of_the_adapter_is_re_asked_too() -> None:
    cut = Fake([err(FailureKind.UNPARSABLE), ballot()])
    assert kinds(await hold(Fake(), cut, Fake())) == [None, None, None]
    assert len(cut.prompts) == 2


async def test_both_tries_share_the_members_time() -> None:
    slow = Fake([after(0.12, "Well."), after(0.12, ballot())])
    held = await hold(Fake(), slow, Fake(), timeout_s=0.2)
    assert kinds(held) == [None, FailureKind.TIMEOUT, None]


async def test_a_reply_without_end_is_too_large() -> None:
    held = await hold(Fake(), Fake([ballot(rationale="x" * MAX_REPLY)]), Fake())
    assert kinds(held) == [None, FailureKind.TOO_LARGE, None]


# Clocks


async def test_a_member_that_hangs_times_out_and_is_stopped() -> None:
    stuck = Fake([hang])
    held = await hold(Fake(), stuck, Fake(), timeout_s=0.05)
    assert kinds(held) == [None, FailureKind.TIMEOUT, None]
    assert stuck.cancelled == 1
    assert not held.was_cut
    assert held.loop.votes[1].failure
    assert "m1" in held.loop.votes[1].failure.message


async def test_loading_is_no_part_of_the_vote() -> None:
    cold = Fake([after(0.05, ballot())], loading_s=0.2)
    held = await hold(Fake(), cold, Fake(), timeout_s=0.15)
    assert kinds(held) == [None] * 3
    vote = held.loop.votes[1]
    assert vote.began_ms >= 190
    assert vote.ended_ms - vote.began_ms < 150


async def test_waiting_for_a_turn_is_no_part_of_the_vote() -> None:
    fakes = [Fake([after(0.08, ballot())]) for _ in range(3)]
    held = await hold(*fakes, timeout_s=0.15, turns=Turns(1), pack=BARE_PACK)
    assert kinds(held) == [None] * 3
    assert max(vote.began_ms for vote in held.loop.votes) >= 150


async def test_a_model_runs_no_more_than_its_turns() -> None:
    running, most = 0, 0

    async def counted(_: Prompt) -> Said:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return ballot()

    await hold(*(Fake([counted]) for _ in range(5)), turns=Turns(2))
    assert most == 2


async def test_whoever_waited_for_a_turn_has_its_model_looked_for_again() -> None:
    """It may have been evicted meanwhile."""

    async def slow(_: Prompt) -> Said:
        await asyncio.sleep(0.1)
        return ballot()

    first, second = Fake([slow]), Fake([slow])
    await hold(first, second, turns=Turns(1), pack=BARE_PACK)
    assert (len(first.waits_s), len(second.waits_s)) == (1, 2)


async def test_a_load_is_waited_for_as_configured_or_to_the_deadline() -> None:
    fakes = [Fake(), Fake(), Fake()]
    await hold(*fakes, load_wait_s=3.0, deadline_s=20.0)
    assert fakes[0].waits_s == [pytest.approx(3.0, abs=0.1)]
    fakes = [Fake(), Fake(), Fake()]
    await hold(*fakes, load_wait_s=30.0, deadline_s=2.0)
    assert fakes[0].waits_s == [pytest.approx(2.0, abs=0.1)]


async def test_a_load_that_outlasts_its_wait_is_not_loaded() -> None:
    held = await hold(Fake(), Fake(loading_s=5), Fake(), load_wait_s=0.05)
    assert kinds(held) == [None, FailureKind.NOT_LOADED, None]
    assert not held.was_cut


async def test_the_deadline_cuts_whoever_is_still_out() -> None:
    turn = Turns(1)
    stuck, queued, loading, quick = Fake([hang]), Fake(), Fake(loading_s=5), Fake()
    seated = board(stuck, queued, loading, quick)
    shared = [BoundMember(seat.member, seat.adapter, 5.0, turn) for seat in seated.seats[:2]]
    hall = DebateEngine(Board((*shared, *seated.seats[2:])), load_wait_s=5, deadline_s=0.1)
    held = await asyncio.wait_for(hall.hold(PACK, None), 2)
    assert kinds(held) == [FailureKind.TIMEOUT, FailureKind.TIMEOUT, FailureKind.NOT_LOADED, None]
    assert held.was_cut
    assert stuck.cancelled == 1
    assert not queued.prompts


async def test_a_load_that_outlasts_the_deadline_is_cut_by_it() -> None:
    for deadline_s in (0.01, 0.02, 0.03, 0.04, 0.05):
        held = await hold(Fake(), Fake(loading_s=5), Fake(), load_wait_s=10, deadline_s=deadline_s)
        assert kinds(held) == [None, FailureKind.NOT_LOADED, None]
        assert held.was_cut


async def test_the_deadline_cuts_a_challenge() -> None:
    held = await hold(Fake(), Fake(), Fake(challenges=[hang]), deadline_s=0.1)
    assert kinds(held) == [None] * 3
    assert held.was_cut
    assert held.loop.challenge
    assert held.loop.challenge.failure
    assert held.loop.challenge.failure.kind is FailureKind.TIMEOUT


async def test_the_deadline_is_the_claims_and_not_the_loops() -> None:
    hall = engine(*(Fake([ballot(), hang]) for _ in range(3)), deadline_s=0.15)
    first = await hall.hold(PACK, None)
    await asyncio.sleep(0.1)
    began = asyncio.get_running_loop().time()
    second = await asyncio.wait_for(hall.hold(PACK, first.loop), 2)
    assert second.was_cut
    assert asyncio.get_running_loop().time() - began < 0.1


async def test_a_loop_after_the_deadline_asks_nobody() -> None:
    fakes = [Fake() for _ in range(3)]
    hall = engine(*fakes, deadline_s=0.03)
    first = await hall.hold(BARE_PACK, None)
    await asyncio.sleep(0.05)
    second = await asyncio.wait_for(hall.hold(BARE_PACK, first.loop), 1)
    assert second.was_cut
    assert [len(fake.prompts) for fake in fakes] == [1, 1, 1]


async def test_cancelling_a_loop_stops_every_member() -> None:
    fakes = [Fake([hang]) for _ in range(3)]
    held = asyncio.create_task(hold(*fakes))
    await until(lambda: all(fake.prompts for fake in fakes))
    held.cancel()
    with pytest.raises(asyncio.CancelledError):
        await held
    assert [fake.cancelled for fake in fakes] == [1, 1, 1]


async def test_a_cancelled_loop_gives_its_turns_back() -> None:
    turn = Turns(1)
    stuck = [Fake([hang]) for _ in range(3)]
    held = asyncio.create_task(hold(*stuck, turns=turn))
    await until(lambda: any(fake.prompts for fake in stuck))
    held.cancel()
    with pytest.raises(asyncio.CancelledError):
        await held
    assert kinds(await hold(Fake(), Fake(), Fake(), turns=turn)) == [None] * 3

"""Judging again what nobody could judge: when it looks, whom it lets go first, and that each claim is settled once."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextlib import closing as closing_at_once
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clock import now, skip
from conftest import Convene
from neuron_council import reevaluator as reevaluators
from neuron_council.council import Council
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.verdict import Verdict
from neuron_council.ledger import ledger as ledgers
from neuron_council.ledger.keeper import Keeper
from neuron_council.ledger.ledger import FILE, Announcement, Due, Ledger, Waiting
from neuron_council.maker.adapter import BackendState
from neuron_council.reevaluator import Reevaluator, Tried
from support import DOLPHIN, NEURON, NEURON_FT, PACK, Stub, closing, refusing_url, seats, settings, until
from verdicts import ABOUT, judged, unavailable

TEA = ContextPack("Tea is a drink.")


class Away:
    """A backend that answers or does not, and counts how often it was asked, and when."""

    def __init__(self, *, reachable: bool | None = False) -> None:
        self.reachable = reachable
        self.asked: list[float] = []

    async def warm_up(self) -> None: ...

    async def state(self) -> BackendState:
        self.asked.append(now())
        return BackendState("http://127.0.0.1:11434", self.reachable, None)

    async def close(self) -> None: ...


class Bench:
    """A reevaluator over a real ledger; `judged` is what it was given to judge, by claim."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.ledger = Ledger(home / FILE)
        self.backend = Away()
        self.backends = {self.backend: 3}
        self.idle = asyncio.Event()
        self.idle.set()
        self.judged: list[str] = []
        self.answer: Callable[[Due, str], Awaitable[Tried]] = self.settle
        self.tasks: list[asyncio.Task[None]] = []

    async def remind(self) -> None: ...

    async def settle(self, due: Due, owner: str) -> Tried:
        return Tried(self.ledger.add(judged(due.pack), about=ABOUT, owner=owner) is not None)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Reevaluator]:
        """One server's reevaluator, for the block."""

        async def judge(due: Due, owner: str) -> Tried:
            self.judged.append(due.pack.claim)
            return await self.answer(due, owner)

        async with closing(Keeper(self.home)) as keeper:
            reevaluator = Reevaluator(keeper, self.backends, judge, remind=self.remind, idle=self.idle)
            task = asyncio.create_task(reevaluator.run())
            self.tasks.append(task)
            try:
                yield reevaluator
            finally:
                task.cancel()
                await asyncio.wait([task])

    def waiting(self) -> Waiting:
        """How the one claim of the queue stands."""
        (entry,) = self.ledger.list(status="unavailable").entries
        waiting = self.ledger.show(entry.id).waiting
        assert waiting is not None
        return waiting

    def queue(self, *claims: str) -> list[Verdict]:
        verdicts = [unavailable(claim) for claim in claims]
        for verdict in verdicts:
            self.ledger.add(verdict, about=ABOUT)
        return verdicts


@pytest.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    """Its ledger goes by the time of the loop."""
    monkeypatch.setattr(ledgers, "time", SimpleNamespace(time=asyncio.get_running_loop().time))
    bench = Bench(tmp_path)
    yield bench
    bench.ledger.close()


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of the pauses."""
    for name in ("PAUSES_S", "RETRY_S"):
        monkeypatch.setattr(reevaluators, name, tuple(pause / 100 for pause in getattr(reevaluators, name)))
    monkeypatch.setattr(reevaluators, "QUIET_S", reevaluators.QUIET_S / 100)


async def test_nobody_is_asked_while_nothing_is_queued(bench: Bench) -> None:
    async with bench.running() as reevaluator:
        for _ in range(20):
            reevaluator.wake()
            await asyncio.sleep(0.01)
    assert (bench.backend.asked, bench.judged) == ([], [])


async def test_what_is_queued_before_the_start_is_judged(bench: Bench) -> None:
    bench.queue("First it was.", "Second it was.", "First it was.")
    bench.backend.reachable = True
    async with bench.running():
        await until(lambda: not bench.ledger.pending())
        asked = len(bench.backend.asked)
        await asyncio.sleep(0.05)
        assert len(bench.backend.asked) == asked  # it is quiet again
    assert bench.judged == ["First it was.", "Second it was."]


async def test_it_looks_soon_and_then_less_often_but_every_five_seconds(bench: Bench) -> None:
    """The pauses as they are: half a second at first, more later, and never more than DESIGN's five seconds."""
    pauses = reevaluators.PAUSES_S
    assert pauses == tuple(sorted(pauses))
    assert pauses[0] <= 1
    assert pauses[-1] <= 5 - 1  # the question itself may take a second
    bench.queue(TEA.claim)
    async with bench.running():
        await until(lambda: len(bench.backend.asked) == 3)
    one, two, three = bench.backend.asked
    assert pauses[0] - 0.02 <= two - one < pauses[0] + 1
    assert pauses[1] - 0.02 <= three - two < pauses[1] + 1


@pytest.mark.usefixtures("hurry")
async def test_the_back_off_begins_anew_after_a_quiet_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reevaluators, "QUIET_S", 0.001)
    monkeypatch.setattr(reevaluators, "PAUSES_S", (0.02, 0.02, 5.0))
    async with bench.running() as reevaluator:
        await asyncio.sleep(0.1)
        bench.queue(TEA.claim)
        reevaluator.wake()
        await until(lambda: len(bench.backend.asked) >= 2, within_s=2)


async def test_news_are_heeded_at_once(bench: Bench) -> None:
    bench.backend.reachable = True
    async with bench.running() as reevaluator:
        await asyncio.sleep(0.05)
        bench.queue(TEA.claim)
        reevaluator.wake()
        await until(lambda: not bench.ledger.pending(), within_s=2)


async def test_news_that_come_while_the_queue_is_looked_at_are_heeded_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.backend.reachable = True
    loop, count = asyncio.get_running_loop(), Ledger.pending
    begun: list[Reevaluator] = []

    def pending(ledger: Ledger) -> int:
        counted = count(ledger)
        if begun:  # right after the queue was found empty
            ledger.add(unavailable(TEA), about=ABOUT)
            loop.call_soon_threadsafe(begun.pop().wake)
        return counted

    monkeypatch.setattr(Ledger, "pending", pending)
    async with bench.running() as reevaluator:
        begun.append(reevaluator)
        await until(lambda: bench.judged, within_s=reevaluators.QUIET_S / 2)


@pytest.mark.usefixtures("hurry")
async def test_it_is_judged_when_the_backend_is_back(bench: Bench) -> None:
    bench.queue(TEA.claim)
    async with bench.running():
        await until(lambda: len(bench.backend.asked) > 5)
        assert bench.judged == []
        bench.backend.reachable = True
        await until(lambda: not bench.ledger.pending())
    assert bench.judged == [TEA.claim]


@pytest.mark.usefixtures("hurry")
async def test_too_few_at_home_are_not_asked(bench: Bench) -> None:
    """One member would be asked for every claim in the queue, for as long as the others are away."""
    one, other = Away(reachable=True), Away()
    bench.backends = {one: 1, other: 2}
    bench.queue(TEA.claim)
    async with bench.running():
        await until(lambda: len(other.asked) > 5)
        assert bench.judged == []
        other.reachable = True
        await until(lambda: not bench.ledger.pending())


async def test_a_person_goes_first(bench: Bench) -> None:
    bench.queue("First it was.", "Second it was.")
    bench.backend.reachable = True
    bench.idle.clear()
    async with bench.running():
        await asyncio.sleep(0.1)
        assert bench.judged == []
        assert bench.ledger.lease("another server", 0) is not None  # nor is it kept from others meanwhile
        bench.ledger.hasten(None)

        async def judge_one(due: Due, owner: str) -> Tried:
            bench.idle.clear()  # somebody comes during the first
            return await bench.settle(due, owner)

        bench.answer = judge_one
        bench.idle.set()
        await until(lambda: bench.ledger.pending() == 1)
        await asyncio.sleep(0.05)
        assert len(bench.judged) == 1
        bench.idle.set()
        await until(lambda: not bench.ledger.pending())


@pytest.mark.usefixtures("hurry")
async def test_a_backend_that_leaves_while_people_are_served_is_not_asked(bench: Bench) -> None:
    bench.queue(TEA.claim)
    bench.backend.reachable = True
    bench.idle.clear()
    async with bench.running():
        await until(lambda: bench.backend.asked)
        bench.backend.reachable = False
        asked = len(bench.backend.asked)
        bench.idle.set()
        await until(lambda: len(bench.backend.asked) > asked)
        await asyncio.sleep(0.05)
    assert bench.judged == []


@pytest.mark.usefixtures("hurry")
async def test_what_cannot_be_settled_is_tried_again_later_and_later(bench: Bench) -> None:
    bench.queue(TEA.claim)
    bench.backend.reachable = True
    times: list[float] = []

    async def fail(_: Due, __: str) -> Tried:
        times.append(now())
        return Tried(is_settled=False)

    bench.answer = fail
    async with bench.running():
        await until(lambda: len(times) == 4)
    gaps = [after - before for before, after in pairwise(times)]
    first = reevaluators.RETRY_S[0]
    for number, gap in enumerate(gaps):
        assert gap >= first * 2**number
    assert bench.ledger.pending() == 1


@pytest.mark.parametrize(
    ("unreachable", "away", "most"),
    [(0, 0, 300), (3, 0, 86_400), (1, 0, 86_400), (1, 1, 300), (2, 1, 86_400)],
    ids=["lacks a model", "all dropped", "one dropped", "one is away", "one is away, one dropped"],
)
async def test_what_ends_a_backend_each_time_is_tried_once_a_day(
    bench: Bench, unreachable: int, away: int, most: float
) -> None:
    """What waits for a person to mend something is tried every five minutes all the same."""
    bench.queue(TEA.claim)
    bench.backends = {Away(reachable=True): 3 - away, Away(): away}
    times: list[float] = []

    async def fail(_: Due, __: str) -> Tried:
        times.append(now())
        return Tried(is_settled=False, unreachable=unreachable)

    bench.answer = fail
    async with bench.running() as reevaluator:
        for tries in range(1, 21):
            await until(lambda tries=tries: len(times) == tries)
            await until(lambda tries=tries: bench.waiting().attempts == tries)
            skip(bench.waiting().due - now())
            reevaluator.wake()
    pauses = [after - before for before, after in pairwise(times)]
    for number, pause in enumerate(pauses):
        assert pause >= min(5 * 2**number, most) - 1
    assert most - 1 <= pauses[-1] < most + 60
    assert bench.ledger.pending() == 1


async def test_a_person_can_have_it_tried_at_once(bench: Bench) -> None:
    (verdict,) = bench.queue(TEA.claim)
    bench.backend.reachable = True
    for _ in range(12):
        due = bench.ledger.lease("another", 60)
        assert due is not None
        bench.ledger.release(due, "another", again_in_s=0, was_dropped=True)
    assert bench.waiting().dropped == 12
    assert bench.ledger.hasten([verdict.id]) == 1
    assert (bench.waiting().attempts, bench.waiting().dropped) == (0, 0)


async def test_a_backend_that_cannot_settle_it_is_not_asked_over_and_over(bench: Bench) -> None:
    """It answers, and its model is missing: the next try is seconds away, and so is the next question."""
    bench.queue(TEA.claim)
    bench.backend.reachable = True

    async def fail(_: Due, __: str) -> Tried:
        return Tried(is_settled=False)

    bench.answer = fail
    async with bench.running():
        await until(lambda: bench.judged)
        await asyncio.sleep(2.4)
    assert len(bench.backend.asked) <= 4


@pytest.mark.usefixtures("hurry")
async def test_one_that_cannot_be_settled_holds_up_nobody(bench: Bench) -> None:
    bench.queue("First it was.", "Second it was.", "Third it was.")
    bench.backend.reachable = True

    async def answer(due: Due, owner: str) -> Tried:
        return Tried(is_settled=False) if "Second" in due.pack.claim else await bench.settle(due, owner)

    bench.answer = answer
    async with bench.running():
        await until(lambda: bench.ledger.pending() == 1)
    assert bench.judged[:3] == ["First it was.", "Second it was.", "Third it was."]


@pytest.mark.usefixtures("hurry")
async def test_an_unexpected_error_is_not_the_end_of_it(bench: Bench) -> None:
    bench.queue("First it was.", "Second it was.")
    bench.backend.reachable = True

    async def answer(due: Due, owner: str) -> Tried:
        if "First" in due.pack.claim:
            raise ZeroDivisionError
        return await bench.settle(due, owner)

    bench.answer = answer
    async with bench.running():
        await until(lambda: "Second it was." in bench.judged)
        assert not bench.tasks[0].done()
    assert bench.ledger.pending() == 1


@pytest.mark.usefixtures("hurry")
async def test_a_ledger_that_cannot_be_read_is_tried_again(bench: Bench) -> None:
    bench.queue(TEA.claim)
    bench.ledger.close()
    bench.backend.reachable = True
    folder = bench.home / "council"
    folder.rename(bench.home / "elsewhere")
    folder.touch()  # a file where the folder should be
    async with bench.running():
        await asyncio.sleep(0.1)
        folder.unlink()
        (bench.home / "elsewhere").rename(folder)
        await until(lambda: not bench.ledger.pending(), within_s=3)


# Leases


async def test_two_servers_never_judge_the_same_claim_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judging takes longer than a lease, which is renewed meanwhile."""
    monkeypatch.setattr(reevaluators, "LEASE_S", 0.3)
    bench.queue(*(f"Claim {number} is one." for number in range(4)))
    bench.backend.reachable = True
    busy: set[str] = set()

    async def slowly(due: Due, owner: str) -> Tried:
        assert due.key not in busy
        busy.add(due.key)
        await asyncio.sleep(0.8)
        busy.remove(due.key)
        return await bench.settle(due, owner)

    bench.answer = slowly
    async with bench.running(), bench.running():
        await until(lambda: len(busy) == 2)  # they share the work
        await until(lambda: not bench.ledger.pending())
        assert not any(task.done() for task in bench.tasks)
    assert sorted(bench.judged) == [f"Claim {number} is one." for number in range(4)]


@pytest.mark.usefixtures("hurry")
async def test_what_a_crash_left_behind_is_taken_over(bench: Bench) -> None:
    bench.queue(TEA.claim)
    bench.backend.reachable = True
    assert bench.ledger.lease("crashed", 0.5) is not None
    began = now()
    async with bench.running():
        await until(lambda: not bench.ledger.pending())
    assert now() - began >= 0.4


def test_a_crash_holds_a_claim_up_for_seconds_only() -> None:
    assert reevaluators.LEASE_S <= 30


# With the council


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[tuple[Council, list[Announcement]]]]]:
    """Starts councils on one home, each with what it told its client."""
    async with AsyncExitStack() as stack:

        async def start(url: str, **configured: Any) -> tuple[Council, list[Announcement]]:
            told: list[Announcement] = []
            council = await stack.enter_async_context(closing(Council(settings(url, tmp_path, **configured))))
            await council.start(told.append)
            return council, told

        yield start


Servers = Callable[..., Awaitable[tuple[Council, list[Announcement]]]]


async def test_an_unavailable_claim_is_judged_when_its_backend_is_back(stub: Stub, servers: Servers) -> None:
    stub.kill()
    council, told = await servers(stub.url)
    before = now()
    old = await council.verify(PACK)
    assert now() - before < 1.5
    twin = await council.verify(PACK)
    assert (old.outcome.status, twin.outcome.status, old.id == twin.id) == ("unavailable", "unavailable", False)
    assert (await council.health()).pending == 1
    stub.start()
    await until(lambda: len(told) == 2, within_s=10)
    (new,) = {each.verdict.id: each.verdict for each in told}.values()
    assert {each.old for each in told} == {old.id, twin.id}
    assert new.outcome.tags == ("verified",)
    assert (await council.health()).pending == 0
    assert (await council.show(new.id)).verdict == new
    assert (await council.show(new.id)).supersedes == old.id
    assert (await council.show(old.id)).verdict == old
    assert len(stub.votes(NEURON)) == 1
    answer = await council.verify(PACK)
    assert (answer.id, answer.cached) == (new.id, True)
    assert (await council.replay()).differing == ()


async def test_nothing_queued_nothing_asked(stub: Stub, servers: Servers) -> None:
    council, _ = await servers(stub.url)
    await until(lambda: len(stub.loads()) == 3)
    assert (await council.verify(PACK)).outcome.status == "emitted"
    assert stub.calls("/api/version") == []


async def test_it_is_told_again_at_every_start_until_it_is_acknowledged(stub: Stub, servers: Servers) -> None:
    away, _ = await servers(refusing_url())
    old = await away.verify(PACK)
    await away.close()
    first, told = await servers(stub.url)
    await until(lambda: told, within_s=10)
    new = told[0].verdict
    await first.close()
    for _ in range(2):
        again, told = await servers(refusing_url())
        await until(lambda told=told: told)
        assert told == [Announcement(old.id, new)]
        await again.close()
    last, told = await servers(refusing_url())
    assert await last.acknowledge([new.id]) == 1
    await last.close()
    last, told = await servers(refusing_url())
    assert (await last.health()).pending == 0
    assert told == []


@pytest.mark.parametrize(
    ("start", "is_owed"),
    [
        (lambda council, told: council.start(told), True),
        (lambda council, told: council.start(told, acknowledges=False), False),
        (lambda council, _: council.start(), False),
        (lambda *_: asyncio.sleep(0), False),
    ],
    ids=["a client", "an editor", "nobody listens", "a shell"],
)
async def test_only_who_can_acknowledge_is_told_until_then(
    stub: Stub, servers: Servers, tmp_path: Path, start: Callable[..., Awaitable[None]], is_owed: bool
) -> None:
    async with closing(Council(settings(refusing_url(), tmp_path))) as away:
        await start(away, [].append)
        old = await away.verify(PACK)
    _, told = await servers(stub.url)
    await until(lambda: told)  # others are told all the same, for a while
    assert told[0].old == old.id
    with closing_at_once(sqlite3.connect(tmp_path / FILE)) as db:
        ((ends,),) = db.execute("SELECT until FROM announcement").fetchall()
    assert (ends is None) is is_owed


async def test_a_person_s_verify_settles_what_is_queued(stub: Stub, servers: Servers) -> None:
    away, _ = await servers(refusing_url())
    old = await away.verify(PACK)
    await away.close()
    council = Council(settings(stub.url, (away._settings.home)))
    async with closing(council):  # not started: nobody works the queue
        new = await council.verify(PACK)
        assert (await council.show(new.id)).supersedes == old.id
        assert (await council.health()).pending == 0
    assert len(stub.votes(NEURON)) == 1


async def test_a_person_s_claim_overtakes_the_queue_at_the_models(stub: Stub, servers: Servers) -> None:
    away, _ = await servers(refusing_url())
    for number in range(4):
        await away.verify(ContextPack(f"Queued claim {number}."))
    await away.close()
    stub.script(default={"delay": 0.3})
    council, told = await servers(stub.url)
    await until(lambda: len(stub.votes(NEURON)) == 1, within_s=10)
    await council.verify(ContextPack("A person asks."))
    assert len(stub.votes(NEURON)) == 2  # the queued one that had begun, and the person's
    assert "A person asks." in stub.votes(NEURON)[1].user
    await until(lambda: len(told) == 4, within_s=10)


async def test_a_missing_model_keeps_the_claim_in_the_queue(stub: Stub, servers: Servers) -> None:
    stub.script(installed=[], resident={})
    council, told = await servers(stub.url)
    old = await council.verify(PACK)
    assert old.outcome.status == "unavailable"
    await until(lambda: stub.calls("/api/version"))
    assert (await council.health()).pending == 1
    assert len((await council.list()).entries) == 1  # a try that failed is no verdict
    stub.script(resident={})
    assert await council.reevaluate([old.id]) == 1
    await until(lambda: told, within_s=10)
    assert told[0].old == old.id
    assert await council.reevaluate() == 0


def in_part(*elsewhere: str) -> list[dict[str, Any]]:
    """The default board, of which all but the first member are ELSEWHERE."""
    first, *others = seats(NEURON, NEURON_FT, DOLPHIN)
    return [first, *({**entry, "base_url": url} for entry, url in zip(others, elsewhere, strict=True))]


async def test_part_of_the_board_does_not_settle_what_the_rest_may_judge(stub: Stub, servers: Servers) -> None:
    away, _ = await servers(refusing_url())
    old = await away.verify(PACK)
    await away.close()
    stub.script(models={model: {"fault": "close"} for model in (NEURON_FT, DOLPHIN)})
    part, told = await servers(stub.url)
    await until(lambda: stub.votes(NEURON), within_s=10)
    await until(lambda: stub.votes(NEURON)[0].end)
    await asyncio.sleep(0.2)
    assert (await part.health()).pending == 1
    assert (told, len((await part.list()).entries)) == ([], 1)
    await part.close()
    stub.script()
    whole, told = await servers(stub.url)
    await whole.reevaluate()
    await until(lambda: told, within_s=10)
    assert (told[0].old, told[0].verdict.outcome.tags) == (old.id, ("verified",))
    assert (await whole.health()).pending == 0


@pytest.mark.usefixtures("hurry")
async def test_members_that_are_dropped_each_time_are_not_waited_for_for_ever(stub: Stub, servers: Servers) -> None:
    """One vote is asked for with every try; after some of them a person decides."""
    away, _ = await servers(refusing_url())
    await away.verify(PACK)
    await away.close()
    stub.script(models={model: {"fault": "close"} for model in (NEURON_FT, DOLPHIN)})
    council, told = await servers(stub.url)
    await until(lambda: told)
    assert told[0].verdict.report.parked_reason == "no-quorum"
    assert len(stub.votes(NEURON)) == 6
    assert (await council.health()).pending == 0


@pytest.mark.usefixtures("hurry")
async def test_a_claim_that_everybody_drops_each_time_stays_and_is_known(
    stub: Stub, servers: Servers, tmp_path: Path
) -> None:
    """No member could be asked, so there is no verdict to settle it with: it waits ever longer, and says so."""
    away, _ = await servers(refusing_url())
    old = await away.verify(PACK)
    await away.close()
    stub.script(default={"fault": "close"})
    council, told = await servers(stub.url)
    with closing_at_once(Ledger(tmp_path / FILE)) as ledger:

        def dropped() -> int:
            waiting = ledger.show(old.id).waiting
            assert waiting is not None
            assert waiting.dropped == waiting.attempts
            return waiting.dropped

        await until(lambda: dropped() >= 3)
    assert (told, (await council.health()).pending) == ([], 1)
    stub.script()
    await council.reevaluate()
    await until(lambda: told)
    assert told[0].verdict.outcome.tags == ("verified",)


async def test_two_of_three_are_a_board(stub: Stub, servers: Servers) -> None:
    away, _ = await servers(refusing_url())
    await away.verify(PACK)
    await away.close()
    council, told = await servers(stub.url, member=in_part(stub.url, refusing_url()))
    await until(lambda: told, within_s=10)
    assert told[0].verdict.report.consensus.valid == 2
    assert (await council.health()).pending == 0


async def test_members_that_only_a_person_can_bring_back_are_not_waited_for(stub: Stub, servers: Servers) -> None:
    away, _ = await servers(refusing_url())
    await away.verify(PACK)
    await away.close()
    stub.script(installed=[NEURON])
    council, told = await servers(stub.url)
    await until(lambda: told, within_s=10)
    assert told[0].verdict.report.parked_reason == "no-quorum"
    assert (await council.health()).pending == 0


async def test_a_backend_that_goes_away_in_the_debate_leaves_the_claim_queued(stub: Stub, servers: Servers) -> None:
    away, _ = await servers(refusing_url())
    await away.verify(PACK)
    await away.close()
    # The ballots differ, so a second loop is due; nobody is left for it.
    votes = {NEURON: "plausible", NEURON_FT: "uncertain", DOLPHIN: "confabulation"}
    stub.script(
        models={model: {"by_call": [{"ballot": ballot}, {"fault": "close"}]} for model, ballot in votes.items()}
    )
    council, told = await servers(stub.url)
    await until(lambda: len(stub.votes()) >= 6, within_s=10)
    await asyncio.sleep(0.3)
    assert (told, (await council.health()).pending) == ([], 1)
    stub.script()
    await council.reevaluate()
    await until(lambda: told, within_s=10)
    assert told[0].verdict.outcome.tags == ("verified",)


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize("faults", [["overflow"], ["close", "close"]])  # what is closed is asked once more
async def test_a_later_loop_that_loses_everybody_each_time_is_given_up(
    stub: Stub, servers: Servers, faults: list[str]
) -> None:
    """What its members say to each other may never fit into their windows, or end the backend each time."""
    away, _ = await servers(refusing_url())
    await away.verify(PACK)
    await away.close()
    votes = {NEURON: "plausible", NEURON_FT: "uncertain", DOLPHIN: "confabulation"}
    stub.script(
        models={
            model: {"by_call": [{"ballot": ballot}, *({"fault": fault} for fault in faults)] * 9}
            for model, ballot in votes.items()
        }
    )
    council, told = await servers(stub.url)
    await until(lambda: told, within_s=10)
    assert told[0].verdict.report.parked_reason == "no-quorum"
    assert told[0].verdict.report.loop_count == 1
    assert (await council.health()).pending == 0


async def test_two_servers_settle_each_claim_once_and_both_clients_are_told(
    stub: Stub, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reevaluators, "QUIET_S", 0.1)
    away, _ = await servers(refusing_url())
    olds = [await away.verify(ContextPack(f"Queued claim {number}.")) for number in range(6)]
    await away.close()
    stub.script(default={"delay": 0.1})
    (one, told_one), (two, told_two) = [await servers(stub.url) for _ in range(2)]
    await until(lambda: len(told_one) == len(told_two) == 6, within_s=15)
    for told in (told_one, told_two):
        assert {each.old for each in told} == {old.id for old in olds}
        assert len({each.verdict.id for each in told}) == 6
    assert set(told_one) == set(told_two)
    assert len(stub.votes(NEURON)) == 6
    assert (await one.health()).pending == (await two.health()).pending == 0


async def test_forgetting_ends_the_waiting(stub: Stub, servers: Servers, convene: Convene) -> None:
    away, _ = await servers(refusing_url())
    old = await away.verify(PACK)
    await away.forget(old.id)
    assert (await away.health()).pending == 0
    await away.close()
    council = await convene(stub.url)
    assert (await council.health()).pending == 0
    assert stub.votes() == []


async def test_a_claim_forgotten_while_it_is_judged_again_is_not_kept(stub: Stub, servers: Servers) -> None:
    away, _ = await servers(refusing_url())
    old = await away.verify(PACK)
    await away.close()
    stub.script(default={"delay": 0.3})
    council, told = await servers(stub.url)
    await until(lambda: stub.votes(NEURON), within_s=10)
    await council.forget(old.id)
    await until(lambda: stub.challenges() and stub.challenges()[0].end)
    await until(lambda: not council._people)
    await asyncio.sleep(0.2)
    assert (told, (await council.list()).entries) == ([], ())

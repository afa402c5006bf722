"""One debate that equal requests share: who hears what, and when it stops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Convene
from neuron_council.evidence.debate import Vote
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.verdict import Verdict
from neuron_council.flight import Flight
from support import NEURON, PACK, Stub, until
from verdicts import judged

VERDICT = judged("Tea is a drink.")
VOTES = VERDICT.votes


class Debate:
    """A debate that a test moves on by hand."""

    def __init__(self) -> None:
        self.say: Callable[[Vote], None] = lambda _: None
        self.ended: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self.was_stopped = False

    async def __call__(self, flight: Flight) -> Verdict:
        self.say = flight.hear
        try:
            return await self.ended
        except asyncio.CancelledError:
            self.was_stopped = True
            raise


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_everybody_gets_the_one_verdict_and_hears_every_vote_once() -> None:
    debate = Debate()
    flight = Flight("Tea is a drink.", debate)
    heard: list[list[Vote]] = [[], [], []]
    leader = asyncio.create_task(flight.board(heard[0].append, is_urgent=True))
    await settle()
    debate.say(VOTES[0])
    follower = asyncio.create_task(flight.board(heard[1].append, is_urgent=True))
    silent = asyncio.create_task(flight.board(None, is_urgent=False))
    await settle()
    debate.say(VOTES[1])
    late = asyncio.create_task(flight.board(heard[2].append, is_urgent=False))
    await settle()
    debate.say(VOTES[2])
    debate.ended.set_result(VERDICT)
    assert await asyncio.gather(leader, follower, silent, late) == [VERDICT] * 4
    assert heard == [list(VOTES)] * 3


@pytest.mark.parametrize("leaver", [0, 1])
async def test_one_who_leaves_does_not_stop_it_and_hears_no_more(leaver: int) -> None:
    debate = Debate()
    flight = Flight("Tea is a drink.", debate)
    heard: list[list[Vote]] = [[], []]
    tasks = [asyncio.create_task(flight.board(listener.append, is_urgent=True)) for listener in heard]
    await settle()
    debate.say(VOTES[0])
    tasks[leaver].cancel()
    await settle()
    assert tasks[leaver].cancelled()
    debate.say(VOTES[1])
    assert not debate.was_stopped
    debate.ended.set_result(VERDICT)
    assert await tasks[1 - leaver] == VERDICT
    assert [len(heard[leaver]), len(heard[1 - leaver])] == [1, 2]


async def test_the_last_one_s_cancel_stops_it() -> None:
    debate = Debate()
    flight = Flight("Tea is a drink.", debate)
    tasks = [asyncio.create_task(flight.board(None, is_urgent=False)) for _ in range(3)]
    await settle()
    for count, task in enumerate(tasks, 1):
        task.cancel()
        await settle()
        assert debate.was_stopped == (count == len(tasks))
    assert flight.task.cancelled()


async def test_everybody_gets_the_error() -> None:
    debate = Debate()
    flight = Flight("Tea is a drink.", debate)
    tasks = [asyncio.create_task(flight.board(None, is_urgent=False)) for _ in range(2)]
    await settle()
    debate.ended.set_exception(ZeroDivisionError())
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in found] == [ZeroDivisionError] * 2


async def test_it_is_urgent_as_soon_as_one_who_boards_is() -> None:
    debate = Debate()
    flight = Flight("Tea is a drink.", debate)
    tasks = []
    for is_urgent, then in ((False, False), (True, True), (False, True)):
        tasks.append(asyncio.create_task(flight.board(None, is_urgent=is_urgent)))
        await settle()
        assert flight.is_urgent == then
    assert not flight.is_over
    debate.ended.set_result(VERDICT)
    await asyncio.gather(*tasks)
    assert flight.is_over


# In the council


def requests(council: Any, pack: ContextPack, count: int, **more: Any) -> list[asyncio.Task[Verdict]]:
    return [asyncio.create_task(council.verify(pack, **more)) for _ in range(count)]


async def test_equal_requests_share_a_debate_and_its_id(stub: Stub, convene: Convene) -> None:
    council = await convene()
    stub.script(default={"delay": 0.2})
    one, two = requests(council, PACK, 2)
    other = asyncio.create_task(council.verify(ContextPack(PACK.claim)))
    mine = asyncio.create_task(council.verify(PACK, id="550e8400-e29b-41d4-a716-446655440000"))
    fresh = asyncio.create_task(council.verify(PACK, fresh=True))
    async with asyncio.timeout(15):
        found = await asyncio.gather(one, two, mine, other, fresh)
    assert len({verdict.id for verdict in found[:3]}) == 1
    assert len({verdict.id for verdict in found}) == 3
    assert not any(verdict.cached for verdict in found)
    assert len(stub.votes(NEURON)) == 3
    assert len((await council.list()).entries) == 3
    assert (await council.health()).in_flight == 0


async def test_a_person_takes_over_what_a_batch_asked(stub: Stub, convene: Convene) -> None:
    """The equal claim is debated once, and goes before what else the batch has waiting."""
    council = await convene()
    stub.script(default={"delay": 0.2})
    packs = [ContextPack(f"Batch {number} is long.") for number in range(6)]
    errands = [asyncio.create_task(council.verify(pack, is_urgent=False)) for pack in packs]
    await until(lambda: len(stub.votes(NEURON)) == 1)
    async with asyncio.timeout(15):
        mine = await council.verify(packs[-1])
        found = await asyncio.gather(*errands)
    assert found[-1].id == mine.id
    assert len(stub.votes(NEURON)) == 6


async def test_one_cancel_leaves_the_debate_to_the_others_and_the_last_stops_the_models(
    stub: Stub, convene: Convene
) -> None:
    council = await convene()
    stub.script(models={NEURON: {"delay": 30}})
    tasks = requests(council, PACK, 3)
    await until(lambda: len(stub.votes()) == 3)
    for task in tasks[:2]:
        task.cancel()
    await asyncio.wait(tasks[:2])
    assert (await council.health()).in_flight == 1
    assert stub.votes(NEURON)[0].end is None
    tasks[2].cancel()
    await asyncio.wait(tasks)
    await until(lambda: stub.votes(NEURON)[0].outcome == "client-closed")
    assert (await council.health()).in_flight == 0
    assert (await council.list()).entries == ()


async def test_a_debate_that_is_being_stopped_takes_nobody_in(
    stub: Stub, convene: Convene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody cancels and asks the same at once, while the first debate still hangs up on its models."""
    council = await convene()
    asked = asyncio.Event()
    debate = type(council)._debate

    async def slow_to_stop(self: Any, *given: Any, **more: Any) -> Any:
        if asked.is_set():
            return await debate(self, *given, **more)
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.3)

    monkeypatch.setattr(type(council), "_debate", slow_to_stop)
    (first,) = requests(council, PACK, 1)
    await asked.wait()
    first.cancel()
    await asyncio.wait([first])
    (second,) = requests(council, PACK, 1)
    await asyncio.wait([second], timeout=10)
    assert not second.cancelled()
    assert second.result().outcome.status == "emitted"
    assert len(stub.votes(NEURON)) == 1

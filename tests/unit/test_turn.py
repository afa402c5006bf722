"""Turns at a model: so many at a time, the urgent first, nothing lost when somebody leaves."""

from __future__ import annotations

import asyncio

import pytest

from neuron_council.maker.turn import Turns


class Desk:
    """Tasks that take a turn and keep it until they are told; `order` is that of their turns."""

    def __init__(self, calls: int) -> None:
        self.turns = Turns(calls)
        self.order: list[str] = []
        self.inside = 0
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.gates: dict[str, asyncio.Event] = {}

    async def _hold(self, name: str, *, is_urgent: bool) -> None:
        async with self.turns.turn(is_urgent=is_urgent):
            self.order.append(name)
            self.inside += 1
            try:
                await self.gates[name].wait()
            finally:
                self.inside -= 1

    async def join(self, *names: str) -> None:
        """Let each come in turn; a name in upper case is urgent."""
        for name in names:
            self.gates[name] = asyncio.Event()
            self.tasks[name] = asyncio.create_task(self._hold(name, is_urgent=name.isupper()))
            await self.settle()

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    async def done(self, *names: str) -> None:
        for name in names:
            self.gates[name].set()
            await self.settle()

    async def leave(self, name: str) -> None:
        self.tasks[name].cancel()
        await self.settle()
        assert self.tasks[name].cancelled()


@pytest.mark.parametrize("calls", [1, 2, 3])
async def test_so_many_at_a_time(calls: int) -> None:
    desk = Desk(calls)
    await desk.join(*"abcdef")
    for name in "abcdef":
        assert desk.inside == min(calls, 6 - "abcdef".index(name))
        await desk.done(name)
    assert desk.order == list("abcdef")
    assert desk.inside == 0


async def test_a_person_goes_before_every_errand_and_equals_in_their_order() -> None:
    desk = Desk(1)
    await desk.join("a", "b", "c", "X", "d", "Y", "Z")
    for name in ("a", "X", "Y"):
        await desk.done(name)
    await desk.join("e", "V")
    await desk.done("Z", "V", "b", "c", "d", "e")
    assert desk.order == ["a", "X", "Y", "Z", "V", "b", "c", "d", "e"]


async def test_nobody_slips_in_between_a_turn_given_and_taken() -> None:
    desk = Desk(1)
    await desk.join("a", "b")
    desk.gates["a"].set()
    late = asyncio.create_task(desk.join("Q"))  # comes in the very moment of the handing over
    await desk.settle()
    await late
    assert desk.order == ["a", "b"]
    await desk.done("b", "Q")
    assert desk.order == ["a", "b", "Q"]


async def test_who_leaves_the_queue_is_passed_over() -> None:
    desk = Desk(1)
    await desk.join("a", "b", "c", "X", "Y")
    await desk.leave("b")
    await desk.leave("X")
    await desk.done("a", "Y", "c")
    assert desk.order == ["a", "Y", "c"]
    await desk.join("d")
    assert desk.order[-1] == "d"


async def test_who_is_cancelled_in_a_turn_gives_it_back() -> None:
    desk = Desk(1)
    await desk.join("a", "b")
    await desk.leave("a")
    assert desk.order == ["a", "b"]


async def test_a_turn_that_comes_with_the_cancellation_goes_to_the_next() -> None:
    desk = Desk(1)
    async with desk.turns.turn(is_urgent=False):
        await desk.join("b", "c")
    desk.tasks["b"].cancel()  # the turn is b's, who does not know yet
    await desk.settle()
    assert desk.tasks["b"].cancelled()
    assert desk.order == ["c"]
    await desk.done("c")
    await desk.join("d")
    assert desk.order == ["c", "d"]


async def test_an_error_in_a_turn_gives_it_back() -> None:
    turns = Turns(1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            async with asyncio.timeout(1), turns.turn(is_urgent=False):
                raise ZeroDivisionError

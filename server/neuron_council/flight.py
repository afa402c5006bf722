"""One debate that equal requests share: each hears its votes, and it stops when the last of them leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from neuron_council.evidence.debate import Vote
from neuron_council.evidence.verdict import Verdict
from neuron_council.maker.debate import OnVote


class Flight:
    """A debate in flight. It is urgent as soon as one who boards it is."""

    def __init__(self, claim: str, convene: Callable[[Flight], Coroutine[None, None, Verdict]]) -> None:
        """CONVENE begins at once."""
        self.claim = claim
        self.is_urgent = False
        self.is_forgotten = False
        self._votes: list[Vote] = []
        self._listeners: list[OnVote] = []
        self._passengers = 0
        self._is_stopping = False
        self.task = asyncio.create_task(convene(self))

    @property
    def is_over(self) -> bool:
        """Whether nobody can join any more: the debate has ended, or is being stopped."""
        return self._is_stopping or self.task.done()

    async def board(self, on_vote: OnVote | None, *, is_urgent: bool) -> Verdict:
        """The verdict, once it is in; ON_VOTE hears the votes so far and those to come.

        Cancelling this leaves the debate to the others; the last one's cancel stops it.
        """
        self.is_urgent = self.is_urgent or is_urgent
        listener: OnVote = on_vote or (lambda _: None)
        for vote in self._votes:
            listener(vote)
        self._listeners.append(listener)
        self._passengers += 1
        try:
            return await asyncio.shield(self.task)
        finally:
            self._listeners.remove(listener)
            self._passengers -= 1
            if not self._passengers:
                self._is_stopping = True
                self.task.cancel()

    def hear(self, vote: Vote) -> None:
        """Pass VOTE on to all who are aboard."""
        self._votes.append(vote)
        for listener in self._listeners:
            listener(vote)

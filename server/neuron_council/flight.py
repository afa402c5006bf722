"""One debate that equal requests share: each hears its votes, and it stops when the last of them leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from neuron_council.evidence.debate import Vote
from neuron_council.evidence.verdict import Verdict
from neuron_council.maker.debate import OnVote


class Flight:
    """A debate in flight."""

    def __init__(self, convene: Callable[[OnVote], Coroutine[None, None, Verdict]]) -> None:
        """CONVENE begins at once, with what is to hear the votes."""
        self._votes: list[Vote] = []
        self._listeners: list[OnVote] = []
        self._passengers = 0
        self._is_stopping = False
        self.task = asyncio.create_task(convene(self._hear))

    @property
    def is_over(self) -> bool:
        """Whether nobody can join any more: the debate has ended, or is being stopped."""
        return self._is_stopping or self.task.done()

    async def board(self, on_vote: OnVote | None) -> Verdict:
        """The verdict, once it is in; ON_VOTE hears the votes so far and those to come.

        Cancelling this leaves the debate to the others; the last one's cancel stops it.
        """
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

    def _hear(self, vote: Vote) -> None:
        self._votes.append(vote)
        for listener in self._listeners:
            listener(vote)

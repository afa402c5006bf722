"""`$/progress` of one request: `begin`, a `report` for each vote, `end`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Self

from lsprotocol import types

if TYPE_CHECKING:
    from types import TracebackType

    from neuron_council.evidence.debate import Vote
    from neuron_council.rpc.params import Token

TITLE = "The council judges a claim"

Send = Callable[[str, Any], None]


def describe(vote: Vote, count: int, members: int, loop: int) -> str:
    """One line for a person: who voted what, and how many of the loop's votes are in."""
    said = vote.label.value if vote.failure is None else f"failed ({vote.failure.kind.value})"
    again = f"loop {loop}, " if loop > 1 else ""
    return f"{again}{vote.member.id}: {said} ({count}/{members})"


class Tally:
    """Counts votes as they come: a member that votes again begins the next loop."""

    def __init__(self, members: int) -> None:
        self.members = members
        self.loop = 1
        self._heard: set[str] = set()

    def add(self, vote: Vote) -> str:
        """Count VOTE and describe it."""
        if vote.member.id in self._heard:
            self.loop += 1
            self._heard.clear()
        self._heard.add(vote.member.id)
        return describe(vote, self.count, self.members, self.loop)

    @property
    def count(self) -> int:
        """The votes of the current loop."""
        return len(self._heard)


class _Reporter:
    """Tells the client how far its request is, for the length of a `with` block; silent without a token."""

    title: str

    def __init__(self, notify: Send, hint: Send, token: Token | None) -> None:
        self._notify = notify
        self._hint = hint
        self._token = token

    def __enter__(self) -> Self:
        self._send(self._notify, {"kind": "begin", "title": self.title, "cancellable": True, "percentage": 0})
        return self

    def _report(self, message: str, percentage: int | None) -> None:
        value: dict[str, Any] = {"kind": "report", "cancellable": True, "message": message}
        if percentage is not None:
            value["percentage"] = percentage
        self._send(self._hint, value)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        match error:
            case None:
                message = "answered"
            case asyncio.CancelledError():
                message = "cancelled"
            case _:
                message = "failed"
        self._send(self._notify, {"kind": "end", "message": message})
        return False

    def _send(self, send: Send, value: dict[str, Any]) -> None:
        if self._token is not None:
            send(types.PROGRESS, {"token": self._token, "value": value})


class Progress(_Reporter):
    """The progress of one claim, vote by vote."""

    title = TITLE

    def __init__(self, notify: Send, hint: Send, token: Token | None, members: int) -> None:
        super().__init__(notify, hint, token)
        self._tally = Tally(members)

    def vote(self, vote: Vote) -> None:
        """Report VOTE. A percentage may only rise, so the loops after the first have none."""
        message = self._tally.add(vote)
        in_first = self._tally.loop == 1
        self._report(message, round(100 * self._tally.count / self._tally.members) if in_first else None)


class BatchProgress(_Reporter):
    """The progress of many claims, claim by claim."""

    title = "The council judges claims"

    def __init__(self, notify: Send, hint: Send, token: Token | None, claims: int) -> None:
        super().__init__(notify, hint, token)
        self._claims = claims
        self._judged = 0

    def item(self) -> None:
        """Report one more claim as judged."""
        self._judged += 1
        self._report(f"{self._judged}/{self._claims} claims", round(100 * self._judged / self._claims))

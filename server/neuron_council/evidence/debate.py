"""What a debate leaves behind: members, votes, challenges and loops, whole enough to decide again without a model."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from attrs import frozen

from neuron_council.evidence.ballot import Axes, Label, Probabilities
from neuron_council.evidence.failure import UNASKABLE, Failure, FailureKind
from neuron_council.evidence.scoring import strength

Role = Literal["member", "contrarian"]

NO_AXES = Axes()


@frozen
class Member:
    """Who sits on the board."""

    id: str
    model: str
    role: Role


@frozen
class Vote:
    """One member's vote of one loop. A failed member's label is `uncertain`, and its vote is not valid.

    Times are milliseconds since the claim was taken up.
    """

    member: Member
    label: Label
    axes: Axes = NO_AXES
    confidence: float | None = None
    rationale: str = ""
    probabilities: Probabilities | None = None
    failure: Failure | None = None
    began_ms: float = 0.0
    ended_ms: float = 0.0

    @property
    def is_valid(self) -> bool:
        """Whether the member answered with a ballot."""
        return self.failure is None

    @property
    def was_askable(self) -> bool:
        """Whether asking this member can give a ballot at all; false after `UNASKABLE` failures."""
        return self.failure is None or self.failure.kind not in UNASKABLE

    @property
    def strength(self) -> float | None:
        """How well the vote's own scores back its ballot, 1..5; None without scores or without a valid vote."""
        return strength(self.label, self.axes) if self.is_valid else None


@frozen
class Challenge:
    """The contrarian's attempt to refute a claim that the ballots would let in."""

    member: Member
    argument: str = ""
    quote: str = ""
    refuted: bool = False
    failure: Failure | None = None
    began_ms: float = 0.0
    ended_ms: float = 0.0


@frozen
class Loop:
    """One round: a blind ballot of every member, then the challenge where one was due."""

    votes: tuple[Vote, ...]
    challenge: Challenge | None = None


class ParkedReason(StrEnum):
    """Why a withheld claim is debated no further."""

    LOOPS = "loops"
    DEADLINE = "deadline"
    NO_MOVEMENT = "no-movement"
    NO_QUORUM = "no-quorum"


@frozen
class DebateResult:
    """All that a debate showed. Without a loop nobody was asked: the claim was screened out.

    `max_loops` (1..3) is what the configuration allowed, `cut` says that the deadline ended the debate, `lost` that
    the backends went away in a later loop; a loop that was cut or lost is not among `loops`.
    """

    members: tuple[Member, ...]
    loops: tuple[Loop, ...] = ()
    max_loops: int = 3
    cut: bool = False
    lost: bool = False

    @property
    def votes(self) -> tuple[Vote, ...]:
        """The votes of record, the last loop's, in board order."""
        if not self.loops:
            return tuple(_not_asked(member) for member in self.members)
        seats = {member: seat for seat, member in enumerate(self.members)}
        return tuple(sorted(self.loops[-1].votes, key=lambda vote: seats.get(vote.member, len(seats))))

    @property
    def challenge(self) -> Challenge | None:
        """The last loop's challenge, or None where none was due."""
        return self.loops[-1].challenge if self.loops else None


def _not_asked(member: Member) -> Vote:
    reason = Failure(FailureKind.NOT_ASKED, "The claim was screened out before any member was asked.")
    return Vote(member, Label.UNCERTAIN, failure=reason)

"""The checker's report: findings by lens, what was counted, and what was said against the decision."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from attrs import frozen

from neuron_council.evidence.ballot import Label
from neuron_council.evidence.consensus import Consensus
from neuron_council.evidence.debate import Challenge, ParkedReason
from neuron_council.evidence.failure import Failure


class Status(StrEnum):
    """What became of a claim. `withheld` exists inside the loop only."""

    EMITTED = "emitted"
    REJECTED = "rejected"
    WITHHELD = "withheld"
    PARKED = "parked"
    UNAVAILABLE = "unavailable"


class LensStatus(StrEnum):
    """What a lens saw: a hard oracle failed, every oracle is proven, or neither."""

    REJECTED = "rejected"
    VERIFIED = "verified"
    UNVERIFIED = "unverified"


LensName = Literal["coherence", "faithfulness", "domain"]


@frozen
class Finding:
    """What one oracle found; `evidence` states the figures or the span it decided on."""

    oracle: str
    hard: bool
    proven: bool
    evidence: str


@frozen
class LensVerdict:
    """The findings of one lens and what follows from them."""

    lens: LensName
    status: LensStatus
    findings: tuple[Finding, ...]


@frozen
class Dissent:
    """A vote against the majority, preserved with its rationale or failure."""

    member: str
    vote: Label
    rationale: str
    failure: Failure | None


@frozen
class Move:
    """A member that changed its ballot from the loop before `loop` (from 2 on) to `loop`."""

    loop: int
    member: str
    before: Label
    after: Label


@frozen
class VerificationReport:
    """Everything the decision rests on, line by line."""

    status: Status
    loop_count: int
    parked_reason: ParkedReason | None
    quorum: int
    movement: tuple[Move, ...]
    challenge: Challenge | None
    consensus: Consensus
    lenses: tuple[LensVerdict, ...]
    dissent: tuple[Dissent, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all lenses, in the order of the lenses."""
        return tuple(finding for lens in self.lenses for finding in lens.findings)

"""What the council answers: the outcome with the votes and the report behind it."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from neuron_council.evidence.ballot import Label
from neuron_council.evidence.debate import DebateResult, Vote
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.report import Status, VerificationReport

Tier = Literal["T3", "T4"]


@frozen
class Outcome:
    """What may be believed: confidence (0..1), tags, status, tier, the majority's ballot and a summary for people."""

    status: Status
    tier: Tier | None
    confidence: float
    tags: tuple[str, ...]
    majority: Label | None
    summary: str


@frozen
class Verdict:
    """One answered claim. `latency_ms` is wall time, `warnings` are short sentences, each with its cure."""

    id: str
    pack: ContextPack
    debate: DebateResult
    report: VerificationReport
    outcome: Outcome
    latency_ms: int
    cached: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def votes(self) -> tuple[Vote, ...]:
        """The votes of record, in board order, the contrarian last."""
        return self.debate.votes

"""The outcome table: from votes and report to confidence, tags, tier and a summary. It can only lower."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from neuron_council.checker.wording import listed
from neuron_council.evidence.consensus import Consensus
from neuron_council.evidence.debate import DebateResult
from neuron_council.evidence.report import Finding, LensStatus, Status, VerificationReport
from neuron_council.evidence.verdict import Outcome, Tier


@frozen
class Row:
    """One row of the table: confidence, 0..1, and tags."""

    confidence: float
    tags: tuple[str, ...]


# The seed's table, "Confidence thresholds and tag meanings".
ALL = Row(0.85, ("verified",))
TWO_THIRDS = Row(0.65, ("council-split",))
FEWER = Row(0.30, ("unverified", "council-flagged"))
UNAVAILABLE = Row(0.50, ("council-unavailable",))
PARKED_TAG, DOUBTED_TAG = "council-parked", "council-doubted"
TAGS = (*ALL.tags, *TWO_THIRDS.tags, *FEWER.tags, *UNAVAILABLE.tags, PARKED_TAG, DOUBTED_TAG)
"""Every tag that a verdict can have."""

_ROW_BELOW = {ALL: TWO_THIRDS, TWO_THIRDS: FEWER, FEWER: FEWER}
_TIERS: dict[Status, Tier] = {Status.EMITTED: "T3", Status.PARKED: "T4"}


def outcome(debate: DebateResult, report: VerificationReport) -> Outcome:
    """What may be believed after REPORT on DEBATE."""
    tally = report.consensus
    row, extra = _row(report)
    return Outcome(
        status=report.status,
        tier=_TIERS.get(report.status),
        confidence=row.confidence,
        tags=(*row.tags, *extra),
        majority=tally.majority,
        summary=_summary(debate, report),
    )


def votes_row(tally: Consensus) -> Row:
    """The row that the votes alone would give."""
    if tally.is_unanimous:
        return ALL
    return TWO_THIRDS if tally.lets_in else FEWER


def _row(report: VerificationReport) -> tuple[Row, tuple[str, ...]]:
    row = votes_row(report.consensus)
    match report.status:
        case Status.UNAVAILABLE:
            return UNAVAILABLE, ()
        case Status.REJECTED:
            return FEWER, ()
        case Status.PARKED | Status.WITHHELD:
            return _ROW_BELOW[row], (PARKED_TAG,)
        case Status.EMITTED if row is ALL and not _is_wholly_verified(report):
            return TWO_THIRDS, (DOUBTED_TAG,)
        case _:
            return row, ()


def _is_wholly_verified(report: VerificationReport) -> bool:
    return all(lens.status is LensStatus.VERIFIED for lens in report.lenses)


def _summary(debate: DebateResult, report: VerificationReport) -> str:
    tally = report.consensus
    if report.status is Status.UNAVAILABLE:
        reasons = dict.fromkeys(vote.failure.message for vote in debate.votes if vote.failure)
        return f"Council unavailable: {' '.join(reasons)}"
    first = f"{tally.plausible}/{tally.members} council members agree this is plausible."
    if second := _second_sentence(report):
        return f"{first} {second}"
    return first


def _second_sentence(report: VerificationReport) -> str:
    match report.status:
        case Status.REJECTED:
            # The last lens knows of a claim that addresses the judges, which leaves the others without evidence.
            return _because("Rejected", (f for f in reversed(report.findings) if f.hard and not f.proven))
        case Status.PARKED if report.parked_reason:
            reason = f"Parked for a person ({report.parked_reason})"
            return _because(reason, (f for f in report.findings if not f.proven))
        case Status.EMITTED if report.consensus.is_unanimous:
            return _because("Doubted", (f for f in report.findings if not f.proven))
        case _:
            return ""


def _because(what: str, findings: Iterable[Finding]) -> str:
    """The first unproven oracle with its evidence, after WHAT was decided, and the names of the others."""
    unproven = list(findings)
    if not unproven:
        return ""
    first, also = unproven[0], dict.fromkeys(other.oracle for other in unproven[1:])
    also.pop(first.oracle, None)
    return f"{what}: {first.oracle}: {first.evidence}{f' Unproven as well: {listed(also)}.' if also else ''}"

"""Domain values in the shapes of the wire. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from neuron_council.council import Health
    from neuron_council.evidence.debate import Challenge, Vote
    from neuron_council.evidence.failure import Failure
    from neuron_council.evidence.report import VerificationReport
    from neuron_council.evidence.verdict import Verdict

Json = dict[str, Any]

_DIGITS = 4
_ODDS_DIGITS = 6  # so that the sum of three stays 1


def verdict(verdict: Verdict) -> Json:
    """The answer of `council/verify`."""
    outcome = verdict.outcome
    return {
        "id": verdict.id,
        "claim": verdict.pack.claim,
        "confidence": outcome.confidence,
        "council_votes": [vote.label.value for vote in verdict.votes],
        "summary": outcome.summary,
        "tags": list(outcome.tags),
        "latency_ms": verdict.latency_ms,
        "status": outcome.status.value,
        "tier": outcome.tier,
        "majority": outcome.majority and outcome.majority.value,
        "cached": verdict.cached,
        "warnings": list(verdict.warnings),
        "votes": [_vote(vote) for vote in verdict.votes],
        "report": _report(verdict.report),
    }


def health(health: Health) -> Json:
    """The answer of `council/health`."""
    return {
        "status": health.status,
        "version": health.version,
        "backends": [{"url": b.url, "reachable": b.reachable, "version": b.version} for b in health.backends],
        "members": [
            {"id": m.id, "model": m.model, "installed": m.installed, "loaded": m.loaded} for m in health.members
        ],
        "pending": health.pending,
        "in_flight": health.in_flight,
    }


def _vote(vote: Vote) -> Json:
    odds = vote.probabilities
    return {
        "member": vote.member.id,
        "model": vote.member.model,
        "role": vote.member.role,
        "vote": vote.label.value,
        "axes": attrs.asdict(vote.axes),
        "confidence": _rounded(vote.confidence),
        "strength": _rounded(vote.strength),
        "probabilities": odds and {label: round(odd, _ODDS_DIGITS) for label, odd in attrs.asdict(odds).items()},
        "rationale": vote.rationale,
        "latency_ms": round(vote.ended_ms - vote.began_ms),
        "failure": _failure(vote.failure),
    }


def _report(report: VerificationReport) -> Json:
    counted = report.consensus
    return {
        "loop_count": report.loop_count,
        "parked_reason": report.parked_reason and report.parked_reason.value,
        "quorum": report.quorum,
        "movement": [
            {"loop": move.loop, "member": move.member, "from": move.before.value, "to": move.after.value}
            for move in report.movement
        ],
        "challenge": report.challenge and _challenge(report.challenge),
        "consensus": {
            "valid": counted.valid,
            "plausible": counted.plausible,
            "uncertain": counted.uncertain,
            "confabulation": counted.confabulation,
            "spread": _rounded(counted.spread),
        },
        "lenses": [
            {
                "lens": lens.lens,
                "status": lens.status.value,
                "findings": [attrs.asdict(finding) for finding in lens.findings],
            }
            for lens in report.lenses
        ],
        "dissent": [
            {"member": d.member, "vote": d.vote.value, "rationale": d.rationale, "failure": _failure(d.failure)}
            for d in report.dissent
        ],
    }


def _challenge(challenge: Challenge) -> Json:
    return {
        "member": challenge.member.id,
        "refuted": challenge.refuted,
        "argument": challenge.argument,
        "quote": challenge.quote,
        "latency_ms": round(challenge.ended_ms - challenge.began_ms),
        "failure": _failure(challenge.failure),
    }


def _failure(failure: Failure | None) -> Json | None:
    return None if failure is None else {"kind": failure.kind.value, "message": failure.message}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)

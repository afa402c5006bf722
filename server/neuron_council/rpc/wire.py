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
    from neuron_council.ledger.ledger import Announcement, Entry, Page, Review, Shown
    from neuron_council.replay import Replay

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


def shown(shown: Shown) -> Json:
    """A stored verdict as it was answered, with what is beside it: `council/show` and `council/review`."""
    return {
        **verdict(shown.verdict),
        "context": shown.verdict.pack.context or None,
        "review": _review(shown.review),
        "supersedes": shown.supersedes,
        "superseded_by": shown.superseded_by,
        "waiting": shown.waiting and attrs.asdict(shown.waiting),
    }


def page(page: Page) -> Json:
    """The answer of `council/list`: a line for each verdict, without votes and report, and the counts if asked for."""
    counts = {} if page.counts is None else {"counts": attrs.asdict(page.counts)}
    return {"verdicts": [_entry(entry) for entry in page.entries], "next_cursor": page.next_cursor, **counts}


def replay(replay: Replay) -> Json:
    """The answer of `council/replay`; `reasons` says for each differing id what would be otherwise today."""
    return {
        "checked": replay.checked,
        "identical": replay.identical,
        "differing": [difference.id for difference in replay.differing],
        "reasons": {difference.id: list(difference.reasons) for difference in replay.differing},
    }


def reevaluated(announcement: Announcement) -> Json:
    """The notification `council/reevaluated`."""
    return {"supersedes": announcement.old, "verdict": verdict(announcement.verdict)}


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


def _entry(entry: Entry) -> Json:
    return {**attrs.asdict(entry), "review": _review(entry.review)}


def _review(review: Review | None) -> Json | None:
    return None if review is None else attrs.asdict(review)


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

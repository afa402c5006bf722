"""A verdict as a person reads it in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_council.cli.terminal import moment, one_line

if TYPE_CHECKING:
    from neuron_council.evidence.verdict import Verdict
    from neuron_council.ledger.ledger import Review, Shown


def render(verdict: Verdict) -> str:
    """What the council says, who said what, and what the checker found."""
    outcome = verdict.outcome
    lines = [
        outcome.summary,
        f"{outcome.status.value}, confidence {outcome.confidence:.2f}, {', '.join(outcome.tags)}; "
        f"{verdict.latency_ms / 1000:.1f} s",
        "",
    ]
    for vote in verdict.votes:
        said = vote.rationale if vote.failure is None else f"{vote.failure.kind.value}: {vote.failure.message}"
        lines.append(f"  {vote.member.id}: {vote.label.value}. {one_line(said)}")
    if (challenge := verdict.report.challenge) is not None:
        said = challenge.argument if challenge.failure is None else challenge.failure.message
        held = "refutes the claim" if challenge.refuted else "does not refute the claim"
        lines.append(f"  {challenge.member.id}, as contrarian, {held}. {one_line(said)}")
    for lens in verdict.report.lenses:
        lines += ["", f"{lens.lens}: {lens.status.value}"]
        lines += [f"  {'ok' if f.proven else 'NOT PROVEN'}  {f.oracle}: {one_line(f.evidence)}" for f in lens.findings]
    if verdict.warnings:
        lines += ["", *(f"warning: {one_line(warning)}" for warning in verdict.warnings)]
    return "\n".join(lines)


def render_shown(shown: Shown) -> str:
    """A stored verdict, with its claim, when it was given, and what is beside it."""
    pack = shown.verdict.pack
    head = [f"{shown.verdict.id}, {moment(shown.at)}", f"claim: {one_line(pack.claim)}"]
    if pack.has_context:
        head.append(f"context: {one_line(pack.context)}")
    if shown.supersedes:
        head.append(f"supersedes: {shown.supersedes}")
    if shown.review:
        head.append(render_review(shown.review))
    return "\n".join([*head, "", render(shown.verdict)])


def render_review(review: Review) -> str:
    """What a person decided, and when."""
    note = f": {one_line(review.note)}" if review.note else ""
    return f"{review.decision}ed by a person, {moment(review.at)}{note}"

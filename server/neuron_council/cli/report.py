"""A stored verdict as a person reads it in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_council.cli.terminal import moment, one_line
from neuron_council.rpc.report import render

if TYPE_CHECKING:
    from neuron_council.ledger.ledger import Review, Shown


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

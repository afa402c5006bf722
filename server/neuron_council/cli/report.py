"""A verdict as a person reads it in a terminal, with what is to be done about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_council.cli.terminal import columns, moment, shortened
from neuron_council.evidence.report import Status
from neuron_council.ledger.ledger import REVIEWABLE
from neuron_council.rpc.report import plain, render

if TYPE_CHECKING:
    from neuron_council.evidence.pack import ContextPack
    from neuron_council.evidence.verdict import Verdict
    from neuron_council.ledger.ledger import Review, Shown, Waiting

WIDTH = 100
"""Columns of a line that is shortened, where no terminal says how many it has."""


def render_answer(verdict: Verdict) -> str:
    """A verdict just given: its id, the beginning of what it was judged against, and the next step."""
    context = [shortened(line, columns() or WIDTH) for line in _context(verdict.pack)]
    return "\n".join([render(verdict), "", f"id: {verdict.id}", *context, *next_step(verdict)])


def render_shown(shown: Shown) -> str:
    """A stored verdict, with its claim and context whole, when it was given, what is beside it, and the next step."""
    pack = shown.verdict.pack
    head = [f"{shown.verdict.id}, {moment(shown.at)}", f"claim: {plain(pack.claim)}", *_context(pack)]
    if shown.supersedes:
        head.append(f"supersedes: {shown.supersedes}")
    if shown.superseded_by:
        head.append(f"superseded by: {shown.superseded_by}")
    if shown.review:
        head.append(render_review(shown.review))
    step = [] if shown.review or shown.superseded_by else next_step(shown.verdict, shown.waiting)
    return "\n".join([*head, "", render(shown.verdict), *(["", *step] if step else [])])


def render_review(review: Review) -> str:
    """What a person decided, and when."""
    note = f": {plain(review.note)}" if review.note else ""
    return f"{review.decision}ed by a person, {moment(review.at)}{note}"


def next_step(verdict: Verdict, waiting: Waiting | None = None) -> list[str]:
    """What a person may do about VERDICT, WAITING in the queue; nothing where nothing is left to do."""
    if REVIEWABLE & set(verdict.outcome.tags):
        return [f"to decide it: neuron-council review {verdict.id} accept|reject"]
    if verdict.outcome.status is Status.UNAVAILABLE:
        step = "a server judges it when its members can be asked; what they lack: neuron-council doctor"
        return [*_tries(verdict, waiting), step]
    return []


def _tries(verdict: Verdict, waiting: Waiting | None) -> list[str]:
    """How often WAITING was tried in vain, and how the next try comes sooner."""
    if waiting is None or not waiting.attempts:
        return []
    lines = [
        f"tried again in vain: {waiting.attempts}, the next time from {moment(waiting.due)} on; "
        f"at once: neuron-council reevaluate {verdict.id}"
    ]
    if waiting.dropped:
        lines.append(
            f"a backend was there and could not be reached then: {waiting.dropped}; "
            "if this claim ends it, its own log says why"
        )
    return lines


def _context(pack: ContextPack) -> list[str]:
    return [f"context: {plain(pack.context)}"] if pack.has_context else []

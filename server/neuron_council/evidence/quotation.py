"""Whether a challenge refutes: only a span that really stands in the context counts, and only until it is overruled."""

from __future__ import annotations

from neuron_council.evidence.consensus import consensus
from neuron_council.evidence.debate import Challenge, DebateResult
from neuron_council.evidence.text import fold

MIN_QUOTATION = 8
"""Characters of a folded quotation at least; a shorter one is in almost any context."""


def quotes_context(challenge: Challenge | None, folded_context: str) -> bool:
    """Whether CHALLENGE holds the claim refuted by a quotation that stands in the folded context."""
    if challenge is None or challenge.failure or not challenge.refuted:
        return False
    quotation = fold(challenge.quote)
    return len(quotation) >= MIN_QUOTATION and quotation in folded_context


def standing_quotation(debate: DebateResult, folded_context: str) -> tuple[int, str] | None:
    """The first loop (from 1) whose quotation against the claim no later unanimous loop has read, and the quotation.

    A loop reads the challenge of the loop before it; the same words quoted again were read with the first.
    """
    quotations = [
        fold(loop.challenge.quote) if loop.challenge and quotes_context(loop.challenge, folded_context) else None
        for loop in debate.loops
    ]
    overruled = {
        quotation
        for quotation, reader in zip(quotations, debate.loops[1:], strict=False)
        if quotation is not None and consensus(reader.votes).is_unanimous
    }
    for number, (quotation, loop) in enumerate(zip(quotations, debate.loops, strict=True), 1):
        if quotation is not None and loop.challenge is not None and quotation not in overruled:
            return number, loop.challenge.quote
    return None

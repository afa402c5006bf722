"""The faithfulness lens: the votes follow from evidence."""

from __future__ import annotations

import math

from neuron_council.checker.oracle import Ruling, VerifierEvidence, VerifierLens
from neuron_council.checker.wording import count, excerpt
from neuron_council.evidence.debate import Vote
from neuron_council.evidence.quotation import quotes_context, standing_quotation

FAITHFULNESS_CONFIDENCE_FLOOR = 0.5
"""Mean confidence, 0..1, of the majority's valid votes at least (seed: verifier-panel.ts)."""
FAITHFULNESS_STRENGTH_FLOOR = 3
"""Mean strength, 1..5, of the majority's valid votes at least (seed: verifier-panel.ts)."""


def evidence_present(evidence: VerifierEvidence) -> Ruling:
    """Proven when a valid vote with a rationale and a score exists."""
    bearing = [v for v in evidence.votes if v.is_valid and v.rationale and v.axes.mean is not None]
    if not bearing:
        return Ruling(False, f"{count(evidence.consensus.valid, 'valid vote')}, none with a rationale and a score.")
    return Ruling(True, f"{count(len(bearing), 'valid vote')} with a rationale and a score.")


def confidence_floor(evidence: VerifierEvidence) -> Ruling:
    """Proven when the mean confidence of the majority's valid votes reaches the floor."""
    stated = [vote.confidence for vote in _majority(evidence) if vote.confidence is not None]
    return _floor("confidence", stated, FAITHFULNESS_CONFIDENCE_FLOOR, evidence)


def strength_floor(evidence: VerifierEvidence) -> Ruling:
    """Proven when the mean strength of the majority's valid votes reaches the floor."""
    stated = [vote.strength for vote in _majority(evidence) if vote.strength is not None]
    return _floor("strength", stated, FAITHFULNESS_STRENGTH_FLOOR, evidence)


def claim_withstood(evidence: VerifierEvidence) -> Ruling:
    """Proven when no quotation of the context stands against the claim: none was made, or a later loop that read it
    voted plausible unanimously.
    """
    if standing := standing_quotation(evidence.debate, evidence.folded_context):
        number, quote = standing
        return Ruling(False, f"The challenge of loop {number} quotes the context against the claim: {excerpt(quote)}.")
    challenges = [loop.challenge for loop in evidence.debate.loops if loop.challenge]
    if any(quotes_context(challenge, evidence.folded_context) for challenge in challenges):
        return Ruling(True, "A later loop that read the quotation voted plausible unanimously.")
    if not challenges:
        return Ruling(True, "No challenge was made.")
    last = challenges[-1]
    if last.failure:
        return Ruling(True, f"The challenge failed: {last.failure.kind}.")
    if last.refuted:
        return Ruling(True, f"The challenge's quotation is not in the context: {excerpt(last.quote)}.")
    return Ruling(True, "The challenge conceded.")


def context_is_data(evidence: VerifierEvidence) -> Ruling:
    """Proven when the context holds no text that addresses the judges."""
    if not evidence.pack.has_context:
        return Ruling(True, "No context was given.")
    if found := evidence.context_address:
        return Ruling(False, f"The context addresses the judges ({found.kind}): {excerpt(found.span)}.")
    return Ruling(True, f"Nothing in {count(len(evidence.pack.context), 'character')} of context addresses the judges.")


def _majority(evidence: VerifierEvidence) -> list[Vote]:
    majority = evidence.consensus.majority
    return [vote for vote in evidence.votes if vote.is_valid and vote.label == majority]


def _floor(what: str, stated: list[float], floor: float, evidence: VerifierEvidence) -> Ruling:
    majority = evidence.consensus.majority
    if majority is None:
        return Ruling(False, f"No majority whose {what} could be measured.")
    if not stated:
        return Ruling(False, f"No valid {majority} vote states a {what}.")
    mean = round(math.fsum(stated) / len(stated), 9)
    votes = count(len(stated), f"{majority} vote")
    return Ruling(mean >= floor, f"Mean {what} {mean:.2f} of {votes}, {floor:.2f} needed.")


FAITHFULNESS = VerifierLens(
    "faithfulness",
    (
        ("evidence-present", evidence_present),
        ("confidence-floor", confidence_floor),
        ("strength-floor", strength_floor),
        ("claim-withstood", claim_withstood),
        ("context-is-data", context_is_data),
    ),
    frozenset({"evidence-present"}),
)

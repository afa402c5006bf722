"""The domain lens: the claim may stand in a memory."""

from __future__ import annotations

from neuron_council.checker.faithfulness import context_is_data
from neuron_council.checker.oracle import Ruling, VerifierEvidence, VerifierLens
from neuron_council.checker.wording import count, excerpt
from neuron_council.evidence.quotation import quotes_context


def claim_is_data(evidence: VerifierEvidence) -> Ruling:
    """Proven when the claim holds no text that addresses the judges."""
    if found := evidence.claim_address:
        return Ruling(False, f"The claim addresses the judges ({found.kind}): {excerpt(found.span)}.")
    return Ruling(True, f"Nothing in {count(len(evidence.pack.claim), 'character')} of claim addresses the judges.")


def figures_grounded(evidence: VerifierEvidence) -> Ruling:
    """Proven when the claim's numbers and dates agree with the context, where that has any of their kind."""
    return Ruling(evidence.figures.proven, evidence.figures.evidence)


def unrefuted(evidence: VerifierEvidence) -> Ruling:
    """Proven when no challenge of any loop quoted the context against the claim, overruled or not."""
    for number, loop in enumerate(evidence.debate.loops, 1):
        if loop.challenge and quotes_context(loop.challenge, evidence.folded_context):
            quote = excerpt(loop.challenge.quote)
            return Ruling(False, f"Loop {number} quoted the context against the claim: {quote}.")
    return Ruling(True, "No challenge quoted the context against the claim.")


DOMAIN = VerifierLens(
    "domain",
    (
        ("claim-is-data", claim_is_data),
        ("context-is-data", context_is_data),
        ("figures-grounded", figures_grounded),
        ("unrefuted", unrefuted),
    ),
    frozenset({"claim-is-data"}),
)

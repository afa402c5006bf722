"""The verifier panel: three lenses, a hard failure's veto, and the quorum that emission needs."""

from __future__ import annotations

from collections.abc import Sequence

from neuron_council.checker.coherence import COHERENCE
from neuron_council.checker.domain import DOMAIN
from neuron_council.checker.faithfulness import FAITHFULNESS
from neuron_council.checker.oracle import VerifierEvidence
from neuron_council.evidence.report import LensStatus, LensVerdict, Status

DEFAULT_PANEL_QUORUM = 2
"""Lenses, of three, that must verify (seed: verifier-panel.ts)."""

LENSES = (COHERENCE, FAITHFULNESS, DOMAIN)


def look(evidence: VerifierEvidence) -> tuple[LensVerdict, ...]:
    """What every lens sees, in the panel's order."""
    return tuple(lens.verdict(evidence) for lens in LENSES)


def decide(lenses: Sequence[LensVerdict]) -> Status:
    """`rejected` after a hard failure in any lens, `emitted` with a quorum of verified lenses, else `withheld`."""
    if any(lens.status is LensStatus.REJECTED for lens in lenses):
        return Status.REJECTED
    verified = sum(lens.status is LensStatus.VERIFIED for lens in lenses)
    return Status.EMITTED if verified >= DEFAULT_PANEL_QUORUM else Status.WITHHELD

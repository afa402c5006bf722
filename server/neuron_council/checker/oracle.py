"""What an oracle is: a pure function from evidence to one finding, hard or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from attrs import frozen

from neuron_council.checker.address import Address
from neuron_council.checker.figures import Comparison
from neuron_council.evidence.consensus import Consensus
from neuron_council.evidence.debate import DebateResult, Vote
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.report import Dissent, Finding, LensName, LensStatus, LensVerdict


@frozen
class VerifierEvidence:
    """All that an oracle may look at: the pack and the debate, and what was counted and read once from them."""

    pack: ContextPack
    debate: DebateResult
    votes: tuple[Vote, ...]
    consensus: Consensus
    dissent: tuple[Dissent, ...]
    folded_context: str
    claim_address: Address | None
    context_address: Address | None
    figures: Comparison


class Ruling(NamedTuple):
    """Whether an oracle is proven, and the figures or the span it decided on."""

    proven: bool
    evidence: str


ClaimOracle = Callable[[VerifierEvidence], Ruling]


@frozen
class VerifierLens:
    """A lens: its oracles by id, and the ids of the hard ones (seed: verifier-panel.ts)."""

    name: LensName
    oracles: tuple[tuple[str, ClaimOracle], ...]
    hard: frozenset[str]

    def verdict(self, evidence: VerifierEvidence) -> LensVerdict:
        """Every oracle's finding, and the lens's status.

        That is `rejected` if a hard oracle fails, `verified` if all are proven, else `unverified`.
        """
        findings = tuple(self._finding(oracle_id, oracle, evidence) for oracle_id, oracle in self.oracles)
        if any(finding.hard and not finding.proven for finding in findings):
            status = LensStatus.REJECTED
        elif all(finding.proven for finding in findings):
            status = LensStatus.VERIFIED
        else:
            status = LensStatus.UNVERIFIED
        return LensVerdict(self.name, status, findings)

    def _finding(self, oracle_id: str, oracle: ClaimOracle, evidence: VerifierEvidence) -> Finding:
        ruling = oracle(evidence)
        return Finding(oracle_id, oracle_id in self.hard, ruling.proven, ruling.evidence)

"""What the votes of a loop amount to: counts, majority, quorum and spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from neuron_council.evidence.ballot import Label

if TYPE_CHECKING:
    from neuron_council.evidence.debate import Vote
    from neuron_council.evidence.pack import ContextPack

MIN_VALID_AGENTS = 2
"""Valid votes that a decision needs (seed: consensus.ts)."""


@frozen
class Consensus:
    """Counts over all members (a failed one counts as `uncertain`) and of the valid ones.

    `spread` is the distance between the highest and the lowest mean score of the valid votes, 0..4.
    """

    members: int
    valid: int
    plausible: int
    uncertain: int
    confabulation: int
    spread: float

    @property
    def majority(self) -> Label | None:
        """The ballot of more than half of the members, or None."""
        counts = (
            (Label.PLAUSIBLE, self.plausible),
            (Label.UNCERTAIN, self.uncertain),
            (Label.CONFABULATION, self.confabulation),
        )
        return next((label for label, count in counts if 2 * count > self.members), None)

    @property
    def is_unanimous(self) -> bool:
        """Whether every member voted plausible."""
        return 0 < self.members == self.plausible

    @property
    def lets_in(self) -> bool:
        """Whether two thirds or more voted plausible, so that the claim would be let in."""
        return 0 < 2 * self.members <= 3 * self.plausible


def consensus(votes: Sequence[Vote]) -> Consensus:
    """The consensus of one loop's votes, whatever their order."""
    counts = Counter(vote.label for vote in votes)
    means = [mean for vote in votes if vote.is_valid and (mean := vote.axes.mean) is not None]
    return Consensus(
        members=len(votes),
        valid=sum(vote.is_valid for vote in votes),
        plausible=counts[Label.PLAUSIBLE],
        uncertain=counts[Label.UNCERTAIN],
        confabulation=counts[Label.CONFABULATION],
        # Thirds are no floats: without rounding, means exactly 2 apart could come out above 2.
        spread=round(max(means) - min(means), 9) if means else 0.0,
    )


def challenge_is_due(votes: Sequence[Vote], pack: ContextPack) -> bool:
    """Whether the contrarian is to challenge: the ballots would let the claim in, and the context can be quoted."""
    return pack.is_quotable and consensus(votes).lets_in

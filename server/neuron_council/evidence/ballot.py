"""What a member votes: a label, a confidence, a rationale and scores."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

MIN_SCORE = 1
MAX_SCORE = 5


class Label(StrEnum):
    """The three ballots. `uncertain` says that neither world knowledge nor the context decides."""

    PLAUSIBLE = "plausible"
    UNCERTAIN = "uncertain"
    CONFABULATION = "confabulation"


@frozen
class Axes:
    """Scores of 1..5 on the three axes, null where one was dropped or, for `grounded`, where no context was given."""

    coherent: int | None = None
    factual: int | None = None
    grounded: int | None = None

    @property
    def mean(self) -> float | None:
        """The mean of the scores that stand, 1..5, or None."""
        scores = [score for score in (self.coherent, self.factual, self.grounded) if score is not None]
        return sum(scores) / len(scores) if scores else None


@frozen
class Probabilities:
    """The distribution of the ballot's token over the three labels; the sum is 1."""

    plausible: float
    uncertain: float
    confabulation: float


@frozen
class Ballot:
    """One well-formed ballot; `confidence` is 0..1, or None where the model's was out of range."""

    label: Label
    confidence: float | None
    rationale: str
    axes: Axes


@frozen
class Rebuttal:
    """The contrarian's well-formed answer.

    Its argument, the span of the context that it quotes, and whether it holds the claim refuted.
    """

    argument: str
    quote: str
    refuted: bool

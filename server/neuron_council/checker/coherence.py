"""The coherence lens: the decision follows from its votes."""

from __future__ import annotations

from neuron_council.checker.oracle import Ruling, VerifierEvidence, VerifierLens
from neuron_council.checker.wording import count, listed
from neuron_council.evidence.ballot import MAX_SCORE
from neuron_council.evidence.consensus import MIN_VALID_AGENTS, challenge_is_due

SPREAD_CEILING = 2.0
"""Distance between the highest and the lowest mean score of the valid votes, 0..4, up to which they agree (DESIGN)."""
MIN_STRENGTH = 2
"""Strength, 1..5, below which a vote denies its own scores (DESIGN)."""


def contrarian_last(evidence: VerifierEvidence) -> Ruling:
    """Proven when every challenge that ran began after every ballot of its loop had ended."""
    heard = 0
    for number, loop in enumerate(evidence.debate.loops, 1):
        if loop.challenge is None:
            continue
        heard += 1
        last = max((vote.ended_ms for vote in loop.votes), default=0.0)
        if loop.challenge.began_ms < last:
            return Ruling(
                False,
                f"The challenge of loop {number} began at {loop.challenge.began_ms:.0f} ms, "
                f"before the last ballot ended at {last:.0f} ms.",
            )
    return Ruling(True, f"{count(heard, 'challenge')} began after every ballot." if heard else "No challenge ran.")


def contrarian_heard(evidence: VerifierEvidence) -> Ruling:
    """Proven when the challenge of record is valid, or none was due."""
    challenge = evidence.debate.challenge
    if challenge is not None and challenge.failure is None:
        return Ruling(True, f"{challenge.member.id} {'refuted' if challenge.refuted else 'conceded'}.")
    if challenge is not None and challenge.failure is not None:
        return Ruling(False, f"The challenge by {challenge.member.id} failed: {challenge.failure.kind}.")
    if evidence.debate.loops and challenge_is_due(evidence.votes, evidence.pack):
        return Ruling(False, "A challenge was due and none is on record.")
    return Ruling(True, "No challenge was due.")


def quorum_met(evidence: VerifierEvidence) -> Ruling:
    """Proven when at least MIN_VALID_AGENTS votes are valid."""
    valid = evidence.consensus.valid
    return Ruling(
        valid >= MIN_VALID_AGENTS, f"{valid} of {evidence.consensus.members} votes valid, {MIN_VALID_AGENTS} needed."
    )


def majority_clear(evidence: VerifierEvidence) -> Ruling:
    """Proven when one ballot has more than half of all members."""
    tally = evidence.consensus
    counts = f"{tally.plausible} plausible, {tally.uncertain} uncertain, {tally.confabulation} confabulation"
    if tally.majority is None:
        return Ruling(False, f"No ballot has more than half: {counts}.")
    return Ruling(True, f"{tally.majority} has more than half: {counts}.")


def spread_bounded(evidence: VerifierEvidence) -> Ruling:
    """Proven when the mean scores of the valid votes lie within SPREAD_CEILING of each other."""
    spread = evidence.consensus.spread
    return Ruling(spread <= SPREAD_CEILING, f"Mean scores spread over {spread:.2f}, {SPREAD_CEILING:.2f} allowed.")


def ballots_match_scores(evidence: VerifierEvidence) -> Ruling:
    """Proven when every valid vote has a strength of at least MIN_STRENGTH."""
    strengths = [(vote.member.id, vote.strength) for vote in evidence.votes if vote.is_valid]
    weak = [name for name, strength in strengths if strength is None or strength < MIN_STRENGTH]
    stated = listed(
        f"{name} {'without a score' if strength is None else f'{strength:.2f} of {MAX_SCORE}'}"
        for name, strength in strengths
    )
    if weak:
        return Ruling(False, f"Strength below {MIN_STRENGTH} or missing for {listed(weak)}: {stated}.")
    return Ruling(True, f"Strength {stated}." if strengths else "No valid vote to compare.")


def dissent_recorded(evidence: VerifierEvidence) -> Ruling:
    """Proven when every vote against the majority (all, where there is none) is kept with its rationale or failure."""
    majority = evidence.consensus.majority
    against = [vote.member.id for vote in evidence.votes if majority is None or vote.label != majority]
    kept = {entry.member for entry in evidence.dissent if entry.rationale or entry.failure}
    if silent := [name for name in against if name not in kept]:
        return Ruling(False, f"Dissent without a rationale or a failure: {listed(silent)}.")
    return Ruling(True, f"Dissent of {listed(against)} is kept." if against else "No dissent.")


COHERENCE = VerifierLens(
    "coherence",
    (
        ("contrarian-last", contrarian_last),
        ("contrarian-heard", contrarian_heard),
        ("quorum-met", quorum_met),
        ("majority-clear", majority_clear),
        ("spread-bounded", spread_bounded),
        ("ballots-match-scores", ballots_match_scores),
        ("dissent-recorded", dissent_recorded),
    ),
    frozenset({"contrarian-last"}),
)

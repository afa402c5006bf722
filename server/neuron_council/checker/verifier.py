"""The verifier: a pure function of evidence. Read-only by construction, for no adapter can be passed in."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from attrs import frozen

from neuron_council.checker import panel
from neuron_council.checker.address import Address, addressed
from neuron_council.checker.figures import Comparison, compare_figures
from neuron_council.checker.oracle import VerifierEvidence
from neuron_council.evidence.consensus import MIN_VALID_AGENTS, consensus
from neuron_council.evidence.debate import Challenge, DebateResult, Loop, ParkedReason
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.report import Dissent, Move, Status, VerificationReport
from neuron_council.evidence.text import fold

MAX_LOOPS = 3
"""Loops of a debate at most; after that a person decides (seed: verifier.ts)."""


@frozen
class _Reading:
    """What the oracles read in a pack, whatever the debate on it shows."""

    folded_context: str
    claim_address: Address | None
    context_address: Address | None
    figures: Comparison


@lru_cache(maxsize=8)
def _read(pack: ContextPack) -> _Reading:
    """Read PACK; the same in every loop, so once will do."""
    return _Reading(
        folded_context=fold(pack.context),
        claim_address=addressed(pack.claim, strict=True),
        context_address=addressed(pack.context, strict=False),
        figures=compare_figures(pack.claim, pack.context),
    )


def admits(pack: ContextPack) -> bool:
    """Whether the claim may be put before the members at all: it does not address them (`claim-is-data`)."""
    return _read(pack).claim_address is None


def verify(debate: DebateResult, pack: ContextPack) -> VerificationReport:
    """Check what DEBATE showed about the claim of PACK.

    The report's status is `withheld` while another loop may settle the matter, and `parked` with a reason when none
    may. Never raises for what a maker can build; the order of votes within a loop changes nothing.
    """
    votes = debate.votes
    tally = consensus(votes)
    read = _read(pack)
    dissent = tuple(
        Dissent(vote.member.id, vote.label, vote.rationale, vote.failure)
        for vote in votes
        if tally.majority is None or vote.label != tally.majority
    )
    evidence = VerifierEvidence(
        pack=pack,
        debate=debate,
        votes=votes,
        consensus=tally,
        dissent=dissent,
        folded_context=read.folded_context,
        claim_address=read.claim_address,
        context_address=read.context_address,
        figures=read.figures,
    )
    lenses = panel.look(evidence)
    # The screening comes before the question whether anybody could be asked: no attack is let in for want of judges.
    is_screened_out = evidence.claim_address is not None
    is_unavailable = not is_screened_out and nobody_could_be_asked(debate)
    status = Status.UNAVAILABLE if is_unavailable else panel.decide(lenses)
    reason = parked_reason(debate) if status is Status.WITHHELD else None
    return VerificationReport(
        status=Status.PARKED if reason else status,
        loop_count=len(debate.loops),
        parked_reason=reason,
        quorum=panel.DEFAULT_PANEL_QUORUM,
        movement=movement(debate),
        challenge=debate.challenge,
        consensus=tally,
        lenses=lenses,
        dissent=dissent,
    )


def nobody_could_be_asked(debate: DebateResult) -> bool:
    """Whether the debate was held and no question of it reached a model, in whatever loop."""
    return bool(debate.loops) and not any(vote.was_askable for loop in debate.loops for vote in loop.votes)


def parked_reason(debate: DebateResult) -> ParkedReason | None:
    """Why a withheld claim is debated no further; None where another loop may settle it."""
    if debate.cut:
        return ParkedReason.DEADLINE
    if debate.lost or sum(vote.was_askable for vote in debate.votes) < MIN_VALID_AGENTS:
        return ParkedReason.NO_QUORUM
    if len(debate.loops) > 1 and _position(debate.loops[-1]) == _position(debate.loops[-2]):
        return ParkedReason.NO_MOVEMENT
    return ParkedReason.LOOPS if len(debate.loops) >= min(debate.max_loops, MAX_LOOPS) else None


def movement(debate: DebateResult) -> tuple[Move, ...]:
    """Who changed a ballot from one loop to the next, in board order."""
    moves = []
    for number, (earlier, later) in enumerate(pairwise(debate.loops), 2):
        before = {vote.member: vote.label for vote in earlier.votes}
        after = {vote.member: vote.label for vote in later.votes}
        moves += [
            Move(number, member.id, before[member], after[member])
            for member in debate.members
            if member in before and member in after and before[member] != after[member]
        ]
    return tuple(moves)


def _position(loop: Loop) -> tuple[object, ...]:
    """What must differ for a loop to have moved: the ballots and the challenge, not their wording."""
    ballots = frozenset((vote.member, vote.label) for vote in loop.votes)
    return ballots, _stance(loop.challenge)


def _stance(challenge: Challenge | None) -> tuple[object, ...] | None:
    if challenge is None:
        return None
    return challenge.refuted, fold(challenge.quote), challenge.failure and challenge.failure.kind

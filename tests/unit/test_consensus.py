"""What votes amount to: counts, majority, quorum, two thirds, spread, and when a challenge is due."""

import itertools
from fractions import Fraction

import pytest
from builders import BOARD, CLAIM, CONTEXT, ballots, board, failed, vote

from neuron_council.evidence.ballot import Axes, Label
from neuron_council.evidence.consensus import MIN_VALID_AGENTS, Consensus, challenge_is_due, consensus
from neuron_council.evidence.debate import Vote
from neuron_council.evidence.failure import UNASKABLE, Failure, FailureKind
from neuron_council.evidence.pack import ContextPack


def test_the_constant():
    assert MIN_VALID_AGENTS == 2


def test_counts():
    assert consensus(ballots("puc")) == Consensus(
        members=3, valid=3, plausible=1, uncertain=1, confabulation=1, spread=4.0
    )


def test_no_votes():
    tally = consensus(())
    assert (tally.members, tally.valid, tally.spread, tally.majority) == (0, 0, 0.0, None)
    assert not tally.is_unanimous
    assert not tally.lets_in


@pytest.mark.parametrize("kind", list(FailureKind))
def test_a_failed_member_counts_as_uncertain_and_is_not_valid(kind):
    votes = (*ballots("pp", BOARD[:2]), failed(BOARD[2], kind))
    tally = consensus(votes)
    assert (tally.valid, tally.plausible, tally.uncertain, tally.confabulation) == (2, 2, 1, 0)
    assert votes[2].strength is None
    assert votes[2].was_askable == (kind not in UNASKABLE)


def test_the_kinds_after_which_asking_again_is_vain():
    assert {str(kind) for kind in UNASKABLE} == {
        "model-not-found",
        "not-loaded",
        "unauthorized",
        "unreachable",
        "context-overflow",
    }


def test_the_failure_kinds_are_those_of_the_wire():
    assert {str(kind) for kind in FailureKind} == {
        "timeout",
        "unreachable",
        "model-not-found",
        "not-loaded",
        "busy",
        "http-error",
        "malformed",
        "unparsable",
        "too-large",
        "context-overflow",
        "unauthorized",
        "not-asked",
    }


@pytest.mark.parametrize(
    ("letters", "majority"),
    [
        ("ppp", Label.PLAUSIBLE),
        ("ppu", Label.PLAUSIBLE),
        ("ucu", Label.UNCERTAIN),
        ("ccp", Label.CONFABULATION),
        ("puc", None),
        ("ppcc", None),
        ("ppuc", None),
        ("pppc", Label.PLAUSIBLE),
        ("ppuuc", None),
        ("pppuc", Label.PLAUSIBLE),
        ("cccppp", None),
        ("ccccpp", Label.CONFABULATION),
    ],
)
def test_the_majority_is_more_than_half_of_all_members(letters, majority):
    assert consensus(ballots(letters)).majority == majority


def test_a_majority_is_of_the_members_and_not_of_the_valid_votes():
    a, b, c, d = board(4)
    votes = (vote(a, "p"), vote(b, "p"), failed(c), failed(d))
    assert consensus(votes).majority is None


@pytest.mark.parametrize(
    ("letters", "lets_in", "is_unanimous"),
    [
        ("ppp", True, True),
        ("ppc", True, False),
        ("pcc", False, False),
        ("ppcc", False, False),
        ("pppc", True, False),
        ("pppcc", False, False),
        ("ppppc", True, False),
        ("ppppcc", True, False),
        ("pppccc", False, False),
        ("pppppcc", True, False),
        ("ppppccc", False, False),
        ("uuu", False, False),
    ],
)
def test_two_thirds_is_not_a_half(letters, lets_in, is_unanimous):
    tally = consensus(ballots(letters))
    assert tally.lets_in == lets_in
    assert tally.is_unanimous == is_unanimous


def test_all_means_all_members_and_not_all_valid_votes():
    votes = (*ballots("pp", BOARD[:2]), failed(BOARD[2]))
    tally = consensus(votes)
    assert tally.lets_in
    assert not tally.is_unanimous


@pytest.mark.parametrize(
    ("axes", "spread"),
    [
        ((Axes(5, 5, 5), Axes(5, 5, 5), Axes(5, 5, 5)), 0),
        ((Axes(5, 5, 5), Axes(3, 3, 3), Axes(1, 1, 1)), 4),
        ((Axes(5, 3, None), Axes(4, None, None), Axes(4, 4, 4)), 0),
        ((Axes(5, 5, None), Axes(4, 4, None), Axes(2, 2, None)), 3),
        ((Axes(), Axes(1, 1, 1), Axes(2, 2, 2)), 1),
        ((Axes(), Axes(), Axes(5, 5, 5)), 0),
        ((Axes(), Axes(), Axes()), 0),
    ],
)
def test_spread_is_the_distance_of_the_mean_scores(axes, spread):
    votes = [Vote(member, Label.PLAUSIBLE, given) for member, given in zip(BOARD, axes, strict=True)]
    assert consensus(votes).spread == pytest.approx(spread)


def test_a_failed_vote_has_no_part_in_the_spread():
    stray = Vote(BOARD[2], Label.UNCERTAIN, Axes(1, 1, 1), failure=Failure(FailureKind.TIMEOUT, "late"))
    assert consensus((*ballots("pp", BOARD[:2]), stray)).spread == 0
    assert stray.strength is None


def test_the_spread_is_on_the_right_side_of_the_ceiling():
    """Means of thirds that lie exactly two apart must not miss the ceiling by a rounding error."""
    scores = [stated for size in (1, 2, 3) for stated in itertools.combinations_with_replacement(range(1, 6), size)]
    for one, other in itertools.combinations_with_replacement(scores, 2):
        exact = abs(Fraction(sum(one), len(one)) - Fraction(sum(other), len(other)))
        votes = [
            Vote(member, Label.PLAUSIBLE, Axes(*given)) for member, given in zip(BOARD, (one, other), strict=False)
        ]
        assert (consensus(votes).spread <= 2) == (exact <= 2), (one, other)


@pytest.mark.parametrize(
    ("letters", "context", "due"),
    [
        ("ppp", CONTEXT, True),
        ("ppc", CONTEXT, True),
        ("ppu", CONTEXT, True),
        ("pcc", CONTEXT, False),
        ("ppcc", CONTEXT, False),
        ("pppc", CONTEXT, True),
        ("ppp", "", False),
        ("ppp", "x" * 23, False),
        ("ppp", "x" * 24, True),
    ],
)
def test_a_challenge_is_due_when_the_claim_would_get_in_and_something_can_be_quoted(letters, context, due):
    assert challenge_is_due(ballots(letters), ContextPack(CLAIM, context)) == due

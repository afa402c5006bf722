"""The outcome table, row by row, and that the checker can only lower it."""

import itertools

import pytest
from attrs import evolve
from builders import BARE, BOARD, CLAIM, ORDER, PACK, QUOTE, ballots, board, challenge, debate, failed, loop, vote

from neuron_council.checker.outcome import outcome
from neuron_council.checker.verifier import verify
from neuron_council.evidence.ballot import Axes, Label
from neuron_council.evidence.debate import DebateResult, Loop
from neuron_council.evidence.failure import UNASKABLE, FailureKind
from neuron_council.evidence.pack import ContextPack

VERIFIED = (0.85, ["verified"], "emitted", "T3")
SPLIT = (0.65, ["council-split"], "emitted", "T3")
DOUBTED = (0.65, ["council-doubted", "council-split"], "emitted", "T3")
FLAGGED = (0.30, ["council-flagged", "unverified"], "emitted", "T3")
REJECTED = (0.30, ["council-flagged", "unverified"], "rejected", None)
PARKED_FROM_ALL = (0.65, ["council-parked", "council-split"], "parked", "T4")
PARKED = (0.30, ["council-flagged", "council-parked", "unverified"], "parked", "T4")
UNAVAILABLE = (0.50, ["council-unavailable"], "unavailable", None)


def decided(*loops, pack=BARE, **fields):
    held = debate(*loops, **fields)
    return outcome(held, verify(held, pack))


def row(*loops, pack=BARE, **fields):
    """Confidence, tags, status and tier."""
    found = decided(*loops, pack=pack, **fields)
    assert len(set(found.tags)) == len(found.tags)
    return found.confidence, sorted(found.tags), str(found.status), found.tier


def away(kind, size=3):
    return Loop(tuple(failed(member, kind) for member in (BOARD if size == 3 else board(size))))


# --- rows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("ppp", VERIFIED),
        ("pppp", VERIFIED),
        ("ppppp", VERIFIED),
        ("ppc", SPLIT),
        ("cpp", SPLIT),
        ("ppu", SPLIT),
        ("pppc", SPLIT),
        ("ppppc", SPLIT),
        ("ppppcc", SPLIT),
        ("pppcc", FLAGGED),
        ("pcc", FLAGGED),
        ("puu", FLAGGED),
        ("ccc", FLAGGED),
        ("uuu", FLAGGED),
        ("ccp", FLAGGED),
    ],
)
def test_the_rows_of_the_votes(letters, expected):
    assert row(letters) == expected


@pytest.mark.parametrize("letters", sorted({"".join(sorted(some)) for some in itertools.product("puc", repeat=4)}))
def test_four_members(letters):
    """With four members two plausible votes are a half and not two thirds."""
    plausible = letters.count("p")
    found = decided(letters, max_loops=1)
    if found.status == "emitted":
        assert found.confidence == {4: 0.85, 3: 0.65}.get(plausible, 0.30)
    else:
        assert found.status == "parked"
        assert found.confidence == 0.30
    assert found.summary.startswith(f"{plausible}/4 council members agree this is plausible.")


def test_a_member_that_failed_is_a_vote_less():
    assert row(Loop((*ballots("pp", BOARD[:2]), failed(BOARD[2])))) == SPLIT
    assert row(Loop((*ballots("pp", BOARD[:2]), failed(BOARD[2], FailureKind.UNREACHABLE)))) == SPLIT


def test_three_timeouts_are_flagged():
    found = decided(away(FailureKind.TIMEOUT))
    assert row(away(FailureKind.TIMEOUT)) == REJECTED
    assert found.summary.startswith("0/3 council members agree this is plausible.")
    assert "evidence-present" in found.summary


@pytest.mark.parametrize("kind", sorted(UNASKABLE))
@pytest.mark.parametrize("size", [3, 4])
def test_where_no_member_could_be_asked(kind, size):
    assert row(away(kind, size)) == UNAVAILABLE
    found = decided(away(kind, size))
    assert found.summary.startswith("Council unavailable: ")
    assert kind in found.summary


def test_the_reasons_of_unavailability_are_said_once_each():
    reason = failed(BOARD[0], FailureKind.UNREACHABLE).failure
    same = tuple(evolve(vote, failure=reason) for vote in away(FailureKind.UNREACHABLE).votes)
    assert decided(Loop(same)).summary == "Council unavailable: neuron: unreachable."


# --- the checker can only lower -----------------------------------------------------------------------------------


def doubts():
    """Debates of three plausible votes in which one lens fails, and the oracle that fails."""
    late = challenge(kind=FailureKind.TIMEOUT)
    yield "contrarian-heard", [loop("ppp", late)], PACK
    yield "spread-bounded", [Loop((*ballots("pp", BOARD[:2]), vote(BOARD[2], "p", axes=Axes(2, 2, 2))))], BARE
    yield "ballots-match-scores", [Loop((*ballots("pp", BOARD[:2]), vote(BOARD[2], "p", axes=Axes())))], BARE
    yield "confidence-floor", [loop("ppp", confidence=0.4)], BARE
    yield "strength-floor", [loop("ppp", score=2)], BARE
    yield "unrefuted", [loop("ppp", challenge(QUOTE)), loop("ppp", challenge())], PACK
    figures = ContextPack("The bridge opened in 1911.", "It opened in 1937.")
    yield "figures-grounded", ["ppp"], figures


DOUBTS = list(doubts())


@pytest.mark.parametrize(("oracle", "loops", "pack"), DOUBTS, ids=[oracle for oracle, _, _ in DOUBTS])
def test_all_plausible_with_the_quorum_alone_is_doubted(oracle, loops, pack):
    assert row(*loops, pack=pack) == DOUBTED
    held = debate(*loops)
    report = verify(held, pack)
    unproven = [found for found in report.findings if not found.proven]
    first, second = outcome(held, report).summary.split(" plausible. ", 1)
    assert first == "3/3 council members agree this is"
    assert oracle in second
    assert next(found.evidence for found in unproven if found.oracle == oracle) in second


def test_a_doubt_lowers_no_row_but_the_first():
    assert row(loop("ppc", score=5)) == SPLIT
    assert decided("ppc").summary == "2/3 council members agree this is plausible."


def test_a_clear_verdict_says_no_more_than_its_votes():
    assert decided("ppp").summary == "3/3 council members agree this is plausible."
    assert decided("ccc").summary == "0/3 council members agree this is plausible."


@pytest.mark.parametrize("letters", ["ppp", "ppc", "pcc"])
def test_rejected_takes_the_lowest_row(letters):
    assert row(letters, pack=ContextPack(ORDER)) == REJECTED
    early = loop(letters, challenge(began_ms=0.0))
    assert row(early, pack=PACK) == REJECTED
    assert "contrarian-last" in decided(early, pack=PACK).summary
    assert decided(early, pack=PACK).summary.startswith(f"{letters.count('p')}/3 council members agree")


def test_a_claim_that_was_screened_out():
    held = DebateResult(BOARD)
    found = outcome(held, verify(held, ContextPack(ORDER)))
    assert (found.confidence, sorted(found.tags), found.status, found.tier) == REJECTED
    assert found.summary.startswith("0/3 council members agree this is plausible.")
    assert "claim-is-data" in found.summary


def test_parked_goes_one_row_down_from_its_votes_row():
    assert row(loop("ppp", score=1), max_loops=1) == PARKED_FROM_ALL
    assert row("ppp", pack=ContextPack(CLAIM, ORDER), max_loops=1) == PARKED_FROM_ALL
    assert row(loop("ppc", challenge(QUOTE)), pack=PACK, max_loops=1) == PARKED
    assert row("puc", max_loops=1) == PARKED
    assert row("ppcc", max_loops=1) == PARKED


def test_parked_disregards_the_lenses():
    """Unanimous and refuted: one row down from `all`, not from the row that a doubt would leave."""
    refuted = loop("ppp", challenge(QUOTE), score=1)
    assert row(refuted, pack=PACK, max_loops=1) == PARKED_FROM_ALL


@pytest.mark.parametrize(
    ("loops", "fields", "reason"),
    [
        (["puc"], {"max_loops": 1}, "loops"),
        (["puc"], {"cut": True}, "deadline"),
        (["puc", "puc"], {}, "no-movement"),
        (["puc"], {"lost": True}, "no-quorum"),
    ],
)
def test_every_reason_parks(loops, fields, reason):
    held = debate(*loops, **fields)
    report = verify(held, BARE)
    assert report.parked_reason == reason
    found = outcome(held, report)
    assert (found.confidence, sorted(found.tags), found.status, found.tier) == PARKED
    assert found.summary.startswith("1/3 council members agree this is plausible.")
    assert reason in found.summary
    assert "majority-clear" in found.summary


def test_the_votes_of_record_give_the_row():
    assert row("puc", "ppp") == VERIFIED
    assert row("ppc", "pcc") == FLAGGED


# --- majority -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("letters", "majority"),
    [
        ("ppp", Label.PLAUSIBLE),
        ("ppc", Label.PLAUSIBLE),
        ("pcc", Label.CONFABULATION),
        ("uuu", Label.UNCERTAIN),
        ("ccc", Label.CONFABULATION),
        ("puc", None),
        ("ppcc", None),
    ],
)
def test_the_majority_tells_what_a_row_does_not(letters, majority):
    assert decided(letters).majority is majority

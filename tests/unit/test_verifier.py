"""The verifier: screening, status, loops, what parks a claim, movement, dissent."""

import inspect
from typing import get_type_hints

import pytest
from attrs import evolve
from builders import (
    BARE,
    BOARD,
    CLAIM,
    CONTEXT,
    LABELS,
    ORDER,
    PACK,
    QUOTE,
    ballots,
    board,
    challenge,
    debate,
    failed,
    finding,
    loop,
    vote,
)

from neuron_council.checker import verifier
from neuron_council.checker.verifier import MAX_LOOPS, admits, nobody_could_be_asked, verify
from neuron_council.evidence.ballot import Label
from neuron_council.evidence.consensus import Consensus
from neuron_council.evidence.debate import DebateResult, Loop, ParkedReason
from neuron_council.evidence.failure import UNASKABLE, FailureKind
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.report import Move, Status, VerificationReport

P, U, C = LABELS["p"], LABELS["u"], LABELS["c"]
ATTACK = ContextPack(ORDER)
TIES = ("puc", "cpu", "ucp")
"""Ballots without a majority that change from loop to loop."""


def status(*loops, pack=BARE, **fields):
    """Status and reason of a debate of these loops."""
    report = verify(debate(*loops, **fields), pack)
    return report.status, report.parked_reason


def parked(reason):
    return Status.PARKED, reason


def out(*kinds):
    """A loop in which members failed so, None standing for a plausible vote."""
    members = BOARD if len(kinds) == 3 else board(len(kinds))
    return Loop(
        tuple(failed(member, kind) if kind else vote(member, "p") for member, kind in zip(members, kinds, strict=True))
    )


# --- signature ----------------------------------------------------------------------------------------------------


def test_no_adapter_can_be_passed_in():
    parameters = inspect.signature(verify).parameters
    assert list(parameters) == ["debate", "pack"]
    assert all(one.default is inspect.Parameter.empty for one in parameters.values())
    assert get_type_hints(verify) == {"debate": DebateResult, "pack": ContextPack, "return": VerificationReport}
    assert not inspect.iscoroutinefunction(verify)


# --- screening ----------------------------------------------------------------------------------------------------


def test_screening_looks_at_the_claim_alone():
    assert not admits(ATTACK)
    assert admits(PACK)
    assert admits(ContextPack(CLAIM, ORDER))


def test_a_claim_that_was_screened_out():
    held = DebateResult(BOARD)
    report = verify(held, ATTACK)
    assert (report.status, report.parked_reason, report.loop_count) == (Status.REJECTED, None, 0)
    assert [(v.member, v.label, v.failure.kind) for v in held.votes] == [
        (member, Label.UNCERTAIN, FailureKind.NOT_ASKED) for member in BOARD
    ]
    assert not finding(report, "claim-is-data").proven
    assert (report.challenge, report.movement) == (None, ())
    assert report.consensus == Consensus(members=3, valid=0, plausible=0, uncertain=3, confabulation=0, spread=0.0)


def test_an_attack_is_rejected_whoever_votes_for_it():
    assert status("ppp", pack=ATTACK) == (Status.REJECTED, None)
    assert status("ppp", "ppp", pack=ATTACK, cut=True) == (Status.REJECTED, None)


def test_the_screening_comes_before_the_question_who_could_be_asked():
    away = out(*[FailureKind.UNREACHABLE] * 3)
    assert status(away) == (Status.UNAVAILABLE, None)
    assert status(away, pack=ATTACK) == (Status.REJECTED, None)


# --- status -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("letters", ["ppp", "ppc", "ppu", "pcc", "ccc", "uuu", "uuc", "pppc", "pppp"])
def test_a_clear_debate_is_emitted(letters):
    assert status(letters) == (Status.EMITTED, None)


@pytest.mark.parametrize("letters", ["puc", "ppcc", "ppuu", "ppuuc"])
def test_a_tie_is_withheld_while_another_loop_may_settle_it(letters):
    assert status(letters) == (Status.WITHHELD, None)


def test_what_fails_in_two_lenses_withholds():
    assert status("ppp", pack=ContextPack(CLAIM, ORDER))[0] is not Status.EMITTED
    assert status(loop("ppp", score=1)) == (Status.WITHHELD, None)
    assert status(loop("ppc", challenge(QUOTE)), pack=PACK) == (Status.WITHHELD, None)
    assert status(loop("ppp", challenge(QUOTE)), pack=PACK) == (Status.WITHHELD, None)


def test_what_fails_in_one_lens_is_emitted():
    assert status(loop("ppp", score=2)) == (Status.EMITTED, None)
    assert status(loop("ppp", confidence=0.2)) == (Status.EMITTED, None)
    assert status(loop("ppp", challenge(kind=FailureKind.BUSY)), pack=PACK) == (Status.EMITTED, None)
    assert status(loop("ppp", challenge(QUOTE)), loop("ppp", challenge()), pack=PACK) == (Status.EMITTED, None)


@pytest.mark.parametrize("kind", sorted(UNASKABLE))
def test_where_no_member_could_be_asked_the_council_is_unavailable(kind):
    report = verify(debate(out(kind, kind, kind)), BARE)
    assert (report.status, report.parked_reason, report.loop_count) == (Status.UNAVAILABLE, None, 1)


def test_members_may_be_away_for_different_reasons():
    kinds = sorted(UNASKABLE)
    assert status(out(*kinds)) == (Status.UNAVAILABLE, None)
    assert status(out(*kinds[:3]), cut=True) == (Status.UNAVAILABLE, None)


@pytest.mark.parametrize("kind", sorted(set(FailureKind) - UNASKABLE - {FailureKind.NOT_ASKED}))
def test_a_member_that_failed_otherwise_was_asked(kind):
    """A member that timed out was asked: nothing came of it, and the claim is rejected for want of evidence."""
    assert status(out(kind, kind, kind)) == (Status.REJECTED, None)
    assert status(out(kind, FailureKind.UNREACHABLE, FailureKind.UNREACHABLE)) == (Status.REJECTED, None)
    assert not nobody_could_be_asked(debate(out(kind, FailureKind.UNREACHABLE, FailureKind.UNREACHABLE)))


def test_one_member_that_voted_could_be_asked():
    for seat in range(3):
        kinds = [FailureKind.UNREACHABLE] * 3
        kinds[seat] = None
        assert status(out(*kinds)) == parked(ParkedReason.NO_QUORUM)


def test_a_council_that_was_asked_in_an_earlier_loop_was_available():
    assert not nobody_could_be_asked(debate("puc", out(*[FailureKind.UNREACHABLE] * 3)))
    assert not nobody_could_be_asked(debate())


# --- loops and parking --------------------------------------------------------------------------------------------


def test_the_constant():
    assert MAX_LOOPS == 3


@pytest.mark.parametrize("max_loops", [1, 2, 3])
def test_a_debate_that_moves_ends_after_its_loops(max_loops):
    for loops in range(1, max_loops):
        assert status(*TIES[:loops], max_loops=max_loops) == (Status.WITHHELD, None)
    assert status(*TIES[:max_loops], max_loops=max_loops) == parked(ParkedReason.LOOPS)


def test_no_configuration_allows_more_than_three():
    assert status(*TIES, max_loops=7) == parked(ParkedReason.LOOPS)


def test_the_loops_are_counted():
    for loops in range(1, 4):
        assert verify(debate(*TIES[:loops]), BARE).loop_count == loops


def test_the_deadline_parks_what_is_withheld():
    assert status("puc", cut=True) == parked(ParkedReason.DEADLINE)
    assert status("puc", "cpu", cut=True) == parked(ParkedReason.DEADLINE)


def test_the_deadline_changes_nothing_for_what_is_decided():
    assert status("ppp", cut=True) == (Status.EMITTED, None)
    assert status(out(*[FailureKind.TIMEOUT] * 3), cut=True) == (Status.REJECTED, None)


@pytest.mark.parametrize(
    ("one", "other", "moved"),
    [
        pytest.param(loop("puc"), loop("puc"), False, id="the same ballots"),
        pytest.param(loop("puc"), loop("cpu"), True, id="other ballots with the same counts"),
        pytest.param(loop("puc"), loop("puc", rationale="Said anew.", confidence=0.1), False, id="other words"),
        pytest.param(loop("ppc", challenge(QUOTE)), loop("ppc", challenge(QUOTE)), False, id="the same challenge"),
        pytest.param(
            loop("ppc", challenge(QUOTE)), loop("ppc", challenge(QUOTE.upper())), False, id="the same in capitals"
        ),
        pytest.param(
            loop("ppc", challenge(QUOTE)), loop("ppc", challenge("sold the flat")), True, id="another quotation"
        ),
        pytest.param(loop("ppc", challenge(QUOTE)), loop("ppu", challenge(QUOTE)), True, id="another dissent"),
        pytest.param(
            loop("ppc", challenge(QUOTE)), loop("ppc", challenge(QUOTE, refuted=False)), True, id="it conceded"
        ),
        pytest.param(
            loop("ppc", challenge(QUOTE)), loop("ppc", challenge(kind=FailureKind.TIMEOUT)), True, id="it failed"
        ),
        pytest.param(loop("ppc", challenge(QUOTE)), loop("ppc"), True, id="it is gone"),
    ],
)
def test_a_loop_that_repeats_the_last_ones_ballots_and_challenge_ends_the_debate(one, other, moved):
    assert status(one, other, pack=PACK) == ((Status.WITHHELD, None) if moved else parked(ParkedReason.NO_MOVEMENT))


def test_a_challenge_that_failed_is_no_repetition_of_one_that_conceded():
    pack = ContextPack(CLAIM, f"{CONTEXT}\n{ORDER}")
    conceded, late = loop("ppc", challenge()), loop("ppc", challenge(kind=FailureKind.TIMEOUT))
    assert status(conceded, conceded, pack=pack) == parked(ParkedReason.NO_MOVEMENT)
    assert status(conceded, late, pack=pack) == (Status.WITHHELD, None)


def test_a_loop_is_compared_with_the_one_before_it():
    assert status("puc", "cpu", "puc") == parked(ParkedReason.LOOPS)
    assert status("cpu", "puc", "puc")[1] in (ParkedReason.NO_MOVEMENT, ParkedReason.LOOPS)


def test_the_order_of_the_votes_is_no_movement():
    turned = Loop(tuple(reversed(ballots("puc"))))
    assert status("puc", turned) == parked(ParkedReason.NO_MOVEMENT)


@pytest.mark.parametrize("kind", sorted(UNASKABLE))
def test_too_few_members_can_become_valid(kind):
    assert status(out(None, kind, kind)) == parked(ParkedReason.NO_QUORUM)
    assert status(out(None, None, kind, kind)) == (Status.WITHHELD, None)


@pytest.mark.parametrize("kind", sorted(set(FailureKind) - UNASKABLE - {FailureKind.NOT_ASKED}))
def test_members_that_may_yet_become_valid_are_asked_again(kind):
    assert status(out(None, kind, kind)) == (Status.WITHHELD, None)
    assert status(out(None, kind, FailureKind.UNREACHABLE)) == (Status.WITHHELD, None)


def test_a_council_that_went_away_in_a_later_loop_has_no_quorum():
    assert status("puc", lost=True) == parked(ParkedReason.NO_QUORUM)
    assert status("ppp", lost=True) == (Status.EMITTED, None)


# --- what the report keeps ----------------------------------------------------------------------------------------


def test_the_votes_of_record_are_the_last_loops_in_board_order():
    held = debate("puc", Loop(tuple(reversed(ballots("ppc")))))
    assert [(v.member, v.label) for v in held.votes] == list(zip(BOARD, [P, P, C], strict=True))
    report = verify(held, BARE)
    assert report.consensus.plausible == 2
    assert report.status is Status.EMITTED


def test_movement_keeps_who_changed():
    assert verify(debate("puc"), BARE).movement == ()
    assert verify(debate("puc", "ppc"), BARE).movement == (Move(2, "neuron-ft", U, P),)
    assert verify(debate("puc", "cpc", "ccp"), BARE).movement == (
        Move(2, "neuron", P, C),
        Move(2, "neuron-ft", U, P),
        Move(3, "neuron-ft", P, C),
        Move(3, "dolphin", C, P),
    )


def test_movement_is_in_board_order_whatever_the_order_of_the_votes():
    turned = Loop(tuple(reversed(ballots("cpu"))))
    assert [move.member for move in verify(debate("puc", turned), BARE).movement] == ["neuron", "neuron-ft", "dolphin"]


def test_a_failure_after_a_ballot_is_a_move_to_uncertain():
    later = Loop((*ballots("pu", BOARD[:2]), failed(BOARD[2])))
    assert verify(debate("puc", later), BARE).movement == (Move(2, "dolphin", C, U),)


def test_the_challenge_of_record_is_the_last_loops():
    first, second = challenge(QUOTE), challenge("sold the flat")
    assert verify(debate(loop("ppc", first), loop("ppc", second)), PACK).challenge == second
    assert verify(debate(loop("ppc", first), "pcc"), PACK).challenge is None


def test_dissent_stands_in_the_report_with_member_ballot_rationale_and_failure():
    votes = (*ballots("pp", BOARD[:2]), failed(BOARD[2], FailureKind.HTTP_ERROR))
    (dissent,) = verify(debate(Loop(votes)), BARE).dissent
    assert (dissent.member, dissent.vote, dissent.rationale) == ("dolphin", U, "")
    assert dissent.failure == votes[2].failure
    (dissent,) = verify(debate("pcp"), BARE).dissent
    assert (dissent.member, dissent.vote, dissent.failure) == ("neuron-ft", C, None)
    assert dissent.rationale == "neuron-ft says so."


@pytest.mark.parametrize(
    ("letters", "dissenters"),
    [
        ("ppp", []),
        ("cpp", ["neuron"]),
        ("pcc", ["neuron"]),
        ("puc", ["neuron", "neuron-ft", "dolphin"]),
        ("ppcc", ["m0", "m1", "m2", "contrarian"]),
    ],
)
def test_every_vote_against_the_majority_is_dissent_and_all_are_where_there_is_none(letters, dissenters):
    assert [dissent.member for dissent in verify(debate(letters), BARE).dissent] == dissenters


def test_a_failed_vote_with_the_majority_is_no_dissent():
    votes = (vote(BOARD[0], "p"), vote(BOARD[1], "u"), failed(BOARD[2]))
    assert [dissent.member for dissent in verify(debate(Loop(votes)), BARE).dissent] == ["neuron"]


def test_counts_in_the_report():
    votes = (*ballots("pc", BOARD[:2]), failed(BOARD[2]))
    assert verify(debate(Loop(votes)), BARE).consensus == Consensus(
        members=3, valid=2, plausible=1, uncertain=1, confabulation=1, spread=4.0
    )


def test_the_same_evidence_gives_the_same_report():
    held = debate(loop("ppc", challenge(QUOTE)), loop("ppp", challenge()))
    again = debate(loop("ppc", challenge(QUOTE)), loop("ppp", challenge()))
    assert verify(held, PACK) == verify(again, ContextPack(CLAIM, CONTEXT))


def test_times_and_probabilities_decide_nothing():
    held = debate("ppc")
    later = evolve(
        held, loops=(Loop(tuple(evolve(v, began_ms=5.0, ended_ms=9.0, probabilities=None) for v in held.votes)),)
    )
    assert verify(held, BARE) == verify(later, BARE)


def test_the_checker_counts_by_the_seeds_constants():
    assert verifier.MIN_VALID_AGENTS == 2

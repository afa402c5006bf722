"""What holds of the checker for every debate."""

import math
import os

from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import ORDER, backed, cases, packs, tame_packs, texts, votes

from neuron_council.checker.outcome import outcome
from neuron_council.checker.panel import LENSES
from neuron_council.checker.verifier import admits, verify
from neuron_council.evidence.ballot import Label
from neuron_council.evidence.consensus import consensus
from neuron_council.evidence.debate import DebateResult, Loop, ParkedReason
from neuron_council.evidence.failure import UNASKABLE
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.report import LensStatus, Status
from neuron_council.evidence.text import fold

EXAMPLES = os.environ.get("NEURON_TEST_EXAMPLES")
"""More examples than usual, and other ones every time, for whoever has the time."""
MANY = settings(
    max_examples=int(EXAMPLES or 50),
    derandomize=EXAMPLES is None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def holds_for(*strategies):
    """Test a property on many draws of STRATEGIES."""
    return lambda test: MANY(given(*strategies)(test))


ROWS = {  # confidence: the tags that it can stand with, but for the two that say why it was lowered
    0.85: {"verified"},
    0.65: {"council-split"},
    0.50: {"council-unavailable"},
    0.30: {"unverified", "council-flagged"},
}
HARD = {"contrarian-last", "evidence-present", "claim-is-data"}
plausible = st.one_of(backed, votes.map(lambda vote: evolve(vote, label=Label.PLAUSIBLE, failure=None)))
any_case = st.one_of(cases(), cases(orderly=True), cases(tame_packs, orderly=True))


def row_of(votes):
    """The confidence that the votes alone would give, counted anew."""
    plausible = sum(vote.label is Label.PLAUSIBLE for vote in votes)
    if plausible == len(votes):
        return 0.85
    return 0.65 if 3 * plausible >= 2 * len(votes) else 0.30


def unproven(report):
    return {finding.oracle for finding in report.findings if not finding.proven}


@holds_for(any_case, st.randoms(use_true_random=False))
def test_the_order_of_votes_within_a_loop_changes_nothing(case, random):
    debate, pack = case
    turned = tuple(evolve(loop, votes=tuple(random.sample(loop.votes, len(loop.votes)))) for loop in debate.loops)
    other = evolve(debate, loops=turned)
    assert other.votes == debate.votes
    report = verify(debate, pack)
    assert verify(other, pack) == report
    assert outcome(other, report) == outcome(debate, report)


@holds_for(any_case)
def test_the_same_evidence_gives_the_same_report(case):
    debate, pack = case
    report = verify(debate, pack)
    again = verify(DebateResult(debate.members, debate.loops, debate.max_loops, debate.cut, debate.lost), pack)
    assert again == report
    assert outcome(debate, again) == outcome(debate, report)
    assert str(again) == str(report)


@holds_for(any_case)
def test_no_evidence_raises_an_outcome_above_its_votes_row(case):
    debate, pack = case
    found = outcome(debate, verify(debate, pack))
    if found.status is Status.UNAVAILABLE:
        assert found.confidence == 0.50
    else:
        assert found.confidence <= row_of(debate.votes)
    if found.confidence == 0.85:
        assert {vote.label for vote in debate.votes} == {Label.PLAUSIBLE}
        assert all(vote.failure is None for vote in debate.votes)


@holds_for(any_case)
def test_the_row_all_needs_every_lens(case):
    debate, pack = case
    report = verify(debate, pack)
    found = outcome(debate, report)
    every = all(lens.status is LensStatus.VERIFIED for lens in report.lenses)
    if found.confidence == 0.85:
        assert every
        assert unproven(report) == set()
    if report.status is Status.EMITTED and row_of(debate.votes) == 0.85 and not every:
        assert (found.confidence, set(found.tags)) == (0.65, {"council-split", "council-doubted"})
        second = found.summary.split(" plausible. ", 1)[1]
        assert any(f.oracle in second and f.evidence in second for f in report.findings if not f.proven)


@holds_for(any_case)
def test_any_single_hard_failure_rejects(case):
    debate, pack = case
    report = verify(debate, pack)
    hard = {finding.oracle for finding in report.findings if finding.hard}
    assert hard == HARD
    failed = unproven(report) & HARD
    if report.status is Status.UNAVAILABLE:
        assert "claim-is-data" not in failed
    else:
        assert (report.status is Status.REJECTED) == bool(failed)


@holds_for(cases(tame_packs, orderly=True, min_loops=1))
def test_one_hard_failure_more_rejects_whatever_the_rest_says(case):
    debate, pack = case
    attack = ContextPack(ORDER, pack.context)
    assert not admits(attack)
    rejected = [verify(debate, attack)]
    if any(vote.failure is None for vote in debate.votes):
        last = debate.loops[-1]
        early = last.challenge and evolve(last.challenge, began_ms=max(vote.ended_ms for vote in last.votes) - 1)
        if early:
            rejected.append(verify(evolve(debate, loops=(*debate.loops[:-1], Loop(last.votes, early))), pack))
        silent = Loop(tuple(evolve(vote, rationale="") for vote in last.votes), last.challenge)
        rejected.append(verify(evolve(debate, loops=(*debate.loops[:-1], silent)), pack))
    for report in rejected:
        assert report.status is Status.REJECTED
        found = outcome(debate, report)
        assert (found.confidence, set(found.tags), found.tier) == (0.30, {"unverified", "council-flagged"}, None)


@holds_for(any_case)
def test_dissent_is_never_lost(case):
    debate, pack = case
    report = verify(debate, pack)
    majority = report.consensus.majority
    against = [vote for vote in debate.votes if majority is None or vote.label != majority]
    assert [(d.member, d.vote, d.rationale, d.failure) for d in report.dissent] == [
        (vote.member.id, vote.label, vote.rationale, vote.failure) for vote in against
    ]
    if "dissent-recorded" not in unproven(report):
        assert all(d.rationale or d.failure for d in report.dissent)


@holds_for(any_case)
def test_the_checker_never_raises_and_always_answers(case):
    debate, pack = case
    report = verify(debate, pack)
    found = outcome(debate, report)
    assert [(lens.name, tuple(name for name, _ in lens.oracles)) for lens in LENSES] == [
        (seen.lens, tuple(finding.oracle for finding in seen.findings)) for seen in report.lenses
    ]
    for finding in report.findings:
        assert finding.evidence
        assert type(finding.proven) is bool
        finding.evidence.encode("utf-8")
        assert "\x00" not in finding.evidence
    found.summary.encode("utf-8")
    assert math.isfinite(report.consensus.spread)
    assert 0 <= report.consensus.spread <= 4


@holds_for(texts, texts)
def test_no_text_makes_the_checker_raise(claim, context):
    pack = ContextPack(claim, context)
    report = verify(DebateResult(()), pack)
    assert report.status is Status.REJECTED
    assert ("claim-is-data" in unproven(report)) != admits(pack)


@holds_for(any_case)
def test_confidence_and_tags_belong_together(case):
    debate, pack = case
    report = verify(debate, pack)
    found = outcome(debate, report)
    tags = set(found.tags)
    assert len(tags) == len(found.tags)
    assert ROWS[found.confidence] <= tags
    assert tags - ROWS[found.confidence] <= {"council-parked", "council-doubted"}
    assert ("council-unavailable" in tags) == (found.status is Status.UNAVAILABLE)
    assert ("council-parked" in tags) == (found.status in (Status.PARKED, Status.WITHHELD))
    assert ("council-doubted" not in tags) or (found.confidence, found.status) == (0.65, Status.EMITTED)
    assert ("verified" not in tags) or found.status is Status.EMITTED
    assert found.tier == {Status.EMITTED: "T3", Status.PARKED: "T4"}.get(found.status)
    assert found.status is report.status
    assert found.majority is report.consensus.majority


@holds_for(any_case)
def test_parked_is_one_row_below_its_votes(case):
    debate, pack = case
    found = outcome(debate, verify(debate, pack))
    if found.status is Status.PARKED:
        assert found.confidence == {0.85: 0.65, 0.65: 0.30, 0.30: 0.30}[row_of(debate.votes)]


@holds_for(any_case)
def test_the_summary_begins_with_the_count(case):
    debate, pack = case
    found = outcome(debate, verify(debate, pack))
    plausible = sum(vote.label is Label.PLAUSIBLE for vote in debate.votes)
    count = f"{plausible}/{len(debate.members)} council members agree this is plausible."
    if found.status is Status.UNAVAILABLE:
        assert found.summary.startswith("Council unavailable: ")
    else:
        assert found.summary == count or found.summary.startswith(f"{count} ")


@holds_for(any_case)
def test_counts_add_up(case):
    debate, pack = case
    report = verify(debate, pack)
    tally = report.consensus
    assert tally.plausible + tally.uncertain + tally.confabulation == len(debate.members)
    assert tally.valid == sum(vote.failure is None for vote in debate.votes)
    assert report.loop_count == len(debate.loops)
    assert report.challenge == (debate.loops[-1].challenge if debate.loops else None)


@holds_for(any_case)
def test_a_lens_follows_from_its_findings(case):
    debate, pack = case
    for lens in verify(debate, pack).lenses:
        failed = [finding for finding in lens.findings if not finding.proven]
        if any(finding.hard for finding in failed):
            assert lens.status is LensStatus.REJECTED
        else:
            assert lens.status is (LensStatus.UNVERIFIED if failed else LensStatus.VERIFIED)


@holds_for(any_case)
def test_a_status_follows_from_the_lenses(case):
    debate, pack = case
    report = verify(debate, pack)
    verified = sum(lens.status is LensStatus.VERIFIED for lens in report.lenses)
    assert (report.parked_reason is not None) == (report.status is Status.PARKED)
    if report.status is Status.EMITTED:
        assert verified >= 2
    if report.status in (Status.WITHHELD, Status.PARKED):
        assert verified < 2


@holds_for(any_case)
def test_a_parked_claim_has_the_reason_that_it_gives(case):
    debate, pack = case
    report = verify(debate, pack)
    askable = sum(vote.failure is None or vote.failure.kind not in UNASKABLE for vote in debate.votes)
    match report.parked_reason:
        case ParkedReason.DEADLINE:
            assert debate.cut
        case ParkedReason.NO_QUORUM:
            assert debate.lost or askable < 2
        case ParkedReason.NO_MOVEMENT:
            one, other = ({vote.member: vote.label for vote in loop.votes} for loop in debate.loops[-2:])
            assert one == other
        case ParkedReason.LOOPS:
            assert len(debate.loops) >= debate.max_loops
        case None if report.status is Status.WITHHELD:
            assert not debate.cut
            assert not debate.lost
            assert askable >= 2
            assert len(debate.loops) < debate.max_loops


@holds_for(any_case)
def test_movement_leads_from_the_first_ballots_to_the_last(case):
    debate, pack = case
    moves = verify(debate, pack).movement
    if not debate.loops:
        assert moves == ()
        return
    ballots = {vote.member.id: vote.label for vote in debate.loops[0].votes}
    for number, loop in enumerate(debate.loops[1:], 2):
        for move in (move for move in moves if move.loop == number):
            assert ballots[move.member] is move.before
            assert move.before is not move.after
            ballots[move.member] = move.after
        assert ballots == {vote.member.id: vote.label for vote in loop.votes}
    assert len(moves) == len({(move.loop, move.member) for move in moves})


@holds_for(cases(tame_packs, orderly=True, min_loops=1), st.data())
def test_a_vote_less_for_the_claim_never_raises_the_confidence(case, data):
    """A valid vote turned from plausible to confabulation, its scores with it, can only lower what votes are worth."""
    debate, pack = case
    last = debate.loops[-1]
    seat = data.draw(st.integers(0, len(last.votes) - 1))
    if last.votes[seat].label is not Label.PLAUSIBLE:
        return
    turned = [*last.votes]
    turned[seat] = evolve(turned[seat], label=Label.CONFABULATION)
    other = evolve(debate, loops=(*debate.loops[:-1], Loop(tuple(turned), last.challenge)))
    assert row_of(other.votes) <= row_of(debate.votes)
    found = outcome(other, verify(other, pack))
    assert found.status is Status.UNAVAILABLE or found.confidence <= row_of(debate.votes)


@holds_for(cases(tame_packs, cast=plausible, orderly=True, min_loops=1))
def test_unanimity_is_all_or_doubted_or_parked_or_rejected(case):
    debate, pack = case
    found = outcome(debate, verify(debate, pack))
    expected = {
        Status.EMITTED: {(0.85, ("verified",)), (0.65, ("council-split", "council-doubted"))},
        Status.PARKED: {(0.65, ("council-split", "council-parked"))},
        Status.WITHHELD: {(0.65, ("council-split", "council-parked"))},
        Status.REJECTED: {(0.30, ("unverified", "council-flagged"))},
    }
    assert (found.confidence, found.tags) in expected[found.status]


@holds_for(any_case)
def test_consensus_does_not_hang_on_the_order(case):
    debate, _ = case
    votes = debate.votes
    assert consensus(votes) == consensus(tuple(reversed(votes)))
    for vote in votes:
        assert vote.strength is None or 1 <= vote.strength <= 5
        assert (vote.strength is None) == (vote.failure is not None or vote.axes.mean is None)


@holds_for(texts)
def test_folding_twice_is_folding_once(text):
    folded = fold(text)
    assert fold(folded) == folded


@holds_for(texts, texts)
def test_a_folded_part_is_a_part_of_the_folded(before, after):
    """Whatever stands around an ASCII span, its fold is found in the fold of the whole."""
    span = "sold the flat"
    assert fold(span) in fold(f"{before} {span} {after}")


@holds_for(packs)
def test_a_pack_can_be_written_as_utf8(pack):
    f"{pack.claim}{pack.context}".encode()
    assert "\x00" not in pack.claim + pack.context
    assert ContextPack(pack.claim, pack.context) == pack


def test_the_strategies_reach_every_status_and_reason():
    """Properties that hold because nothing ever gets there would hold of anything."""
    seen = set()

    @settings(MANY, max_examples=300, derandomize=True)
    @given(any_case)
    def look(case):
        debate, pack = case
        report = verify(debate, pack)
        seen.update({report.status, report.parked_reason, outcome(debate, report).confidence})
        seen.update(unproven(report))

    look()
    assert set(Status) | set(ParkedReason) | set(ROWS) <= seen
    assert {name for lens in LENSES for name, _ in lens.oracles} <= seen

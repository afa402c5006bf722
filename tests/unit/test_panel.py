"""The panel: which oracles each lens has, which are hard, and what three lenses come to."""

import itertools

import pytest
from builders import BARE, BOARD, PACK, ballots, challenge, debate, failed, loop

from neuron_council.checker.oracle import Ruling, VerifierLens
from neuron_council.checker.panel import DEFAULT_PANEL_QUORUM, LENSES, decide
from neuron_council.checker.verifier import verify
from neuron_council.evidence.debate import Loop
from neuron_council.evidence.report import LensStatus, LensVerdict, Status

TABLE = {  # lens: its oracles in order, and whether they are hard
    "coherence": {
        "contrarian-last": True,
        "contrarian-heard": False,
        "quorum-met": False,
        "majority-clear": False,
        "spread-bounded": False,
        "ballots-match-scores": False,
        "dissent-recorded": False,
    },
    "faithfulness": {
        "evidence-present": True,
        "confidence-floor": False,
        "strength-floor": False,
        "claim-withstood": False,
        "context-is-data": False,
    },
    "domain": {"claim-is-data": True, "context-is-data": False, "figures-grounded": False, "unrefuted": False},
}
VERIFIED, UNVERIFIED, REJECTED = LensStatus.VERIFIED, LensStatus.UNVERIFIED, LensStatus.REJECTED


def test_the_quorum_is_two_lenses():
    assert DEFAULT_PANEL_QUORUM == 2
    assert verify(debate("ppp"), BARE).quorum == 2


@pytest.mark.parametrize("held", [debate("ppp"), debate("puc"), debate(), debate(loop("ppp", challenge()))])
def test_every_report_has_every_finding(held):
    for pack in (BARE, PACK):
        report = verify(held, pack)
        assert {seen.lens: {f.oracle: f.hard for f in seen.findings} for seen in report.lenses} == TABLE
        assert [seen.lens for seen in report.lenses] == ["coherence", "faithfulness", "domain"]
        assert len(report.findings) == 16


def test_the_lenses_are_named_once():
    assert {lens.name: {oracle: oracle in lens.hard for oracle, _ in lens.oracles} for lens in LENSES} == TABLE


@pytest.mark.parametrize(
    ("rulings", "status"),
    [
        ({"soft": True, "hard": True}, VERIFIED),
        ({"soft": False, "hard": True}, UNVERIFIED),
        ({"soft": True, "hard": False}, REJECTED),
        ({"soft": False, "hard": False}, REJECTED),
    ],
)
def test_a_lens(rulings, status):
    oracles = tuple((name, lambda _, proven=proven: Ruling(proven, "seen")) for name, proven in rulings.items())
    seen = VerifierLens("domain", oracles, frozenset({"hard"})).verdict(None)
    assert seen.status is status
    assert [(f.oracle, f.hard, f.proven) for f in seen.findings] == [
        (name, name == "hard", proven) for name, proven in rulings.items()
    ]


@pytest.mark.parametrize("statuses", list(itertools.product(LensStatus, repeat=3)))
def test_a_hard_failure_rejects_else_two_verified_lenses_emit(statuses):
    lenses = [LensVerdict(lens.name, status, ()) for lens, status in zip(LENSES, statuses, strict=True)]
    if REJECTED in statuses:
        expected = Status.REJECTED
    else:
        expected = Status.EMITTED if statuses.count(VERIFIED) >= 2 else Status.WITHHELD
    assert decide(lenses) is expected


def test_statuses_of_lenses_on_real_evidence():
    seen = {lens.lens: lens.status for lens in verify(debate("ppc"), BARE).lenses}
    assert seen == {"coherence": UNVERIFIED, "faithfulness": VERIFIED, "domain": VERIFIED}
    seen = {lens.lens: lens.status for lens in verify(debate("puc"), BARE).lenses}
    assert seen == {"coherence": UNVERIFIED, "faithfulness": UNVERIFIED, "domain": VERIFIED}
    late = debate(Loop(tuple(failed(member) for member in BOARD)))
    seen = {lens.lens: lens.status for lens in verify(late, BARE).lenses}
    assert seen == {"coherence": UNVERIFIED, "faithfulness": REJECTED, "domain": VERIFIED}


def test_a_lens_is_verified_by_all_its_oracles_and_lost_by_one():
    assert all(lens.status is VERIFIED for lens in verify(debate("ppp"), BARE).lenses)
    votes = (*ballots("pp", BOARD[:2]), *ballots("p", BOARD[2:], confidence=None, score=2))
    seen = {lens.lens: lens.status for lens in verify(debate(Loop(votes)), BARE).lenses}
    assert seen == {"coherence": UNVERIFIED, "faithfulness": VERIFIED, "domain": VERIFIED}

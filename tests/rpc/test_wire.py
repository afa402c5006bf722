"""The shapes of the wire, whole."""

import math

from attrs import evolve

from fake_council import MEMBERS, VOTES, FakeHealth, verdict
from neuron_council.evidence.debate import ParkedReason
from neuron_council.evidence.pack import ContextPack
from neuron_council.rpc import wire

LATE = {"kind": "timeout", "message": "No answer in 10 s."}


def test_a_verdict():
    got = wire.verdict(verdict(ContextPack("Tea is a drink.")))
    assert list(got.items()) == list(
        {
            "id": "550e8400-e29b-41d4-a716-446655440000",
            "claim": "Tea is a drink.",
            "confidence": 0.65,
            "council_votes": ["plausible", "plausible", "uncertain"],
            "summary": "2/3 council members agree this is plausible.",
            "tags": ["council-split"],
            "latency_ms": 1420,
            "status": "emitted",
            "tier": "T3",
            "majority": "plausible",
            "cached": False,
            "warnings": ["A warning."],
            "votes": [
                {
                    "member": "neuron",
                    "model": "neuron:latest",
                    "role": "member",
                    "vote": "plausible",
                    "axes": {"coherent": 5, "factual": 5, "grounded": 4},
                    "confidence": 0.9,
                    "strength": 4.6667,
                    "probabilities": {"plausible": 0.9, "uncertain": 0.06, "confabulation": 0.04},
                    "rationale": "It is.",
                    "latency_ms": 700,
                    "failure": None,
                },
                {
                    "member": "neuron-ft",
                    "model": "neuron-ft:latest",
                    "role": "member",
                    "vote": "plausible",
                    "axes": {"coherent": 5, "factual": 4, "grounded": None},
                    "confidence": 0.1235,
                    "strength": 4.5,
                    "probabilities": None,
                    "rationale": "So it is.",
                    "latency_ms": 591,
                    "failure": None,
                },
                {
                    "member": "dolphin",
                    "model": "dolphin3:8b",
                    "role": "contrarian",
                    "vote": "uncertain",
                    "axes": {"coherent": None, "factual": None, "grounded": None},
                    "confidence": None,
                    "strength": None,
                    "probabilities": None,
                    "rationale": "",
                    "latency_ms": 10_000,
                    "failure": LATE,
                },
            ],
            "report": {
                "loop_count": 2,
                "parked_reason": None,
                "quorum": 2,
                "movement": [{"loop": 2, "member": "neuron", "from": "uncertain", "to": "plausible"}],
                "challenge": {
                    "member": "dolphin",
                    "refuted": False,
                    "argument": "Nothing says so.",
                    "quote": "",
                    "latency_ms": 600,
                    "failure": None,
                },
                "consensus": {"valid": 2, "plausible": 2, "uncertain": 1, "confabulation": 0, "spread": 0.3333},
                "lenses": [
                    {
                        "lens": "domain",
                        "status": "verified",
                        "findings": [
                            {"oracle": "claim-is-data", "hard": True, "proven": True, "evidence": "No order."}
                        ],
                    }
                ],
                "dissent": [{"member": "dolphin", "vote": "uncertain", "rationale": "", "failure": LATE}],
            },
        }.items()
    )
    assert type(got["status"]) is str
    assert type(got["council_votes"][0]) is str
    assert type(got["votes"][0]["latency_ms"]) is int


def test_what_is_absent_is_null():
    bare = verdict(ContextPack("x"))
    report = evolve(bare.report, challenge=None, parked_reason=ParkedReason.NO_MOVEMENT)
    got = wire.verdict(evolve(bare, report=report, outcome=evolve(bare.outcome, majority=None, tier=None)))
    assert got["report"]["challenge"] is got["majority"] is got["tier"] is None
    assert got["report"]["parked_reason"] == "no-movement"


def test_odds_still_sum_to_one():
    third = evolve(VOTES[0].probabilities, plausible=1 / 3, uncertain=1 / 3, confabulation=1 / 3)
    got = wire.verdict(verdict(ContextPack("x"), votes=(evolve(VOTES[0], probabilities=third), *VOTES[1:])))
    assert math.isclose(sum(got["votes"][0]["probabilities"].values()), 1, abs_tol=1e-5)


def test_health():
    assert wire.health(FakeHealth(in_flight=2)) == {
        "status": "ok",
        "version": "0",
        "backends": [{"url": "http://127.0.0.1:11434", "reachable": True, "version": None}],
        "members": [{"id": MEMBERS[0].id, "model": MEMBERS[0].model, "installed": True, "loaded": None}],
        "pending": 0,
        "in_flight": 2,
    }

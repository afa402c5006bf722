"""Whatever a council can find out is the same after the ledger, and is decided the same."""

from __future__ import annotations

import uuid

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import cases, sayings, tame_packs

from neuron_council.checker.outcome import outcome
from neuron_council.checker.verifier import verify
from neuron_council.evidence.verdict import Verdict
from neuron_council.ledger import codec
from neuron_council.ledger.codec import Decision
from neuron_council.ledger.ledger import Ledger
from neuron_council.replay import replay_all
from neuron_council.rpc import wire

any_case = st.one_of(cases(), cases(tame_packs, orderly=True, min_loops=1))


@given(any_case)
def test_evidence_and_decision_come_back_as_they_were(case):
    debate, pack = case
    assert codec.load_evidence(codec.dump_evidence(debate)) == debate
    report = verify(debate, pack)
    decision = Decision(report, outcome(debate, report))
    assert codec.load_decision(codec.dump_decision(decision)) == decision


@given(any_case)
def test_what_is_written_is_utf_8_and_stays_the_same_when_written_again(case):
    debate, _ = case
    text = codec.dump_evidence(debate)
    assert text.encode().decode() == text
    assert codec.dump_evidence(codec.load_evidence(text)) == text


# The disk may be slow, and each example has a file of its own.
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(any_case, sayings, st.integers(0, 10**9)), min_size=1, max_size=8))
def test_the_ledger_gives_back_what_it_was_given_and_replays_it_alike(tmp_path, given_cases):
    ledger = Ledger(tmp_path / f"{uuid.uuid4()}.db")
    verdicts = []
    for (debate, pack), warning, latency_ms in given_cases:
        report = verify(debate, pack)
        decided = outcome(debate, report)
        verdicts.append(Verdict(str(uuid.uuid4()), pack, debate, report, decided, latency_ms, warnings=(warning,)))
    try:
        for verdict in verdicts:
            kept = ledger.add(verdict, about={})
            assert kept is not None
            assert kept.verdict == verdict
        for verdict in verdicts:
            shown = ledger.show(verdict.id).verdict
            assert shown == verdict
            assert wire.verdict(shown) == wire.verdict(verdict)
        found = replay_all(ledger)
        assert (found.checked, found.identical, found.differing) == (len(verdicts), len(verdicts), ())
        entries = ledger.list().entries
        assert [entry.id for entry in entries] == [verdict.id for verdict in reversed(verdicts)]
        assert [entry.tags for entry in entries] == [verdict.outcome.tags for verdict in reversed(verdicts)]
    finally:
        ledger.close()

"""A verdict in words: what was decided, why the council stopped, and what a person can do."""

import pytest
from attrs import evolve

from neuron_council.cli.report import next_step, render_answer
from neuron_council.evidence.ballot import Label
from neuron_council.evidence.debate import DebateResult, Loop, ParkedReason, Vote
from neuron_council.evidence.failure import Failure, FailureKind
from neuron_council.evidence.pack import ContextPack
from neuron_council.rpc.report import PARKED, plain, render
from verdicts import BOARD, decided, judged, unavailable


def failed(*failures: Failure | None):
    """The verdict on a vote of each member, those with a failure failed."""
    votes = tuple(
        Vote(member, Label.UNCERTAIN, rationale="Hm.", failure=failure)
        for member, failure in zip(BOARD, failures, strict=True)
    )
    return decided(ContextPack("Tea is a drink."), DebateResult(BOARD, (Loop(votes),), max_loops=1))


def test_every_reason_has_words_of_its_own():
    assert set(PARKED) == set(ParkedReason)
    assert len(set(PARKED.values())) == len(ParkedReason)


@pytest.mark.parametrize("reason", ParkedReason)
def test_a_parked_verdict_says_why_and_who_decides(reason):
    parked = judged("Tea is a drink.", votes="puc")
    lines = render(evolve(parked, report=evolve(parked.report, parked_reason=reason))).splitlines()
    assert lines[1].startswith("parked (T4: a person decides), confidence 0.30, ")
    assert lines[2] == PARKED[reason]


def test_what_nobody_could_judge_says_why_once():
    lines = render_answer(unavailable("Tea is a drink.")).splitlines()
    assert lines[0] == "Council unavailable: no member could be asked."
    why = "Nobody listens at http://127.0.0.1:11434. Start Ollama."
    assert [line for line in lines if why in line] == [f"  neuron, neuron-ft, dolphin: no vote (unreachable). {why}"]
    assert lines[-1].endswith("neuron-council doctor")
    # Nobody voted, and no lens had anything to look at.
    assert not [line for line in lines if "uncertain" in line or "PROVEN" in line]


def test_a_challenge_that_failed_refutes_nothing_and_concedes_nothing():
    verdict = judged("Tea is a drink.", "The notes say that tea is a drink.")
    why = Failure(FailureKind.TIMEOUT, "dolphin gave no vote within 10 s.")
    challenge = evolve(verdict.report.challenge, failure=why)
    lines = render(evolve(verdict, report=evolve(verdict.report, challenge=challenge))).splitlines()
    assert f"  dolphin, as contrarian: no challenge (timeout). {why.message}" in lines
    assert not [line for line in lines if "refute the claim" in line]


def test_missing_models_have_a_line_each_and_no_warning_says_it_again():
    missing = [Failure(FailureKind.MODEL_NOT_FOUND, f"{m.model} is not installed: pull it.") for m in BOARD]
    verdict = evolve(
        failed(missing[0], None, missing[2]), warnings=(missing[0].message, missing[2].message, "The disk is full.")
    )
    text = render(verdict)
    assert [line for line in text.splitlines() if "not installed" in line] == [
        "  neuron: no vote (model-not-found). neuron:latest is not installed: pull it.",
        "  dolphin: no vote (model-not-found). dolphin3:8b is not installed: pull it.",
    ]
    assert text.endswith("\n\nwarning: The disk is full.")


@pytest.mark.parametrize(
    ("votes", "is_open"), [("ppp", False), ("ppc", True), ("ccc", True), ("puc", True), ("uuu", True)]
)
def test_what_a_person_may_decide_says_how(votes, is_open):
    verdict = judged("Tea is a drink.", votes=votes)
    steps = [f"to decide it: neuron-council review {verdict.id} accept|reject"] if is_open else []
    assert next_step(verdict) == steps
    assert render_answer(verdict).splitlines()[-1] == (steps or [f"id: {verdict.id}"])[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\x1b[31mb\x7f\x85", "a^[[31mb^?\\u0085"),
        ("a\u202eb\u2066c\u200fd", "a\\u202eb\\u2066c\\u200fd"),
        ("hid\u200bden, so\xadft, \u2060w\ufff9r", "hid\\u200bden, so\\u00adft, \\u2060w\\ufff9r"),
        ("\U000e0041tag", "\\ue0041tag"),
        ("vo\u200dte \ufe0f", "vo\\u200dte \\ufe0f"),
        ("👩\u200d🚀 ❤\ufe0f ©\ufe0f 1\ufe0f\u20e3", "👩\u200d🚀 ❤\ufe0f ©\ufe0f 1\ufe0f\u20e3"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d\u200d", "👩\u200d\\u200d"),
        (" two\r\n\tlines ", "two lines"),
        ("\u200dfirst", "\\u200dfirst"),
    ],
)
def test_nothing_acts_or_hides_in_plain_text(text, said):
    assert plain(text) == said

"""`neuron-council verify`: its output and its exit codes."""

import json
import sys
from types import SimpleNamespace

import pytest
from attrs import evolve

from fake_council import FakeCouncil, verdict
from neuron_council.cli import verify
from neuron_council.evidence.pack import ContextPack


@pytest.fixture
def asked(monkeypatch):
    """What the council, which has no models, was asked."""
    packs = []

    class Council(FakeCouncil):
        async def verify(self, pack, **how):
            packs.append(pack)
            return await super().verify(pack, **how)

    monkeypatch.setitem(sys.modules, "neuron_council.council", SimpleNamespace(Council=Council))
    return packs


def test_a_verdict_for_people(shell, asked):
    said = shell("verify", "Tea is a drink.", "Notes.")
    assert (said.code, said.err) == (0, "")
    assert asked == [ContextPack("Tea is a drink.", "Notes.")]
    assert said.out.splitlines() == [
        "2/3 council members agree this is plausible.",
        "emitted (T3: may be stored), confidence 0.65, council-split; 1.4 s",
        "",
        "  neuron: plausible. It is.",
        "  neuron-ft: plausible. So it is.",
        "  dolphin: no vote (timeout). No answer in 10 s.",
        "  dolphin, as contrarian, does not refute the claim. Nothing says so.",
        "",
        "domain: verified",
        "  ok  claim-is-data: No order.",
        "",
        "warning: A warning.",
        "",
        "id: 550e8400-e29b-41d4-a716-446655440000",
        "context: Notes.",
        "to decide it: neuron-council review 550e8400-e29b-41d4-a716-446655440000 accept|reject",
    ]


@pytest.mark.usefixtures("asked")
def test_a_long_context_is_shown_shortened_and_none_not_at_all(shell):
    said = shell("verify", "Tea is a drink.", "Notes say\n" * 100)
    (line,) = (line for line in said.out.splitlines() if line.startswith("context: "))
    assert (len(line), line[-1]) == (100, "…")
    assert "context: " not in shell("verify", "Tea is a drink.").out


@pytest.mark.usefixtures("asked")
def test_a_verdict_for_programs(shell):
    said = shell("verify", "--json", "garbled 茶")
    assert said.code == 0
    assert json.loads(said.out)["claim"] == "garbled 茶"
    assert json.loads(said.out)["votes"][0]["rationale"] == "a\ufffdb\ufffdc"


@pytest.mark.parametrize("arguments", [["verify"], ["verify", "-"]])
def test_a_claim_from_stdin(shell, asked, arguments):
    shell(*arguments, stdin="Tea — \n".encode() + b"\xff\n")
    assert asked == [ContextPack("Tea — \n\ufffd")]


def test_a_context_from_stdin(shell, asked):
    shell("verify", "Tea", "-", stdin=b"Notes\n")
    assert asked == [ContextPack("Tea", "Notes")]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["verify", "-", "-"], "stdin"),
        (["verify", ""], "claim: "),
        (["verify", "x" * 8001], "claim: "),
        (["verify", "x", "y" * 24001], "context: "),
        (["verify", "--nonsense"], "--nonsense"),
        ([], "COMMAND"),
        (["nonsense"], "nonsense"),
    ],
)
def test_arguments_at_fault(shell, asked, arguments, word):
    said = shell(*arguments)
    assert (said.code, said.out, asked) == (2, "", [])
    assert word in said.err
    assert said.err.count("\n") == 1


@pytest.mark.usefixtures("asked")
def test_a_configuration_at_fault(shell, monkeypatch):
    monkeypatch.setenv("NEURON_COUNCIL_MAX_LOOPS", "many")
    said = shell("verify", "Tea")
    assert said.code == 2
    assert "NEURON_COUNCIL_MAX_LOOPS" in said.err


@pytest.mark.usefixtures("asked")
def test_an_unknown_variable_is_said(shell, monkeypatch):
    monkeypatch.setenv("NEURON_COUNCIL_NONSENSE", "1")
    said = shell("verify", "Tea")
    assert said.code == 0
    assert "NEURON_COUNCIL_NONSENSE" in said.err


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 141, ""),
        (RuntimeError("quotes the claim"), 70, "incident"),
        (OSError(28, "No space left on device"), 5, "No space left"),
    ],
)
def test_whatever_goes_wrong_is_a_line_and_a_code(shell, monkeypatch, error, code, word):
    def fail(*_):
        raise error

    monkeypatch.setattr(verify, "_judge", fail)
    said = shell("verify", "Tea")
    assert (said.code, said.out) == (code, "")
    assert word in said.err
    assert said.err.count("\n") == bool(word)
    assert "quotes" not in said.err


@pytest.mark.parametrize(
    ("tags", "code"),
    [
        (("verified",), 0),
        (("council-split", "council-doubted"), 0),
        (("unverified", "council-flagged"), 1),
        (("council-split", "council-parked"), 3),
        (("unverified", "council-flagged", "council-parked"), 3),
        (("council-unavailable",), 4),
    ],
)
def test_the_exit_code_follows_the_storage_policy(tags, code):
    given = verdict(ContextPack("x"))
    assert verify.exit_code(evolve(given, outcome=evolve(given.outcome, tags=tags))) == code

"""The program in a shell: `verify`, its output and its exit codes."""

import io
import json
import sys
from types import SimpleNamespace

import pytest
from attrs import evolve

from fake_council import FakeCouncil, verdict
from neuron_council import cli
from neuron_council.cli import terminal, verify
from neuron_council.evidence.pack import ContextPack


@pytest.fixture
def shell(monkeypatch, tmp_path, capsys):
    """Runs the program without models; gives the exit code, stdout, stderr, and what the council was asked."""
    asked = []

    class Council(FakeCouncil):
        async def verify(self, pack, **how):
            asked.append(pack)
            return await super().verify(pack, **how)

    monkeypatch.setitem(sys.modules, "neuron_council.council", SimpleNamespace(Council=Council))
    monkeypatch.setenv("NEURON_HOME", str(tmp_path))
    monkeypatch.delenv("OLLAMA_HOST", raising=False)

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
        try:
            code = cli.main(arguments)
        except SystemExit as left:
            code = left.code
        sys.stdout.flush()
        said = sys.stdout.buffer.getvalue().decode()
        return code, said, capsys.readouterr().err, asked

    return run


def test_a_verdict_for_people(shell):
    code, said, complaint, asked = shell("verify", "Tea is a drink.", "Notes.")
    assert (code, complaint) == (0, "")
    assert asked == [ContextPack("Tea is a drink.", "Notes.")]
    assert said.splitlines() == [
        "2/3 council members agree this is plausible.",
        "emitted, confidence 0.65, council-split; 1.4 s",
        "",
        "  neuron: plausible. It is.",
        "  neuron-ft: plausible. So it is.",
        "  dolphin: uncertain. timeout: No answer in 10 s.",
        "  dolphin, as contrarian, does not refute the claim. Nothing says so.",
        "",
        "domain: verified",
        "  ok  claim-is-data: No order.",
        "",
        "warning: A warning.",
    ]


def test_a_verdict_for_programs(shell):
    code, said, _, _ = shell("verify", "--json", "garbled 茶")
    assert code == 0
    assert json.loads(said)["claim"] == "garbled 茶"
    assert json.loads(said)["votes"][0]["rationale"] == "a\ufffdb\ufffdc"


@pytest.mark.parametrize("arguments", [["verify"], ["verify", "-"]])
def test_a_claim_from_stdin(shell, arguments):
    assert shell(*arguments, stdin="Tea — \n".encode() + b"\xff\n")[3] == [ContextPack("Tea — \n\ufffd")]


def test_a_context_from_stdin(shell):
    assert shell("verify", "Tea", "-", stdin=b"Notes\n")[3] == [ContextPack("Tea", "Notes")]


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
def test_arguments_at_fault(shell, arguments, word):
    code, said, complaint, asked = shell(*arguments)
    assert (code, said, asked) == (2, "", [])
    assert word in complaint


def test_a_configuration_at_fault(shell, monkeypatch):
    monkeypatch.setenv("NEURON_COUNCIL_MAX_LOOPS", "many")
    code, _, complaint, _ = shell("verify", "Tea")
    assert code == 2
    assert "NEURON_COUNCIL_MAX_LOOPS" in complaint


def test_an_unknown_variable_is_said(shell, monkeypatch):
    monkeypatch.setenv("NEURON_COUNCIL_NONSENSE", "1")
    code, _, complaint, _ = shell("verify", "Tea")
    assert code == 0
    assert "NEURON_COUNCIL_NONSENSE" in complaint


def test_interrupted(shell, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(verify, "_judge", interrupt)
    assert shell("verify", "Tea")[0] == 130


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


def test_what_a_model_says_cannot_steer_the_terminal():
    assert terminal.one_line("a\x1b[2Jb\r\nc\u202e  d\x00") == "a [2Jb c d"

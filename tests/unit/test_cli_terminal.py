"""What a terminal is shown, and the table of exit codes."""

import json
import re
from pathlib import Path

import pytest

from neuron_council.cli import exits, program, terminal

HOSTILE = "a\x1b[2Jb\r\nc\u202e  d\x00\x9b"


def test_what_a_model_says_cannot_steer_the_terminal(capsys):
    terminal.complain(HOSTILE)
    assert capsys.readouterr().err == "neuron-council: a^[[2Jb c\\u202e d^@\\u009b\n"


@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_the_same_for_a_program_and_harmless_for_a_terminal(indent):
    value = {"said": [HOSTILE, "茶 😀 é", "\U000e0041"]}
    text = terminal.as_json(value, indent=indent)
    assert json.loads(text) == value
    assert all(char.isprintable() for char in text.replace("\n", ""))
    assert "茶 😀 é" in text


def test_a_line_is_shortened_to_the_terminal():
    assert terminal.shortened("four five\nsix", 9) == "four fiv…"
    assert terminal.shortened("four", 4) == "four"


def test_arguments_are_cleaned():
    assert terminal.text_of("a\x00\udcff") == "a\ufffd\ufffd"


def test_the_documentation_has_the_same_exit_codes():
    page = Path(__file__).parents[2] / "docs" / "cli.md"
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", page.read_text("utf-8"), re.MULTILINE)
    assert [(int(code), meaning) for code, meaning in rows] == [(each.code, each.of_all()) for each in exits.EXITS]


def codes(said):
    """The exit codes of a help, each with what it means."""
    rows = re.findall(r"^  (\d+) +(.+(?:\n {7}.+)*)$", said.out.partition("exit codes:")[2], re.MULTILINE)
    return {int(code): " ".join(meaning.split()) for code, meaning in rows}


def test_the_help_of_the_program_has_every_exit_code(shell):
    assert codes(shell("--help")) == {each.code: each.of_all() for each in exits.EXITS}


@pytest.mark.parametrize(
    ("command", "own"),
    [
        ("verify", {0: "the claim may be stored", 1: "flagged or rejected", 3: "parked, a person has to decide",
                    4: "no member could be asked"}),
        ("batch", {0: "every line was judged", 3: "some lines are at fault or unavailable"}),
        ("list", {0: "done"}),
        ("forget", {0: "done", 1: "no such verdict, or none that a person decides; not confirmed"}),
        ("serve", {0: "shutdown, then exit", 1: "exit alone, or stdin, stdout or the parent is gone",
                   130: "128 + n after signal n"}),
    ],
)  # fmt: skip
def test_the_help_of_a_command_has_its_own_exit_codes(shell, command, own):
    common = {each.code: each.says for each in exits.EXITS if each.code in (2, 5, 70, 130, 141)}
    assert codes(shell(command, "--help")) == {**common, **own}


def test_every_case_is_one_of_a_command():
    named = {name for each in exits.EXITS for names, _ in each.cases for name in names}
    assert named <= {command.__name__.rpartition(".")[2].replace("listing", "list") for command in program.COMMANDS}


@pytest.mark.parametrize("arguments", [["--help"], ["batch", "--help"], ["doctor", "--help"]])
def test_help_has_the_exit_codes(shell, arguments):
    said = shell(*arguments)
    assert said.code == 0
    assert "exit codes:" in said.out
    assert "  130  interrupted" in said.out


def test_the_documentation_names_every_command():
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    names = [command.__name__.rpartition(".")[2].replace("listing", "list") for command in program.COMMANDS]
    assert [name for name in names if f"`neuron-council {name}" not in page] == []

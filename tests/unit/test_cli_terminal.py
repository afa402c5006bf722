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
    assert [(int(code), meaning) for code, meaning in rows] == list(exits.EXITS)


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

"""The board: the contrarian last, whatever the file says, and what is no board."""

import itertools

import pytest

from neuron_council.errors import ConfigError
from neuron_council.maker.board import DEFAULT_SPECS, MemberSpec, order

A = MemberSpec("a", "model-a", "member")
B = MemberSpec("b", "model-b", "member")
D = MemberSpec("d", "model-d", "member")
Z = MemberSpec("z", "model-z", "contrarian")


def ids(*specs):
    return [spec.id for spec in order(specs, "council.toml")]


def test_the_default_board():
    assert [(spec.id, spec.model, spec.role, spec.backend) for spec in DEFAULT_SPECS] == [
        ("neuron", "neuron:latest", "member", "ollama"),
        ("neuron-ft", "neuron-ft:latest", "member", "ollama"),
        ("dolphin", "dolphin3:8b", "contrarian", "ollama"),
    ]
    assert order(DEFAULT_SPECS, "default board") == DEFAULT_SPECS


@pytest.mark.parametrize("seat", range(4))
def test_the_contrarian_is_last_wherever_it_stands(seat):
    others = [B, A, D]
    assert ids(*others[:seat], Z, *others[seat:]) == ["b", "a", "d", "z"]


def test_the_others_keep_their_order():
    for some in itertools.permutations([A, B, D]):
        assert ids(Z, *some) == [*(spec.id for spec in some), "z"]


def test_two_others_are_enough():
    assert ids(A, Z, B) == ["a", "b", "z"]


def test_a_spec_names_its_member_as_the_evidence_does():
    member = Z.member
    assert (member.id, member.model, member.role) == ("z", "model-z", "contrarian")


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        pytest.param([A, B, D], ["contrarian", "none"], id="no contrarian"),
        pytest.param([A, B, Z, MemberSpec("y", "m", "contrarian")], ["contrarian", "z", "y"], id="two contrarians"),
        pytest.param([A, Z], ["2", "1", "z"], id="one other"),
        pytest.param([Z], ["2", "0"], id="the contrarian alone"),
        pytest.param([A, B, Z, MemberSpec("b", "m", "member")], ["id", "'b'", "twice"], id="an id twice"),
        pytest.param([A, B, Z, MemberSpec("z", "m", "member")], ["id", "'z'", "twice"], id="the contrarian's id twice"),
        pytest.param([], ["contrarian"], id="nobody"),
    ],
)
def test_what_is_no_board_is_named_with_file_entry_and_reason(specs, words):
    with pytest.raises(ConfigError) as caught:
        order(specs, "/home/council.toml")
    message = str(caught.value)
    for word in ["/home/council.toml", "[[member]]", *words]:
        assert word in message
    assert "\n" not in message

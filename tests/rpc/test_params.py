"""Parameters: what is taken, and refusals that name the field and never its value."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygls.exceptions import JsonRpcInvalidParams

from neuron_council.rpc.params import InitializeParams, NoParams, VerifyParams, structure

UUID = "550E8400-e29b-41d4-a716-446655440000"


def test_a_claim_is_enough():
    assert structure({"claim": "Tea is a drink."}, VerifyParams) == VerifyParams("Tea is a drink.")


def test_everything_that_can_be_said():
    given_ = {"claim": "茶", "context": "", "id": UUID, "fresh": True, "deadline_ms": 1, "workDoneToken": 2}
    given_ |= {"background": True, "more": []}
    assert structure(given_, VerifyParams) == VerifyParams("茶", "", UUID, True, 1, 2, background=True)


def test_null_is_absent_as_emacs_sends_it():
    fields = ("context", "id", "fresh", "deadline_ms", "workDoneToken", "background")
    assert structure({"claim": "Tea", **dict.fromkeys(fields)}, VerifyParams) == VerifyParams("Tea")
    assert structure(None, NoParams) == structure({}, NoParams) == NoParams()


def test_text_is_cleaned_on_entry():
    got = structure({"claim": "a\x00\ud83d", "context": "\udc00", "workDoneToken": "t\x00"}, VerifyParams)
    assert got == VerifyParams("a\ufffd\ufffd", "\ufffd", None, False, None, "t\ufffd")
    options = structure({"initializationOptions": {"member": [{"model": "m\x00"}]}}, InitializeParams)
    assert options.initialization_options == {"member": [{"model": "m\ufffd"}]}


@pytest.mark.parametrize("length", [1, 8_000])
def test_the_longest_claim_is_counted_in_characters(length):
    assert structure({"claim": "🍵" * (length - 1) + "x"}, VerifyParams)


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "claim"),
        ({"claim": None}, "claim"),
        ({"claim": 7}, "claim"),
        ({"claim": True}, "claim"),
        ({"claim": ["Quokka"]}, "claim"),
        ({"claim": {"Quokka": 1}}, "claim"),
        ({"claim": ""}, "claim"),
        ({"claim": "   "}, "claim"),
        ({"claim": ":-)"}, "claim"),
        ({"claim": "\ud83d\x00"}, "claim"),
        ({"claim": "Quokka" * 2000}, "claim"),
        ({"claim": "x", "context": 3}, "context"),
        ({"claim": "x", "context": ["Quokka"]}, "context"),
        ({"claim": "x", "context": "Quokka " * 4000}, "context"),
        ({"claim": "x", "id": 7}, "id"),
        ({"claim": "x", "id": "Quokka"}, "id"),
        ({"claim": "x", "id": f"{{{UUID}}}"}, "id"),
        ({"claim": "x", "id": UUID + "\n"}, "id"),
        ({"claim": "x", "fresh": "yes"}, "fresh"),
        ({"claim": "x", "fresh": 1}, "fresh"),
        ({"claim": "x", "background": "yes"}, "background"),
        ({"claim": "x", "background": 0}, "background"),
        ({"claim": "x", "deadline_ms": 0}, "deadline_ms"),
        ({"claim": "x", "deadline_ms": -1}, "deadline_ms"),
        ({"claim": "x", "deadline_ms": "1"}, "deadline_ms"),
        ({"claim": "x", "deadline_ms": 1.0}, "deadline_ms"),
        ({"claim": "x", "deadline_ms": True}, "deadline_ms"),
        ({"claim": "x", "workDoneToken": 1.5}, "workDoneToken"),
        ({"claim": "x", "workDoneToken": True}, "workDoneToken"),
        ({"claim": "x", "workDoneToken": ["Quokka"]}, "workDoneToken"),
        ({"claim": "x", "workDoneToken": 2**63}, "workDoneToken"),
        ([1, 2], "params"),
        ("Quokka", "params"),
        (7, "params"),
        (False, "params"),
        ([], "params"),
    ],
)
def test_a_refusal_names_the_field_and_keeps_the_value(params, field):
    with pytest.raises(JsonRpcInvalidParams) as caught:
        structure(params, VerifyParams)
    assert caught.value.code == -32602
    assert caught.value.message.startswith(f"{field}: ")
    assert "Quokka" not in caught.value.message
    assert caught.value.__cause__ is None


def test_of_several_faults_the_first_is_named():
    with pytest.raises(JsonRpcInvalidParams, match=r"^claim: "):
        structure({"context": 5}, VerifyParams)


@pytest.mark.parametrize("value", ["1", 1.5, True, []])
def test_the_process_id_of_initialize(value):
    with pytest.raises(JsonRpcInvalidParams, match=r"^processId: must be a whole number"):
        structure({"processId": value}, InitializeParams)


def test_options_that_are_nested_too_deeply_are_refused():
    nested = []
    for _ in range(5_000):
        nested = [nested]
    with pytest.raises(JsonRpcInvalidParams, match="nested too deeply"):
        structure({"initializationOptions": {"council": nested}}, InitializeParams)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=2)
)
NAMES = st.sampled_from(["claim", "context", "id", "fresh", "deadline_ms", "workDoneToken", "work_done_token", "x"])


@given(st.dictionaries(NAMES, JSON) | JSON)
def test_any_json_is_taken_or_refused(params):
    with suppress(JsonRpcInvalidParams):
        got = structure(params, VerifyParams)
        assert type(got.claim) is str
        assert got.claim == params["claim"].replace("\x00", "\ufffd")
        assert type(got.fresh) is bool
        assert got.deadline_ms is None or (type(got.deadline_ms) is int and got.deadline_ms >= 1)

"""Progress of one request, as the client is told it."""

import asyncio

import pytest

from fake_council import VOTES
from neuron_council.rpc.progress import Progress


@pytest.fixture
def told():
    return []


def progress(told, token=7):
    def line(kind):
        return lambda method, params: told.append((kind, method, params["token"], params["value"]))

    return Progress(line("notify"), line("hint"), token, 3)


def test_a_report_for_each_vote_between_begin_and_end(told):
    with progress(told) as telling:
        for vote in VOTES:
            telling.vote(vote)
    assert {(method, token) for _, method, token, _ in told} == {("$/progress", 7)}
    assert [kind for kind, *_ in told] == ["notify", "hint", "hint", "hint", "notify"]
    assert [value for *_, value in told] == [
        {"kind": "begin", "title": "The council judges a claim", "cancellable": True, "percentage": 0},
        {"kind": "report", "cancellable": True, "message": "neuron: plausible (1/3)", "percentage": 33},
        {"kind": "report", "cancellable": True, "message": "neuron-ft: plausible (2/3)", "percentage": 67},
        {"kind": "report", "cancellable": True, "message": "dolphin: failed (timeout) (3/3)", "percentage": 100},
        {"kind": "end", "message": "answered"},
    ]


def test_a_later_loop_is_counted_anew_and_no_percentage_falls(told):
    with progress(told) as telling:
        for vote in (*VOTES, *VOTES[:2]):
            telling.vote(vote)
    late = [value for *_, value in told][4:6]
    assert [value["message"] for value in late] == [
        "loop 2, neuron: plausible (1/3)",
        "loop 2, neuron-ft: plausible (2/3)",
    ]
    assert not any("percentage" in value for value in late)


@pytest.mark.parametrize(("error", "said"), [(asyncio.CancelledError(), "cancelled"), (ValueError("Quokka"), "failed")])
def test_it_ends_also_when_the_request_does_not_end_well(told, error, said):
    with pytest.raises(type(error)), progress(told):
        raise error
    assert told[-1][3] == {"kind": "end", "message": said}


def test_without_a_token_nothing_is_told(told):
    with progress(told, None) as telling:
        telling.vote(VOTES[0])
    assert told == []


def test_a_token_of_zero_is_a_token(told):
    with progress(told, 0):
        pass
    assert [token for _, _, token, _ in told] == [0, 0]

"""The protocol in one process: states, replies, cancellation, limits, and that nothing is kept of what is done."""

import asyncio

import pytest

from fake_council import FakeCouncil
from neuron_council.rpc import protocol as protocols
from neuron_council.rpc.protocol import State
from protocol_bench import Bench

CLAIM = {"claim": "Tea is a drink."}
WAIT = {"claim": "wait for it"}


@pytest.fixture
async def new():
    bench = Bench()
    yield bench
    await bench.server.close()


@pytest.fixture
async def bench(new):
    return new.initialized()


async def test_initialize_announces_what_is_served_and_no_more(new):
    new.send(1, "initialize", {"processId": 4711, "initializationOptions": {"council": {}}})
    assert new.sink[0]["result"] == {
        "capabilities": {"experimental": {"neuronCouncil": {"protocol": 1, "methods": list(protocols.METHODS)}}},
        "serverInfo": {"name": "neuron-council", "version": new.server.version},
    }
    assert (new.options, new.watched) == ([{"council": {}}], [4711])
    assert new.councils == []  # it convenes behind the reply
    await new.settled()
    assert len(new.councils) == 1


async def test_a_fault_in_the_configuration_is_the_reply_to_initialize_and_on_stderr(new, capsys):
    new.send(1, "initialize", {"initializationOptions": "wrong"})
    said = "council.toml: [council] max_loops: it must be 1 to 3."
    assert new.sink[0]["error"] == {"code": -32803, "message": said}
    assert capsys.readouterr().err == f"neuron-council: {said}\n"
    new.send(2, "council/health")
    new.send(3, "initialize")
    new.send(4, "council/health")
    await new.settled()
    assert new.codes() == [(1, -32803), (2, -32002), (3, None), (4, None)]


async def test_warnings_of_the_configuration_are_said_on_stderr(new, capsys):
    new.initialized()
    assert capsys.readouterr().err == "neuron-council: A variable is unknown.\n"


async def test_before_initialize(new):
    for ident, method in enumerate(["council/verify", "council/nonsense", "shutdown", "textDocument/hover"]):
        new.send(ident, method)
    new.send(None, "initialized")
    new.send(9, "initialize", [])
    assert new.codes() == [(0, -32002), (1, -32002), (2, -32002), (3, -32002), (9, -32602)]
    assert new.protocol.state is State.NEW


async def test_while_running(bench):
    bench.send(1, "initialize")
    bench.send(2, "council/nonsense", [1])
    bench.send(3, "exit")
    bench.send(4, "textDocument/didOpen", {})
    bench.send(5, "council/verify")
    bench.send(6, "workspace/executeCommand", {"command": "x"})
    assert bench.codes() == [(1, -32600), (2, -32601), (3, -32601), (4, -32601), (5, -32602), (6, -32601)]
    assert bench.exits == []


async def test_notifications_are_never_answered(bench):
    for method in ["initialized", "$/setTrace", "$/unknown", "textDocument/didOpen", "council/verify", "shutdown"]:
        for params in [None, {}, [1], "x", {"value": {}}]:
            bench.send(None, method, params)
    await bench.settled()
    assert bench.sink == []
    assert bench.protocol.state is State.RUNNING


async def test_a_claim_is_judged_as_asked(bench):
    ident = "550e8400-e29b-41d4-a716-446655440000"
    bench.send(1, "council/verify", {**WAIT, "context": "Notes.", "id": ident, "fresh": True, "deadline_ms": 1500})
    await bench.settled()
    (call,) = bench.council.calls
    assert (call["pack"].claim, call["pack"].context) == ("wait for it", "Notes.")
    assert (call["id"], call["deadline_s"], call["fresh"]) == (ident, 1.5, True)
    bench.send(2, "council/verify", CLAIM)
    await bench.settled()
    assert bench.sink[0]["result"]["claim"] == CLAIM["claim"]


@pytest.mark.parametrize(
    ("params", "is_urgent"), [({}, True), ({"background": False}, True), ({"background": True}, False)]
)
async def test_a_claim_in_the_background_is_not_urgent(bench, params, is_urgent):
    bench.send(1, "council/verify", {**WAIT, **params})
    await bench.settled()
    assert [call["is_urgent"] for call in bench.council.calls] == [is_urgent]


async def test_a_deadline_over_the_configured_one_is_refused(bench):
    bench.send(1, "council/verify", {**CLAIM, "deadline_ms": 60_001})
    bench.send(2, "council/verify", {**CLAIM, "deadline_ms": 60_000})
    await bench.settled()
    assert bench.sink[0]["error"]["message"].startswith("deadline_ms: must be a whole number from 1 to 60000")
    assert bench.codes() == [(1, -32602), (2, None)]


@pytest.mark.parametrize(("word", "code", "text"), [
    ("refuse", -32803, "The council is out to lunch."),
    ("crash", -32603, "internal error"),
    ("nan", -32603, "internal error"),
])  # fmt: skip
async def test_what_goes_wrong_in_a_method_is_its_reply(bench, caplog, word, code, text):
    bench.send(1, "council/verify", {"claim": f"{word} Quokka"})
    await bench.settled()
    assert list(bench.sink[0]["error"]) == ["code", "message"]
    assert bench.sink[0]["error"]["message"].startswith(text)
    assert "Quokka" not in bench.sink[0]["error"]["message"] + caplog.text
    if code == -32603:
        incident = bench.sink[0]["error"]["message"].rsplit(" ", 1)[1]
        assert f"incident {incident}: builtins.ValueError at " in caplog.text
    assert bench.codes() == [(1, code)]


async def test_a_council_that_cannot_convene_answers_every_request(new):
    def broken(_):
        raise ImportError("no such thing")

    new.server._convene = broken
    bench = new.initialized()
    bench.send(1, "council/health")
    bench.send(2, "council/verify", CLAIM)
    await bench.settled()
    assert bench.codes() == [(1, -32603), (2, -32603)]


async def test_cancelling_a_request_leaves_the_council_that_it_waits_for(new, monkeypatch):
    convened = asyncio.Event()
    monkeypatch.setattr(FakeCouncil, "start", lambda *_, **__: convened.wait())
    bench = new.initialized()
    bench.send(1, "council/health")
    bench.send(2, "council/health")
    await bench.settled()
    bench.send(None, "$/cancelRequest", {"id": 1})
    await bench.settled()
    assert bench.codes() == [(1, -32800)]
    convened.set()
    await bench.settled()
    assert bench.codes() == [(2, None)]


async def test_unreadable_characters_are_replaced_on_the_way_out(bench):
    bench.send(1, "council/verify", {"claim": "garbled \x00"})
    await bench.settled()
    assert bench.sink[0]["result"]["claim"] == "garbled \ufffd"
    assert bench.sink[0]["result"]["votes"][0]["rationale"] == "a\ufffdb\ufffdc"


async def test_ids_are_told_apart_by_type_and_one_in_flight_is_not_taken_twice(bench):
    bench.send(1, "council/verify", WAIT)
    bench.send("1", "council/verify", WAIT)
    bench.send(1, "council/health")
    await bench.settled()
    assert bench.codes() == [(1, -32600)]
    bench.send(None, "$/cancelRequest", {"id": "1"})
    await bench.settled()
    assert bench.codes() == [("1", -32800)]
    bench.send("1", "council/health")
    await bench.settled()
    assert bench.codes() == [("1", None)]
    assert len(bench.council.calls) == 1


async def test_a_reply_whose_id_is_in_flight_here_changes_nothing(bench):
    bench.send(1, "council/verify", WAIT)
    bench.protocol.dispatch(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    await bench.settled()
    assert (bench.codes(), len(bench.council.calls)) == ([], 1)


@pytest.mark.parametrize("notice", [("$/cancelRequest", {"id": 1}), ("window/workDoneProgress/cancel", {"token": "t"})])
@pytest.mark.parametrize("wait", [True, False])
async def test_either_cancel_stops_the_request(bench, notice, wait):
    bench.send(1, "council/verify", {**WAIT, "workDoneToken": "t"})
    if wait:
        await bench.settled()
        assert len(bench.council.calls) == 1
    bench.send(None, *notice)
    bench.send(None, *notice)
    await bench.settled()
    kinds = [m["params"]["value"]["kind"] for m in bench.sink if "method" in m]
    assert kinds == (["begin", "report", "report", "end"] if wait else [])
    assert "method" not in bench.sink[-1]  # progress ends before the reply
    assert bench.codes() == [(1, -32800)]
    assert bench.council.calls == []


async def test_a_cancel_of_nothing_is_ignored(bench):
    bench.send(1, "council/verify", {**WAIT, "workDoneToken": 5})
    for params in [
        {"id": 2},
        {"id": "1"},
        {"id": None},
        {"id": [1]},
        {"id": {}},
        {"id": 1.0},
        {"id": True},
        {},
        None,
        [1],
    ]:
        bench.send(None, "$/cancelRequest", params)
        bench.send(
            None, "window/workDoneProgress/cancel", params and {"token": 9, **dict(params)} if params != [1] else params
        )
    for token in [4, "5", None, [5], {}, True, 5.0]:
        bench.send(None, "window/workDoneProgress/cancel", {"token": token})
    await bench.settled()
    assert (bench.codes(), len(bench.council.calls)) == ([], 1)


async def test_a_cancelled_request_that_cleans_up_is_answered_once_it_has(bench):
    bench.send(1, "council/verify", {"claim": "stubborn"})
    await bench.settled()
    bench.send(None, "$/cancelRequest", {"id": 1})
    await bench.settled()
    bench.send(None, "$/cancelRequest", {"id": 1})  # must not cut the cleaning up short
    bench.send(1, "council/health")  # nor is the id free yet
    await bench.settled()
    assert bench.codes() == [(1, -32600)]
    await asyncio.sleep(0.3)
    assert bench.codes() == [(1, -32800)]


async def test_a_token_in_flight_is_not_taken_twice_and_free_afterwards(bench):
    bench.send(1, "council/verify", {**WAIT, "workDoneToken": 7})
    bench.send(2, "council/verify", {**CLAIM, "workDoneToken": 7})
    bench.send(3, "council/verify", {**CLAIM, "workDoneToken": "7"})
    await bench.settled()
    assert bench.codes() == [(2, -32602), (3, None)]
    bench.send(None, "$/cancelRequest", {"id": 1})
    await bench.settled()
    bench.send(4, "council/verify", {**CLAIM, "workDoneToken": 7})
    await bench.settled()
    assert bench.codes() == [(1, -32800), (4, None)]


async def test_one_claim_too_many_is_busy_and_health_is_not(bench, monkeypatch):
    monkeypatch.setattr(protocols, "MAX_LONG", 3)
    for ident in range(5):
        bench.send(ident, "council/verify", WAIT)
    bench.send("health", "council/health")
    await bench.settled()
    assert bench.sink[0]["error"]["message"].startswith("busy: ")
    assert bench.codes() == [(3, -32803), (4, -32803), ("health", None)]
    bench.send(None, "$/cancelRequest", {"id": 0})
    await bench.settled()
    bench.send(5, "council/verify", CLAIM)
    await bench.settled()
    assert bench.codes() == [(0, -32800), (5, None)]


async def test_reading_stops_while_too_much_is_in_flight(bench, monkeypatch):
    monkeypatch.setattr(protocols, "MAX_IN_FLIGHT", 2)
    bench.send(1, "council/verify", WAIT)
    await asyncio.wait_for(bench.protocol.room(), 1)
    bench.send(2, "council/verify", WAIT)
    room = asyncio.ensure_future(bench.protocol.room())
    await bench.settled()
    assert not room.done()
    bench.send(None, "$/cancelRequest", {"id": 2})
    await asyncio.wait_for(room, 1)


async def test_shutdown_answers_what_is_in_flight_and_then_itself(bench):
    bench.send(1, "council/verify", WAIT)
    bench.send(2, "council/verify", {**WAIT, "workDoneToken": 0})
    await bench.settled()
    bench.sink.clear()
    bench.send(3, "shutdown")
    bench.send(4, "council/health")
    bench.send(5, "shutdown")
    bench.send(6, "initialize")
    await bench.settled()
    assert bench.sink[-1] == {"jsonrpc": "2.0", "id": 3, "result": None}
    assert bench.codes() == [(4, -32600), (5, -32600), (6, -32600), (1, -32800), (2, -32800), (3, None)]
    bench.send(None, "exit")
    assert [code for code, _ in bench.exits] == [0]


async def test_shutdown_does_not_wait_for_what_does_not_end(bench, monkeypatch, caplog):
    monkeypatch.setattr(protocols, "SHUT_DOWN_S", 0.05)
    bench.send(1, "council/verify", {"claim": "deaf", "workDoneToken": "t"})
    await bench.settled()
    bench.send(2, "shutdown")
    await asyncio.sleep(0.1)
    await bench.settled()
    assert bench.codes() == [(1, -32800), (2, None)]
    assert bench.protocol._tokens == {}
    bench.council.released.set()
    await bench.settled()
    assert bench.codes() == []  # what was given up has had its reply
    assert caplog.text == ""


async def test_exit_alone(bench):
    bench.send(None, "exit")
    assert [code for code, _ in bench.exits] == [1]


async def test_close_answers_what_is_in_flight_and_closes_the_council(bench):
    bench.send(1, "council/verify", WAIT)
    await bench.settled()
    await bench.server.close()
    assert bench.codes() == [(1, -32800)]
    assert bench.council.closed


async def test_close_before_the_council_has_convened(new):
    new.initialized()
    new.send(1, "council/verify", CLAIM)
    await new.server.close()
    assert new.codes() == [(1, -32800)]


async def test_hints_are_dropped_where_the_client_does_not_read(bench):
    bench.sink.is_congested = True
    bench.send(1, "council/verify", {**CLAIM, "workDoneToken": "t"})
    await bench.settled()
    assert [m["params"]["value"]["kind"] for m in bench.sink if "method" in m] == ["begin", "end"]
    assert bench.codes() == [(1, None)]


async def test_nothing_is_kept_of_what_is_done(bench):
    await bench.settled()
    for ident in range(300):
        bench.send(ident, "council/verify", {**CLAIM, "workDoneToken": ident})
        bench.send(f"h{ident}", "council/health")
        bench.send(f"w{ident}", "council/verify", {**WAIT, "workDoneToken": f"w{ident}"})
        bench.send(f"n{ident}", "council/nonsense")
        bench.send(None, "$/setTrace", {"value": "off"})
        bench.send(None, "$/cancelRequest", {"id": f"w{ident}"})
        bench.send(None, "initialized", {})
    await bench.settled()
    assert len(bench.codes()) == 1200
    protocol = bench.protocol
    kept = (
        protocol._request_futures,
        protocol._result_types,
        protocol.progress.tokens,
        protocol._calls,
        protocol._tokens,
    )
    assert [len(each) for each in kept] == [0] * 5
    assert protocol._long == 0
    assert len(asyncio.all_tasks()) == 1


async def test_the_parts_of_pygls_that_are_leaned_on(bench):
    # Private names of pygls 2.1: where one of them goes, this says so before anything subtle does.
    from pygls.protocol import LanguageServerProtocol

    for name in ("_handle_request", "_handle_cancel_notification", "_send_handler_result", "_send_response", "notify"):
        assert callable(getattr(LanguageServerProtocol, name))
    bench.send(1, "council/verify", WAIT)
    assert list(bench.protocol._request_futures) == [1]
    assert set(bench.protocol.fm.features) == set(protocols.METHODS)

"""The server over real stdio: what is sent, byte for byte, and what comes back."""

from pathlib import Path

import pytest

from neuron_council.rpc.methods import METHODS
from wire_harness import Wire, framed, notification, request

CLAIM = {"claim": "Tea is a drink."}
WAIT = {"claim": "wait for it"}
UNKNOWN, INVALID, PARAMS, PARSE = -32601, -32600, -32602, -32700


@pytest.fixture(scope="module")
def wire(tmp_path_factory):
    """One server for all that it must survive."""
    with Wire(tmp_path_factory.mktemp("home")) as wire:
        yield wire
        assert wire.leave() == 0
        assert wire.rest() == [{"jsonrpc": "2.0", "id": "bye", "result": None}]
        assert (wire.noise, wire.headers) == (b"", {b"Content-Length"})
        assert b"Traceback" not in wire.stderr


def nested(ident, depth=50_000):
    return b'{"jsonrpc":"2.0","id":"%b","method":"council/verify","params":{"claim":%b1%b}}' % (
        ident.encode(),
        b"[" * depth,
        b"]" * depth,
    )


SURVIVED = {
    "unknown method": (framed(request("a", "council/nonsense", {})), "a", UNKNOWN),
    "unknown method without params": (framed(request("b", "council/nonsense")), "b", UNKNOWN),
    "known method without params": (framed(request("c", "council/health")), "c", None),
    "known method without params that it needs": (framed(request("d", "council/verify")), "d", PARAMS),
    "unknown top-level key": (framed({**request("e", "council/health"), "trace": 1}), "e", None),
    "params that are no object": (framed(request("f", "council/verify", [1])), "f", PARAMS),
    "params of the wrong type": (framed(request("g", "council/verify", {"claim": 7})), "g", PARAMS),
    "malformed JSON": (framed(b'{"jsonrpc":"2.0","id":"h",'), None, PARSE),
    "invalid UTF-8": (framed(b'{"jsonrpc":"2.0","id":"\xff"}'), None, PARSE),
    "UTF-16": (framed('{"jsonrpc":"2.0","id":"i","method":"council/health"}'.encode("utf-16")), None, PARSE),
    "a byte order mark": (framed(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":"j","method":"council/health"}'), None, PARSE),
    "a batch": (framed([request("k", "council/health")]), None, INVALID),
    "a scalar": (framed(5), None, INVALID),
    "no jsonrpc": (framed({"id": "l", "method": "council/health"}), "l", INVALID),
    "jsonrpc 1.0": (framed({"jsonrpc": "1.0", "id": "m", "method": "council/health"}), "m", INVALID),
    "id null": (framed(request(None, "council/health")), None, INVALID),
    "id 1.5": (framed(request(1.5, "council/health")), None, INVALID),
    "id of more than 64 bits": (framed(request(1 << 64, "council/health")), None, INVALID),
    "the largest id": (framed(request((1 << 63) - 1, "council/health")), (1 << 63) - 1, None),
    "a zero id": (framed(request(0, "council/health")), 0, None),
    "an empty id": (framed(request("", "council/health")), "", None),
    "a nested jsonrpc": (framed(request("n", "council/verify", {"claim": {"jsonrpc": "2.0"}})), "n", PARAMS),
    "a second initialize": (framed(request("o", "initialize", {"capabilities": {}})), "o", INVALID),
    "a result without JSON": (framed(request("p", "council/verify", {"claim": "nan"})), "p", -32603),
    "a crash": (framed(request("q", "council/verify", {"claim": "crash Quokka"})), "q", -32603),
    "lower case and no blank": (
        framed(request("r", "council/health")).replace(b"Content-Length: ", b"content-length:"),
        "r",
        None,
    ),
    "deep nesting": (framed(nested("s")), None, PARSE),
    "nesting that JSON allows": (framed(nested("t", 200)), "t", PARAMS),
    "a number of 5,000 digits": (framed(b'{"jsonrpc":"2.0","id":1,"x":' + b"9" * 5000 + b"}"), None, PARSE),
    "a number of 4,000 digits": (
        framed(request("u", "council/verify", {"claim": "x", "deadline_ms": 10**4000})),
        "u",
        PARAMS,
    ),
    "a number beyond floats": (
        framed(b'{"jsonrpc":"2.0","id":"v","method":"council/verify","params":{"claim":"x","deadline_ms":1e999}}'),
        "v",
        PARAMS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SURVIVED)
def test_what_is_survived(wire, case):
    sent, ident, code = SURVIVED[case]
    wire.raw(sent)
    reply = wire.reply(ident)
    assert reply.get("error", {}).get("code") == code
    assert set(reply) == {"jsonrpc", "id", "result" if code is None else "error"}
    if code is not None:
        assert set(reply["error"]) == {"code", "message"}
        assert "Quokka" not in reply["error"]["message"]
        assert "Traceback" not in reply["error"]["message"]
    assert wire.ask("alive", "council/health")["result"]["status"] == "ok"


def test_what_is_said_of_the_server(wire):
    assert wire.initialized["serverInfo"]["name"] == "neuron-council"
    (experimental,) = wire.initialized["capabilities"].items()
    assert experimental == ("experimental", {"neuronCouncil": {"protocol": 1, "methods": list(METHODS)}})


def test_unreadable_characters_are_replaced_on_entry_and_exit(wire):
    wire.raw(
        framed(
            b'{"jsonrpc":"2.0","id":1,"method":"council/verify",'
            b'"params":{"claim":"garbled \\ud83d\\u0000\xf0\x9f\x8d\xb5"}}'
        )
    )
    result = wire.reply(1)["result"]
    assert (result["claim"], result["votes"][0]["rationale"]) == ("garbled \ufffd\ufffd🍵", "a\ufffdb\ufffdc")


def test_one_byte_at_a_time_and_many_messages_at_once(wire):
    for byte in framed(request("slow", "council/health")):
        wire.raw(bytes([byte]))
    assert wire.reply("slow")["result"]["status"] == "ok"
    wire.send(*(request(f"many{n}", "council/health") for n in range(50)))
    assert all(wire.reply(f"many{n}")["result"] for n in range(50))


def test_a_message_of_a_megabyte_goes_and_comes(wire):
    wire.send(request("big", "council/verify", {"claim": "large", "context": "x" * 24_000, "padding": "x" * 1_000_000}))
    assert len(wire.reply("big")["result"]["votes"][0]["rationale"]) == 1_000_000


def test_an_id_in_flight_is_not_taken_twice(wire):
    wire.send(request("twice", "council/verify", WAIT), request("twice", "council/health"))
    assert wire.reply("twice")["error"]["code"] == INVALID
    wire.send(notification("$/cancelRequest", {"id": "twice"}))
    assert wire.reply("twice")["error"]["code"] == -32800


@pytest.mark.parametrize("token", ["tok", 0])
def test_progress_and_its_cancel(wire, token):
    wire.send(request("p", "council/verify", {**WAIT, "workDoneToken": token}))
    assert [wire.progress(token)["kind"] for _ in range(3)] == ["begin", "report", "report"]
    wire.send(notification("window/workDoneProgress/cancel", {"token": token}))
    assert wire.progress(token) == {"kind": "end", "message": "cancelled"}
    assert wire.reply("p")["error"]["code"] == -32800


def test_what_others_print_goes_to_stderr(tmp_path):
    with Wire(tmp_path) as wire:
        assert wire.ask("print", "council/verify", {"claim": "print"})["result"]
        assert wire.leave() == 0  # all of both streams is read by then
    assert wire.noise == b""
    for said in (b"from print", b"from descriptor 1", b"from a child"):
        assert said in wire.stderr


def test_a_body_over_the_limit_is_passed_over(wire):
    # 64 MiB and one byte, which must cost neither the process nor what comes after.
    length = 64 * 1024 * 1024 + 1
    wire.raw(b"Content-Length: %d\r\n\r\n" % length)
    assert wire.reply(None)["error"]["code"] == INVALID
    piece = bytes(1 << 20)
    for _ in range(64):
        wire.raw(piece)
    wire.raw(b"\x00" + framed(request("after", "council/health")))
    assert wire.reply("after")["result"]["status"] == "ok"
    status = Path(f"/proc/{wire.process.pid}/status")
    if status.exists():
        peak_kb = int(status.read_text().partition("VmHWM:")[2].split()[0])
        assert peak_kb < 100_000  # 64 MiB were not kept


LOST = {
    "bare line feeds": b"Content-Length: 2\n\n{}",
    "a length of 4 GB": b"Content-Length: 4000000000\r\n\r\n",
    "a line of JSON": b'{"jsonrpc":"2.0","id":1,"method":"council/health"}\n',
    "a length that is short": framed(b"{}").replace(b" 2", b" 1") + framed(b"{}"),
    "a length that is long": framed(b"{}").replace(b" 2", b" 9") + framed(b"{}"),
    "the end inside a message": b"Content-Length: 100\r\n\r\n{",
}


@pytest.mark.parametrize("case", LOST)
def test_lost_framing_is_said_and_ends_it(tmp_path, case):
    with Wire(tmp_path) as wire:
        wire.send(request("w", "council/verify", WAIT))
        wire.raw(LOST[case])
        if case == "the end inside a message":
            wire.process.stdin.close()
        assert wire.reply(None)["error"]["code"] == PARSE
        assert wire.ended() == 1
        rest = wire.rest()
        assert [(m["id"], m["error"]["code"]) for m in rest if m.get("id")] == [("w", -32800)]
        assert b"Traceback" not in wire.stderr


def test_it_is_there_before_it_is_initialized(tmp_path):
    with Wire(tmp_path, initialize=False) as wire:
        assert wire.ask(1, "council/health")["error"]["code"] == -32002
        wire.send(request(2, "initialize", {}), request(3, "council/health"), notification("exit"))
        assert wire.reply(2)["result"]
        assert wire.ended() == 1

"""Messages: what is read, what is refused with which code and id, and what is written."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_council.rpc import message
from neuron_council.rpc.message import MessageError, Notification, Request, Response

DEEP = 100_000
PARSE, INVALID = -32700, -32600


def test_a_request_a_notification_and_replies_are_told_apart():
    assert message.read(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[]}}') == Request(1, "m", {"a": []})
    assert message.read(b'{"jsonrpc":"2.0","id":"1","method":"m"}') == Request("1", "m", None)
    assert message.read(b'{"jsonrpc":"2.0","method":"m","params":[1]}') == Notification("m", [1])
    assert message.read(b'{"jsonrpc":"2.0","id":1,"result":null}') == Response(1, is_result=True)
    assert message.read(b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}') == Response(1, is_result=False)
    complaint = message.failure(None, -32700, "the body is not JSON")
    assert message.read(complaint) == Response(None, is_result=False)


def test_unknown_keys_are_passed_over_and_nested_messages_are_data():
    body = {"jsonrpc": "2.0", "id": 1, "method": "m", "x": 1, "params": {"claim": {"jsonrpc": "2.0", "id": 2}}}
    assert message.read(json.dumps(body).encode()) == Request(1, "m", body["params"])


@pytest.mark.parametrize(
    ("body", "code", "ident"),
    [
        (b"not json!", PARSE, None),
        (b'{"jsonrpc":"2.0","id":7', PARSE, None),
        (b'\xff{"jsonrpc":"2.0"}', PARSE, None),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"method":"m"}', PARSE, None),
        ('{"jsonrpc":"2.0","id":7,"method":"m"}'.encode("utf-16"), PARSE, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"\xed\xa0\xbd"}}', PARSE, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":NaN}}', PARSE, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":-Infinity}}', PARSE, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":' + b"9" * 5000 + b"}}", PARSE, None),
        (b"[" * DEEP, PARSE, None),
        (b'{"a":' * DEEP, PARSE, None),
        (b"[]", INVALID, None),
        (b'[{"jsonrpc":"2.0","id":7,"method":"m"}]', INVALID, None),
        (b"null", INVALID, None),
        (b"7", INVALID, None),
        (b'"text"', INVALID, None),
        (b"{}", INVALID, None),
        (b'{"id":7,"method":"m"}', INVALID, 7),
        (b'{"jsonrpc":"1.0","id":7,"method":"m"}', INVALID, 7),
        (b'{"jsonrpc":2.0,"id":7,"method":"m"}', INVALID, 7),
        (b'{"jsonrpc":"2.0","id":7}', INVALID, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', INVALID, 7),
        (b'{"jsonrpc":"2.0","method":null}', INVALID, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', INVALID, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', INVALID, None),
        (b'{"jsonrpc":"2.0","id":7.0,"method":"m"}', INVALID, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', INVALID, None),
        (b'{"jsonrpc":"2.0","id":{},"method":"m"}', INVALID, None),
        (b'{"jsonrpc":"2.0","id":[7],"method":"m"}', INVALID, None),
        (b'{"jsonrpc":"2.0","id":9223372036854775808,"method":"m"}', INVALID, None),
        (b'{"jsonrpc":"2.0","id":"\\ud83d","method":"m"}', INVALID, None),
        (b'{"jsonrpc":"2.0","id":"\\u0000","method":"m"}', INVALID, None),
        (b'{"jsonrpc":"2.0","id":null,"result":1}', INVALID, None),
    ],
)
def test_what_is_no_message_is_refused(body, code, ident):
    with pytest.raises(MessageError) as caught:
        message.read(body)
    assert (caught.value.error.code, caught.value.id, type(caught.value.id)) == (code, ident, type(ident))


KEYS = st.sampled_from(["jsonrpc", "id", "method", "params", "x"])
JSON = st.recursive(
    st.none() | st.integers() | st.floats() | st.text() | st.just("2.0"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner),
).map(lambda value: json.dumps(value).encode())


@given(st.binary(max_size=60) | JSON)
def test_any_body_is_read_or_refused(body):
    refusal = None
    try:
        message.read(body)
    except MessageError as error:
        refusal = error
    assert refusal is None or refusal.error.code in (PARSE, INVALID)


def test_an_error_says_nothing_of_the_body():
    with pytest.raises(MessageError) as caught:
        message.read(b'{"claim":"Quokka" "x"}')
    assert "Quokka" not in str(caught.value)
    assert "character 18" in str(caught.value)


def test_ids_go_back_as_they_came_and_a_null_one_is_written():
    assert json.loads(message.result("6", None)) == {"jsonrpc": "2.0", "id": "6", "result": None}
    assert json.loads(message.result(6, {})) == {"jsonrpc": "2.0", "id": 6, "result": {}}
    said = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "x"}}
    assert json.loads(message.failure(None, -32700, "x")) == said


def test_unreadable_characters_become_replacements_wherever_they_stand():
    body = message.notification("m", {"a\x00": ["b\ud83d", {"c": "\udc00\ud83d"}], "d": ("茶🍵",)})
    assert json.loads(body)["params"] == {"a\ufffd": ["b\ufffd", {"c": "\ufffd\ufffd"}], "d": ["茶🍵"]}
    assert "茶🍵".encode() in body


def test_an_escaped_backslash_before_u0000_is_no_null():
    assert json.loads(message.result(1, "\\u0000"))["result"] == "\\u0000"


@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, object(), b"bytes"])
def test_what_has_no_json_is_not_written(value):
    with pytest.raises((TypeError, ValueError)):
        message.result(1, {"x": value})

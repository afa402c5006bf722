"""JSON-RPC 2.0 messages: bodies read strictly, and written so that any reader can take them. Pure."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from attrs import frozen
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest, JsonRpcParseError

from neuron_council.evidence.text import clean

MessageId = int | str

_INT64 = range(-(2**63), 2**63)


@frozen
class Request:
    """A message that gets exactly one reply."""

    id: MessageId
    method: str
    params: Any


@frozen
class Notification:
    """A message that gets none."""

    method: str
    params: Any


@frozen
class Response:
    """A reply to a request of ours, and whether it is a result; an error about what could not be read has no id."""

    id: MessageId | None
    is_result: bool


class MessageError(Exception):
    """A body that is no message; `id` is what the error is answered to, None where none can be read."""

    def __init__(self, id: MessageId | None, error: JsonRpcException) -> None:  # noqa: A002 - the field's name on the wire
        super().__init__(error.message)
        self.id = id
        self.error = error


def read(body: bytes) -> Request | Notification | Response:
    """The message in BODY. Raises MessageError, with -32700 for what is not JSON and -32600 for what is no message."""
    try:
        message = json.loads(body.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise MessageError(None, JsonRpcParseError(f"the body is not JSON in UTF-8: {_fault(error)}")) from None
    if not isinstance(message, dict):
        raise MessageError(None, JsonRpcInvalidRequest("a message is one JSON object; batches are not served"))
    ident = message.get("id")
    if ident is None and "error" in message and "method" not in message:
        return Response(None, is_result=False)  # to answer it with an error could go on for ever
    if not is_id(ident):
        if "id" in message:
            raise MessageError(None, JsonRpcInvalidRequest("id: must be a string or a whole number of 64 bits"))
        ident = None
    if message.get("jsonrpc") != "2.0":
        raise MessageError(ident, JsonRpcInvalidRequest('jsonrpc: must be "2.0"'))
    if "method" not in message:
        if ident is None or not ("result" in message or "error" in message):
            raise MessageError(ident, JsonRpcInvalidRequest("method: is missing"))
        return Response(ident, is_result=message.get("error") is None)
    method = message["method"]
    if not isinstance(method, str):
        raise MessageError(ident, JsonRpcInvalidRequest("method: must be a string"))
    if ident is None:
        return Notification(method, message.get("params"))
    return Request(ident, method, message.get("params"))


def is_id(value: object) -> bool:
    """Whether VALUE can name a request: a string that can be sent back as it came, or a whole number of 64 bits."""
    if isinstance(value, str):
        return clean(value) == value
    return isinstance(value, int) and not isinstance(value, bool) and value in _INT64


def result(id: MessageId, value: Any) -> bytes:  # noqa: A002 - the field's name on the wire
    """The body of a reply. Raises TypeError or ValueError where VALUE has no JSON, NaN and infinity included."""
    return _write({"jsonrpc": "2.0", "id": id, "result": value})


def failure(id: MessageId | None, code: int, text: str) -> bytes:  # noqa: A002 - the field's name on the wire
    """The body of an error reply."""
    return _write({"jsonrpc": "2.0", "id": id, "error": {"code": int(code), "message": text}})


def request(id: MessageId, method: str, params: Any) -> bytes:  # noqa: A002 - the field's name on the wire
    """The body of a request of ours. Raises as `result` does."""
    return _write({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def notification(method: str, params: Any) -> bytes:
    """The body of a notification. Raises as `result` does."""
    return _write({"jsonrpc": "2.0", "method": method, "params": params})


def cleaned(value: Any) -> Any:
    """VALUE, of JSON, with every string in it as `clean` makes it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(item) for item in value]
    return value


def _write(message: dict[str, Any]) -> bytes:
    return json.dumps(cleaned(message), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _fault(error: Exception) -> str:
    """Why a body cannot be read, without a word of it."""
    match error:
        case json.JSONDecodeError():
            return f"{error.msg} at character {error.pos}"
        case UnicodeDecodeError():
            return f"{error.reason} at byte {error.start}"
        case RecursionError():
            return "it is nested too deeply"
        case _:
            return "a number in it is none or has too many digits"

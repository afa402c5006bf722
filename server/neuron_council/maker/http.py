"""One member's HTTP line to its backend: every fault of transport or status comes back as a failure, never raised."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import httpx
from attrs import frozen

from neuron_council.evidence.failure import Err, Failure, FailureKind, Ok
from neuron_council.maker.host import is_loopback

CONNECT_S = 0.7
"""Seconds for a connection: `unavailable` must be answered within 1.5 s (DESIGN), a dead route included."""
MAX_BODY = 4 << 20
"""Bytes of an answer at most; a ballot with its token probabilities has some 200 KiB."""
BUSY_PAUSES_S = (0.1, 0.2, 0.4)
"""Seconds between the tries after a 503."""
MAX_QUOTE = 300
"""Characters of a backend's own error text that are kept."""

_STATUS_KINDS = {401: FailureKind.UNAUTHORIZED, 403: FailureKind.UNAUTHORIZED, 503: FailureKind.BUSY}
_OVERFLOW_WORDS = ("exceed_context_size", "context length", "context size", "context window")
_CLOSED = "closed the connection without an answer"
HTTP_SERVER_ERROR = 500
_HTTP_OK = 200
_HTTP_NOT_FOUND = 404


@frozen
class Refused(Err):
    """An answer with a status that is not 200."""

    status: int


class _Connection:
    """What httpx's trace tells of a request's connection: whether it is a fresh one, and has sent a byte."""

    def __init__(self) -> None:
        self.is_fresh = False
        self.was_heard = False

    async def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Hear one event of the trace."""
        if event == "connection.connect_tcp.started":
            self.is_fresh = True
        elif event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._listen(info["return_value"])

    def _listen(self, stream: Any) -> None:
        read = stream.read

        async def listening(*args: Any, **kwargs: Any) -> bytes:
            data: bytes = await read(*args, **kwargs)
            self.was_heard = self.was_heard or bool(data)
            return data

        stream.read = listening


class Line:
    """An HTTP client of its own for one member: httpx's pool walks all of its connections for each request."""

    def __init__(
        self,
        url: str,
        *,
        connections: int,
        cures: Mapping[FailureKind, str] = MappingProxyType({}),
        api_key: str | None = None,
    ) -> None:
        """URL is the base that paths are added to, CURES what to do about a kind of failure, API_KEY a bearer token."""
        self.url = url
        self._cures = cures
        self._connections = connections
        is_plain = url.startswith("http://")
        self._client = httpx.AsyncClient(
            headers={"Accept-Encoding": "identity", **({"Authorization": f"Bearer {api_key}"} if api_key else {})},
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            trust_env=not is_loopback(url),
            # Building a TLS context takes 40 ms, and a plain line has no use for one.
            verify=not is_plain,
            follow_redirects=False,
        )

    async def get(self, path: str) -> Ok[dict[str, Any]] | Err:
        """The JSON object at PATH, or why there is none. Bounds no time."""
        return await self._send("GET", path, None)

    async def post(self, path: str, body: Mapping[str, Any]) -> Ok[dict[str, Any]] | Err:
        """The JSON object that PATH answers to BODY, or why there is none; whoever is busy is asked again."""
        # ASCII escapes would cost the model tokens where a server counts the text as it came.
        content = json.dumps(body, ensure_ascii=False).encode()
        answer = await self._send("POST", path, content)
        for pause in BUSY_PAUSES_S:
            if isinstance(answer, Ok) or answer.failure.kind is not FailureKind.BUSY:
                break
            await asyncio.sleep(pause)
            answer = await self._send("POST", path, content)
        return answer

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _send(self, method: str, path: str, content: bytes | None) -> Ok[dict[str, Any]] | Err:
        # Each kept connection may have been closed meanwhile: after a restart of the server all of them were.
        for _ in range(self._connections + 1):
            if (answer := await self._once(method, path, content)) is not None:
                return answer
        return self._err(FailureKind.UNREACHABLE, _CLOSED)

    async def _once(self, method: str, path: str, content: bytes | None) -> Ok[dict[str, Any]] | Err | None:
        """One try; None where a kept connection turned out to be closed, which says nothing of the server."""
        connection = _Connection()
        try:
            request = self._client.build_request(
                method,
                self.url + path,
                content=content,
                headers={"Content-Type": "application/json"} if content is not None else {},
                extensions={"trace": connection.trace},
            )
            response = await self._client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return self._err(FailureKind.UNREACHABLE, f"cannot be reached ({_reason(error)})")
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            if not connection.is_fresh:
                return None
            if connection.was_heard:
                return self._err(FailureKind.MALFORMED, "did not answer in HTTP")
            return self._err(FailureKind.UNREACHABLE, _CLOSED)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return self._err(FailureKind.HTTP_ERROR, f"could not be asked ({_reason(error)})")
        try:
            return await self._answer(response)
        finally:
            await response.aclose()

    async def _answer(self, response: httpx.Response) -> Ok[dict[str, Any]] | Err:
        if response.headers.get("content-encoding", "identity") != "identity":
            return self._err(FailureKind.MALFORMED, "sent a compressed body that nobody asked for")
        body = bytearray()
        try:
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > MAX_BODY:
                    return self._err(FailureKind.TOO_LARGE, f"sent more than {MAX_BODY >> 20} MiB")
        except httpx.HTTPError:
            return self._err(FailureKind.MALFORMED, "broke off in the middle of its answer")
        value = _json(bytes(body))
        if response.status_code != _HTTP_OK:
            return self._refusal(response.status_code, value)
        if not isinstance(value, dict):
            return self._err(FailureKind.MALFORMED, "sent a body that is no JSON object")
        if value.get("error"):
            return self._err(FailureKind.HTTP_ERROR, f"answered with an error: {error_text(value)}")
        return Ok(value)

    def _refusal(self, status: int, value: object) -> Err:
        said = error_text(value)
        kind = _STATUS_KINDS.get(status, FailureKind.HTTP_ERROR)
        if any(word in said for word in _OVERFLOW_WORDS):
            kind = FailureKind.CONTEXT_OVERFLOW
        elif status == _HTTP_NOT_FOUND and "not found" in said:
            kind = FailureKind.MODEL_NOT_FOUND
        answer = self._err(kind, f"answered with status {status}{f': {said}' if said else ''}")
        return Refused(answer.failure, status)

    def _err(self, kind: FailureKind, what: str) -> Err:
        return Err(Failure(kind, " ".join(filter(None, (f"{self.url} {what}.", self._cures.get(kind))))))


def error_text(value: object) -> str:
    """The error text of an answer's JSON, at most MAX_QUOTE characters.

    It may be a string, an object with a message, or either as JSON in a string.
    """
    error = value.get("error") if isinstance(value, dict) else None
    if isinstance(error, str) and error.lstrip().startswith("{"):
        inner = _json(error.encode(errors="replace"))
        error = inner.get("error", inner) if isinstance(inner, dict) else error
    if isinstance(error, dict):
        parts = [error.get("type"), error.get("message")]
        error = ": ".join(str(part) for part in parts if part)
    return " ".join(error.split())[:MAX_QUOTE].rstrip(".") if isinstance(error, str) else ""


def _json(body: bytes) -> object:
    try:
        return json.loads(body.decode())
    except (ValueError, RecursionError):
        return None


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__

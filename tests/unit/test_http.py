"""The HTTP line: every fault of transport and status is a failure of the documented kind, and nothing is raised."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from clock import now
from neuron_council.evidence.failure import Err, Failure, FailureKind, Ok
from neuron_council.maker import http
from neuron_council.maker.http import MAX_BODY, MAX_QUOTE, Line, error_text
from support import Request, black_hole, closing, http_answer, raw_server, refusing_url, until

Open = Callable[..., Line]


@pytest.fixture
async def line() -> AsyncIterator[Open]:
    """Opens lines that are closed after the test."""
    lines: list[Line] = []

    def open_line(url: str, connections: int = 4, **more: Any) -> Line:
        lines.append(made := Line(url, connections=connections, **more))
        return made

    async with AsyncExitStack() as stack:
        yield open_line
        for made in lines:
            await stack.enter_async_context(closing(made))


def failure(answer: Ok[Any] | Err) -> Failure:
    assert isinstance(answer, Err), answer
    return answer.failure


OVERFLOW = {"error": {"code": 400, "type": "exceed_context_size_error", "message": "request (7900 tokens) exceeds"}}
CUT = http_answer(200, {"message": "x" * 400})[:-100]

REFUSALS = {
    "server error": (http_answer(500, {"error": "the runner has stopped"}), FailureKind.HTTP_ERROR),
    "bad request": (http_answer(400, {"error": "invalid model name"}), FailureKind.HTTP_ERROR),
    "gateway page": (http_answer(502, b"<html>Bad Gateway</html>"), FailureKind.HTTP_ERROR),
    "busy": (http_answer(503, {"error": "server busy, please try again."}), FailureKind.BUSY),
    "sign in": (http_answer(401, {"error": "unauthorized"}), FailureKind.UNAUTHORIZED),
    "redirect": (http_answer(302, b"", "Location: http://127.0.0.2:9/"), FailureKind.HTTP_ERROR),
    "permanent redirect": (http_answer(308, b"", "Location: http://127.0.0.2:9/"), FailureKind.HTTP_ERROR),
    "no content": (http_answer(204, b""), FailureKind.HTTP_ERROR),
    "error in a 200": (http_answer(200, {"error": "it went wrong"}), FailureKind.HTTP_ERROR),
    "model missing": (http_answer(404, {"error": "model 'cedar:7b' not found"}), FailureKind.MODEL_NOT_FOUND),
    "model missing, older": (
        http_answer(404, {"error": 'model "cedar:7b" not found, try pulling it first'}),
        FailureKind.MODEL_NOT_FOUND,
    ),
    "model missing, OpenAI": (
        http_answer(404, {"error": {"message": "model 'cedar:7b' not found", "type": "not_found_error"}}),
        FailureKind.MODEL_NOT_FOUND,
    ),
    "route missing": (http_answer(404, b"404 page not found"), FailureKind.HTTP_ERROR),
    "too long": (http_answer(400, OVERFLOW), FailureKind.CONTEXT_OVERFLOW),
    "too long, JSON in a string": (http_answer(400, {"error": json.dumps(OVERFLOW)}), FailureKind.CONTEXT_OVERFLOW),
    "too long, native": (
        http_answer(400, {"error": "the prompt is longer than the context length currently available to the model"}),
        FailureKind.CONTEXT_OVERFLOW,
    ),
    "too long, MLX": (
        http_answer(400, {"error": "input length (9 tokens) exceeds the model's maximum context length (4 tokens)"}),
        FailureKind.CONTEXT_OVERFLOW,
    ),
    "no JSON": (http_answer(200, b"\x00{{{"), FailureKind.MALFORMED),
    "empty body": (http_answer(200, b""), FailureKind.MALFORMED),
    "no UTF-8": (http_answer(200, b'{"a": "\xff"}'), FailureKind.MALFORMED),
    "a list": (http_answer(200, ["a"]), FailureKind.MALFORMED),
    "null": (http_answer(200, b"null"), FailureKind.MALFORMED),
    "nested without end": (http_answer(200, b"[" * 200_000), FailureKind.MALFORMED),
    "cut off": (CUT, FailureKind.MALFORMED),
    "cut off in the head": (b"HTTP/1.1 200 OK\r\nContent-Le", FailureKind.MALFORMED),
    "compressed": (http_answer(200, b"\x1f\x8b\x08", "Content-Encoding: gzip"), FailureKind.MALFORMED),
    "another protocol": (b"SSH-2.0-OpenSSH_9.2\r\n", FailureKind.MALFORMED),
    "closed at once": (b"", FailureKind.UNREACHABLE),
    "too large": (http_answer(200, b" " * (MAX_BODY + 1)), FailureKind.TOO_LARGE),
    "too large, without a length": (
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b" " * (MAX_BODY + 1),
        FailureKind.TOO_LARGE,
    ),
}


@pytest.mark.parametrize(("answer", "kind"), REFUSALS.values(), ids=REFUSALS)
async def test_a_fault_is_a_failure_of_its_kind(line: Open, answer: bytes, kind: FailureKind) -> None:
    async with raw_server(answer) as server:
        got = failure(await asyncio.wait_for(line(server.url).post("/api/chat", {"model": "m"}), 5))
        assert got.kind is kind
        assert server.url in got.message


async def test_a_forbidden_call_is_refused_once(line: Open) -> None:
    async with raw_server(http_answer(403, {"error": "ollama cloud is disabled"})) as server:
        got = failure(await line(server.url).post("/api/chat", {}))
        assert got.kind in (FailureKind.UNAUTHORIZED, FailureKind.HTTP_ERROR)
        assert "ollama cloud is disabled" in got.message
        assert len(server.requests) == 1


async def test_an_object_is_what_was_asked_for(line: Open) -> None:
    async with raw_server(http_answer(200, {"version": "0.40.12", "error": ""})) as server:
        assert await line(server.url).get("/api/version") == Ok({"version": "0.40.12", "error": ""})


async def test_a_redirect_is_not_followed(line: Open) -> None:
    async with raw_server(http_answer(200, {"stolen": True})) as elsewhere:
        moved = http_answer(307, b"", f"Location: {elsewhere.url}/api/chat")
        async with raw_server(moved) as server:
            got = failure(await line(server.url).post("/api/chat", {"claim": "private"}))
            assert got.kind is FailureKind.HTTP_ERROR
            assert not elsewhere.requests


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500])
async def test_a_refusal_is_not_tried_again(line: Open, status: int) -> None:
    async with raw_server(http_answer(status, {"error": "no"})) as server:
        await line(server.url).post("/api/chat", {})
        assert len(server.requests) == 1


async def test_a_refused_connection_is_unreachable_at_once(line: Open) -> None:
    began = now()
    got = failure(await line(refusing_url()).get("/api/version"))
    assert got.kind is FailureKind.UNREACHABLE
    assert now() - began < 0.5


async def test_a_host_without_an_address_is_unreachable(line: Open) -> None:
    got = failure(await line("http://council.invalid:11434").get("/api/version"))
    assert got.kind is FailureKind.UNREACHABLE


async def test_a_connection_that_is_never_made_is_unreachable_in_time(line: Open) -> None:
    with black_hole() as url:
        began = now()
        got = failure(await line(url).get("/api/version"))
        assert got.kind is FailureKind.UNREACHABLE
        assert now() - began < 1.4


async def test_a_slow_answer_is_waited_for(line: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "CONNECT_S", 0.1)

    async def slowly(_: Request) -> bytes:
        await asyncio.sleep(0.2)  # beyond the limit for a connection, which is no limit for an answer
        return http_answer(200, {"late": True})

    async with raw_server(slowly) as server:
        assert await line(server.url).get("/") == Ok({"late": True})


async def test_a_connection_is_kept(line: Open) -> None:
    async with raw_server(http_answer(200, {})) as server:
        one = line(server.url)
        for _ in range(3):
            assert isinstance(await one.get("/"), Ok)
        assert {request.connection for request in server.requests} == {0}


async def test_a_kept_connection_that_has_died_is_tried_again_on_a_fresh_one(line: Open) -> None:
    def once_a_connection(request: Request) -> bytes:
        is_second = sum(other.connection == request.connection for other in server.requests) > 1
        return b"" if is_second else http_answer(200, {"n": len(server.requests)})

    async with raw_server(once_a_connection) as server:
        one = line(server.url)
        assert isinstance(await one.post("/api/chat", {}), Ok)
        assert isinstance(await one.post("/api/chat", {}), Ok)
        assert [request.connection for request in server.requests] == [0, 0, 1]


async def test_all_kept_connections_may_have_died(line: Open) -> None:
    """After a restart or a sleep every idle connection is stale, not the first alone."""
    together = asyncio.Barrier(3)

    async def first_three_together(request: Request) -> bytes:
        if sum(other.connection == request.connection for other in server.requests) > 1:
            return b""
        if len(server.requests) <= 3:
            await together.wait()
        return http_answer(200, {})

    async with raw_server(first_three_together) as server:
        one = line(server.url)
        assert all(isinstance(got, Ok) for got in await asyncio.gather(*(one.get("/") for _ in range(3))))
        assert {request.connection for request in server.requests} == {0, 1, 2}
        assert isinstance(await one.get("/"), Ok)


async def test_a_fresh_connection_is_not_tried_again(line: Open) -> None:
    async with raw_server(b"") as server:
        assert failure(await line(server.url).get("/")).kind is FailureKind.UNREACHABLE
        assert len(server.requests) == 1


async def test_cancelling_a_call_closes_its_connection(line: Open) -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await reader.read()
        left.set()
        writer.close()

    async with await asyncio.start_server(hang, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        call = asyncio.create_task(line(url).get("/"))
        await asyncio.wait_for(asked.wait(), 5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(left.wait(), 2)


async def test_a_cancelled_call_gives_its_place_back(line: Open) -> None:
    async def hang_once(_: Request) -> bytes:
        if len(server.requests) <= 2:
            await asyncio.Event().wait()
        return http_answer(200, {})

    async with raw_server(hang_once) as server:
        one = line(server.url, connections=1)
        for asked in (1, 2):
            call = asyncio.create_task(one.get("/"))
            await until(lambda asked=asked: len(server.requests) == asked)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        assert isinstance(await asyncio.wait_for(one.get("/"), 2), Ok)


async def test_text_is_sent_as_it_is(line: Open) -> None:
    async with raw_server(http_answer(200, {})) as server:
        await line(server.url).post("/api/chat", {"content": "Zoë, 東京 “quoted”"})
        (request,) = server.requests
        assert "Zoë, 東京 “quoted”" in request.body.decode()
        assert request.headers["content-type"] == "application/json"
        assert request.json == {"content": "Zoë, 東京 “quoted”"}


async def test_no_origin_is_claimed_and_no_compression_asked_for(line: Open) -> None:
    async with raw_server(http_answer(200, {})) as server:
        await line(server.url).get("/")
        headers = server.requests[0].headers
        assert "origin" not in headers
        assert headers.get("accept-encoding", "identity") == "identity"
        assert "authorization" not in headers


async def test_a_key_goes_with_every_call(line: Open) -> None:
    async with raw_server(http_answer(200, {})) as server:
        await line(server.url, api_key="s3cret").get("/")
        assert server.requests[0].headers["authorization"] == "Bearer s3cret"


async def test_a_key_is_never_in_a_failure(line: Open) -> None:
    async with raw_server(http_answer(401, {"error": "unauthorized"})) as server:
        assert "s3cret" not in failure(await line(server.url, api_key="s3cret").get("/")).message


async def test_a_path_in_the_base_is_kept(line: Open) -> None:
    async with raw_server(http_answer(200, {})) as server:
        await line(f"{server.url}/ollama").get("/api/version")
        assert server.requests[0].path == "/ollama/api/version"


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
async def test_a_proxy_is_not_asked_for_this_machine(
    line: Open, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw_server(http_answer(200, {"from": "proxy"})) as proxy, raw_server(http_answer(200, {})) as server:
        monkeypatch.setenv(variable, proxy.url)
        for url in (server.url, server.url.replace("127.0.0.1", "localhost")):
            assert await line(url).get("/") == Ok({})
        assert not proxy.requests


async def test_a_failure_says_its_cure(line: Open) -> None:
    cure = {FailureKind.UNREACHABLE: "Start it."}
    assert failure(await line(refusing_url(), cures=cure).get("/")).message.endswith(" Start it.")


async def test_the_servers_own_words_are_kept_and_bounded(line: Open) -> None:
    async with raw_server(http_answer(500, {"error": "out of\nmemory " * 200})) as server:
        got = failure(await line(server.url).get("/"))
        assert "500" in got.message
        assert "out of memory" in got.message
        assert len(got.message) < MAX_QUOTE + 100


ERRORS = {
    "string": ({"error": "model 'm' not found"}, "model 'm' not found"),
    "object": (
        {"error": {"message": "Loading model", "type": "unavailable_error"}},
        "unavailable_error: Loading model",
    ),
    "JSON in a string": ({"error": json.dumps({"error": {"message": "too long"}})}, "too long"),
    "broken JSON in a string": ({"error": "{oops"}, "{oops"),
    "number": ({"error": 7}, ""),
    "nothing": ({}, ""),
    "no object": (["error"], ""),
    "no value": (None, ""),
}


@pytest.mark.parametrize(("value", "text"), ERRORS.values(), ids=ERRORS)
def test_an_error_text_is_read_in_all_its_shapes(value: object, text: str) -> None:
    assert error_text(value) == text


async def test_a_server_that_is_gone_after_an_answer_is_unreachable(line: Open) -> None:
    async with raw_server(http_answer(200, {})) as server:
        one = line(server.url)
        assert isinstance(await one.get("/"), Ok)
    assert failure(await one.get("/")).kind is FailureKind.UNREACHABLE

"""Servers with the OpenAI dialect, as llama-server, LM Studio and vLLM speak it."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from attrs import field, mutable

from clock import now
from neuron_council.evidence.failure import Err, Failure, FailureKind, Ok
from neuron_council.evidence.scoring import ballot_odds
from neuron_council.maker import openai, prompts
from neuron_council.maker.adapter import Adapter, ModelState, Reply
from neuron_council.maker.board import MemberSpec
from neuron_council.maker.openai import OpenAIBackend
from support import PACK, Request, closing, http_answer, raw_server, refusing_url

QUESTION = prompts.ballot(PACK, None)
TEXT = '{"ballot": "plausible", "confidence": 90, "rationale": "It fits.", "scores": {}}'
LOADING = http_answer(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
MODEL_LIST = http_answer(200, {"object": "list", "data": [{"id": "alder-8b", "object": "model"}]})


def completion(content: object = TEXT, finish_reason: str | None = "stop", **choice: Any) -> bytes:
    message = {"role": "assistant", "content": content}
    choices = [{"index": 0, "message": message, "finish_reason": finish_reason, **choice}]
    return http_answer(200, {"id": "chatcmpl-7", "object": "chat.completion", "choices": choices})


@mutable
class Dialect:
    """A server: what `/models` and `/chat/completions` answer, and for how many questions `/models` says it loads."""

    chat: bytes = field(factory=completion)
    models: bytes = MODEL_LIST
    loading: float = 0

    def __call__(self, request: Request) -> bytes | Awaitable[bytes]:
        if request.path == "/v1/models":
            self.loading -= 1
            return LOADING if self.loading >= 0 else self.models
        assert request.path == "/v1/chat/completions"
        return self.chat


Open = Callable[..., OpenAIBackend]


@pytest.fixture
async def backend(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Open]:
    """Opens backends that are closed after the test; a loading server is asked often."""
    monkeypatch.setattr(openai, "LOADING_PAUSE_S", 0.01)
    async with AsyncExitStack() as stack:
        opened: list[OpenAIBackend] = []

        def make(url: str, **more: Any) -> OpenAIBackend:
            opened.append(made := OpenAIBackend(f"{url}/v1", connections=3, **more))
            return made

        yield make
        for made in opened:
            await stack.enter_async_context(closing(made))


def member(server: OpenAIBackend, model: str = "alder-8b", **options: Any) -> Adapter:
    return server.adapter(MemberSpec("m", model, "member", backend="openai", base_url=server.url, options=options))


async def ask(adapter: Adapter, wait_s: float = 5.0) -> Ok[Reply] | Err:
    async with asyncio.timeout(10):
        absence = await adapter.resident(wait_s)
        return Err(absence) if absence else await adapter.run(QUESTION)


async def failed(adapter: Adapter, wait_s: float = 5.0) -> Failure:
    got = await ask(adapter, wait_s)
    assert isinstance(got, Err), got
    return got.failure


async def test_a_question_is_asked_in_the_common_subset(backend: Open) -> None:
    async with raw_server(Dialect()) as server:
        assert await ask(member(backend(server.url))) == Ok(Reply(TEXT))
        body = server.requests[-1].json
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert (body["model"], body["stream"], body["temperature"]) == ("alder-8b", False, 0)
    assert isinstance(body["seed"], int)
    assert body["max_tokens"] == QUESTION.max_tokens
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["schema"] == QUESTION.schema
    assert body["response_format"]["json_schema"]["name"]
    assert body["logprobs"] is True
    assert 0 < body["top_logprobs"] <= 20
    assert not {"options", "keep_alive", "num_ctx", "think", "format"} & set(body)


async def test_a_challenge_asks_for_no_probabilities(backend: Open) -> None:
    async with raw_server(Dialect()) as server:
        await member(backend(server.url)).run(prompts.challenge(PACK, ()))
        assert "logprobs" not in server.requests[-1].json
        assert "top_logprobs" not in server.requests[-1].json


async def test_a_members_options_go_into_the_question(backend: Open) -> None:
    async with raw_server(Dialect()) as server:
        await ask(member(backend(server.url), reasoning_effort="none", temperature=0.2))
        body = server.requests[-1].json
    assert (body["reasoning_effort"], body["temperature"]) == ("none", 0.2)


async def test_a_key_is_sent(backend: Open) -> None:
    async with raw_server(Dialect()) as server:
        await ask(member(backend(server.url, api_key="s3cret")))
        assert {request.headers["authorization"] for request in server.requests} == {"Bearer s3cret"}


async def test_token_probabilities_are_read(backend: Open) -> None:
    at = TEXT.index("plausible")
    top = [{"token": text, "logprob": math.log(share)} for text, share in (("pl", 0.6), ("unc", 0.2), ("Hm", 0.2))]
    content = [
        {"token": TEXT[:at], "logprob": -0.1, "bytes": None, "top_logprobs": []},
        {"token": "pl", "logprob": math.log(0.6), "top_logprobs": top},
        {"token": TEXT[at + 2 :], "logprob": -0.1, "top_logprobs": []},
    ]
    async with raw_server(Dialect(completion(logprobs={"content": content}))) as server:
        got = await ask(member(backend(server.url)))
    assert isinstance(got, Ok)
    odds = ballot_odds(token.place for token in got.value.tokens)
    assert odds
    assert (odds.plausible, odds.uncertain, odds.confabulation) == (pytest.approx(0.75), pytest.approx(0.25), 0)


@pytest.mark.parametrize("odds", [None, {}, {"content": None}, {"content": "x"}, [], {"content": [{"token": 1}]}])
async def test_a_server_without_probabilities_is_fine(backend: Open, odds: object) -> None:
    async with raw_server(Dialect(completion(logprobs=odds))) as server:
        assert await ask(member(backend(server.url))) == Ok(Reply(TEXT))


@pytest.mark.parametrize("reason", ["stop", None])
async def test_an_answer_that_is_whole_counts(backend: Open, reason: str | None) -> None:
    async with raw_server(Dialect(completion(finish_reason=reason))) as server:
        assert await ask(member(backend(server.url))) == Ok(Reply(TEXT))


@pytest.mark.parametrize("reason", ["length", "content_filter", "tool_calls"])
async def test_an_answer_that_was_broken_off_does_not_count(backend: Open, reason: str) -> None:
    async with raw_server(Dialect(completion(finish_reason=reason))) as server:
        assert (await failed(member(backend(server.url)))).kind is FailureKind.UNPARSABLE


async def test_reasoning_is_no_answer(backend: Open) -> None:
    message = {"content": "", "reasoning": TEXT, "reasoning_content": TEXT}
    async with raw_server(Dialect(completion(message=message))) as server:
        assert await ask(member(backend(server.url))) == Ok(Reply(""))


CHAT_FAULTS = {
    "bare string": (
        http_answer(400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}),
        FailureKind.HTTP_ERROR,
    ),
    "object": (http_answer(500, {"error": {"code": 500, "message": "boom", "type": "api"}}), FailureKind.HTTP_ERROR),
    "model missing": (
        http_answer(404, {"error": {"message": "model 'alder-8b' not found", "type": "not_found_error"}}),
        FailureKind.MODEL_NOT_FOUND,
    ),
    "route missing": (http_answer(404, b"404 page not found"), FailureKind.HTTP_ERROR),
    "key missing": (http_answer(401, {"error": {"message": "Invalid API Key"}}), FailureKind.UNAUTHORIZED),
    "too long": (
        http_answer(400, {"error": {"code": 400, "message": "too long", "type": "exceed_context_size_error"}}),
        FailureKind.CONTEXT_OVERFLOW,
    ),
    "no choices": (http_answer(200, {"choices": []}), FailureKind.MALFORMED),
    "choices of another type": (http_answer(200, {"choices": {"a": 1}}), FailureKind.MALFORMED),
    "choice of another type": (http_answer(200, {"choices": ["x"]}), FailureKind.MALFORMED),
    "no message": (http_answer(200, {"choices": [{"finish_reason": "stop"}]}), FailureKind.MALFORMED),
    "no content": (completion(None), FailureKind.MALFORMED),
    "content of another type": (completion([{"type": "text", "text": TEXT}]), FailureKind.MALFORMED),
    "error in a 200": (http_answer(200, {"error": "Model unloaded."}), FailureKind.HTTP_ERROR),
    "no JSON": (http_answer(200, b"oops"), FailureKind.MALFORMED),
    "closed": (b"", FailureKind.UNREACHABLE),
}


@pytest.mark.parametrize(("chat", "kind"), CHAT_FAULTS.values(), ids=CHAT_FAULTS)
async def test_a_fault_is_a_failure_of_its_kind(backend: Open, chat: bytes, kind: FailureKind) -> None:
    async with raw_server(Dialect(chat)) as server:
        got = await failed(member(backend(server.url)))
    assert got.kind is kind
    assert got.message


async def test_the_servers_own_words_are_passed_on(backend: Open) -> None:
    async with raw_server(Dialect(CHAT_FAULTS["bare string"][0])) as server:
        assert "'response_format.type' must be" in (await failed(member(backend(server.url)))).message


async def test_a_server_that_loads_is_waited_for(backend: Open) -> None:
    async with raw_server(Dialect(loading=4)) as server:
        assert isinstance(await ask(member(backend(server.url))), Ok)
        asked = [request.path for request in server.requests]
    assert asked == ["/v1/models"] * 5 + ["/v1/chat/completions"]


async def test_a_server_that_loads_too_long_is_not_loaded(backend: Open) -> None:
    async with raw_server(Dialect(loading=math.inf)) as server:
        began = now()
        got = await failed(member(backend(server.url)), wait_s=0.1)
        assert now() - began < 1
        assert {request.path for request in server.requests} == {"/v1/models"}
    assert got.kind is FailureKind.NOT_LOADED


async def test_a_server_that_is_full_is_asked_again_for_a_while(backend: Open) -> None:
    """It answers 503 to a question though its model is loaded: short retries, as at any backend."""
    left = 2

    def full(request: Request) -> bytes | Awaitable[bytes]:
        nonlocal left
        if request.path == "/v1/chat/completions" and left:
            left -= 1
            return LOADING
        return Dialect()(request)

    async with raw_server(full) as server:
        assert isinstance(await ask(member(backend(server.url))), Ok)


async def test_a_server_that_stays_full_is_busy(backend: Open) -> None:
    async with raw_server(Dialect(LOADING)) as server:
        assert (await failed(member(backend(server.url)))).kind is FailureKind.BUSY


async def test_a_dead_server_is_unreachable_at_once(backend: Open) -> None:
    began = now()
    got = await failed(member(backend(refusing_url())))
    assert got.kind is FailureKind.UNREACHABLE
    assert "base_url" in got.message
    assert now() - began < 0.5


async def test_a_refused_key_is_found_before_the_vote(backend: Open) -> None:
    async with raw_server(Dialect(models=http_answer(401, {"error": "key"}))) as server:
        assert (await failed(member(backend(server.url)))).kind is FailureKind.UNAUTHORIZED
        assert len(server.requests) == 1


@pytest.mark.parametrize("models", [http_answer(404, b"no"), http_answer(200, b"no"), http_answer(500, {"error": "x"})])
async def test_a_server_without_a_list_is_asked_all_the_same(backend: Open, models: bytes) -> None:
    async with raw_server(Dialect(models=models)) as server:
        assert isinstance(await ask(member(backend(server.url))), Ok)


async def test_a_list_that_never_comes_is_not_waited_for_long(backend: Open) -> None:
    async def mute(request: Request) -> bytes:
        if request.path == "/v1/models":
            await asyncio.Event().wait()
        return completion()

    async with raw_server(mute) as server:
        assert isinstance(await asyncio.wait_for(ask(member(backend(server.url))), 1.5), Ok)


async def test_a_server_that_answered_lately_is_not_asked_whether_it_loads(backend: Open) -> None:
    async with raw_server(Dialect()) as server:
        adapter = member(backend(server.url))
        for _ in range(3):
            await ask(adapter)
        assert [request.path for request in server.requests].count("/v1/models") == 1


async def test_what_is_known_of_backend_and_model(backend: Open) -> None:
    async with raw_server(Dialect()) as server:
        line = backend(server.url)
        state = await line.state()
        assert (state.url, state.reachable, state.version) == (f"{server.url}/v1", True, None)
        assert await member(line).state() == ModelState(True, None)
        assert await member(line, "birch-8b").state() == ModelState(False, None)
        assert {request.path for request in server.requests} == {"/v1/models"}


async def test_what_cannot_be_known_is_null(backend: Open) -> None:
    line = backend(refusing_url())
    assert (await line.state()).reachable is False
    assert await member(line).state() == ModelState(None, None)
    async with raw_server(Dialect(models=http_answer(200, {"data": "?"}))) as server:
        assert await member(backend(server.url)).state() == ModelState(None, None)


async def test_how_it_stands_is_never_waited_for(backend: Open) -> None:
    async def mute(_: Request) -> bytes:
        await asyncio.Event().wait()
        return b""

    async with raw_server(mute) as server:
        line = backend(server.url)
        state, model = await asyncio.wait_for(asyncio.gather(line.state(), member(line).state()), 1.4)
    assert state.reachable is not True
    assert model == ModelState(None, None)


async def test_the_warm_up_asks_nothing(backend: Open) -> None:
    async with raw_server(Dialect()) as server:
        await backend(server.url).warm_up()
        assert not server.requests


async def test_a_question_is_valid_json_in_utf_8(backend: Open) -> None:
    async with raw_server(Dialect()) as server:
        await ask(member(backend(server.url)))
        assert json.loads(server.requests[-1].body.decode("utf-8", "strict"))

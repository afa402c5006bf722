"""The line to Ollama: what it sends, what it takes for an answer, and when it takes a model for resident."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import Any

import pytest
from attrs import evolve

from clock import now
from neuron_council.evidence.failure import Err, Failure, FailureKind, Ok
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.scoring import ballot_odds, parse_ballot
from neuron_council.maker import prompts
from neuron_council.maker.adapter import Adapter, ModelState, Prompt, Reply
from neuron_council.maker.board import MemberSpec
from neuron_council.maker.ollama import OllamaBackend
from support import (
    BARE_PACK,
    CLAIM,
    DOLPHIN,
    MODELS,
    NEURON,
    NEURON_FT,
    PACK,
    Call,
    Stub,
    closing,
    http_answer,
    raw_server,
    until,
)

QUESTION = prompts.ballot(PACK, None)
LONG_QUESTION = prompts.ballot(ContextPack(CLAIM, "Rain fell on the roof. " * 1040), None)

Open = Callable[..., OllamaBackend]


@pytest.fixture
async def backend(stub: Stub) -> AsyncIterator[Open]:
    """Opens backends at the stub that are closed after the test."""
    async with AsyncExitStack() as stack:
        opened: list[OllamaBackend] = []

        def make(url: str | None = None, **changed: Any) -> OllamaBackend:
            options = {"keep_alive": "30m", "num_ctx": 8192, "connections": 3, **changed}
            opened.append(made := OllamaBackend(url or stub.url, **options))
            return made

        yield make
        for made in opened:
            await stack.enter_async_context(closing(made))


def spec(model: str = NEURON, **options: Any) -> MemberSpec:
    return MemberSpec("m", model, "member", options=options)


async def ask(adapter: Adapter, prompt: Prompt = QUESTION, wait_s: float = 5.0) -> Ok[Reply] | Err:
    async with asyncio.timeout(10):
        absence = await adapter.resident(wait_s)
        return Err(absence) if absence else await adapter.run(prompt)


async def answered(adapter: Adapter, prompt: Prompt = QUESTION) -> Reply:
    got = await ask(adapter, prompt)
    assert isinstance(got, Ok), got
    return got.value


async def failed(adapter: Adapter, prompt: Prompt = QUESTION, wait_s: float = 5.0) -> Failure:
    got = await ask(adapter, prompt, wait_s)
    assert isinstance(got, Err), got
    return got.failure


def do_not_overlap(calls: list[Call]) -> bool:
    return all(earlier.end is not None and earlier.end <= later.start for earlier, later in pairwise(calls))


# What is sent


async def test_a_vote_is_asked_for_as_documented(stub: Stub, backend: Open) -> None:
    await answered(backend().adapter(spec()))
    (vote,) = stub.votes()
    body = dict(vote.body)
    assert [message["role"] for message in body.pop("messages")] == ["system", "user"]
    assert body.pop("options") == {"num_ctx": 8192, "num_predict": QUESTION.max_tokens, "seed": 0, "temperature": 0}
    assert 0 < body.pop("top_logprobs") <= 20
    assert body == {
        "model": NEURON,
        "stream": False,
        "keep_alive": "30m",
        "format": QUESTION.schema,
        "truncate": False,
        "logprobs": True,
    }
    assert list(body["format"]["properties"]) == ["ballot", "confidence", "rationale", "scores"]


async def test_a_challenge_asks_for_no_probabilities(stub: Stub, backend: Open) -> None:
    await answered(backend().adapter(spec()), prompts.challenge(PACK, ()))
    (challenge,) = stub.challenges()
    assert not challenge.body.get("logprobs")
    assert "top_logprobs" not in challenge.body


@pytest.mark.parametrize("own", [{}, {"num_ctx": 2048, "temperature": 0.3, "num_thread": 2}])
@pytest.mark.parametrize("capabilities", [["completion"], ["completion", "thinking"]])
async def test_a_model_is_loaded_with_the_votes_own_options(
    stub: Stub, backend: Open, own: dict[str, Any], capabilities: list[str]
) -> None:
    stub.script(default={"capabilities": capabilities})
    await answered(backend().adapter(spec(**own)))
    (load,), (vote,) = stub.loads(), stub.votes()
    assert load.body["options"] == vote.body["options"]
    assert vote.body["options"].items() >= own.items()
    same = ("model", "keep_alive", "think", "stream", "shift")
    assert {key: load.body.get(key) for key in same} == {key: vote.body.get(key) for key in same}
    assert "shift" not in vote.body
    assert load.body["messages"] == []


@pytest.mark.parametrize("keep_alive", ["30m", "-1m", 600, -1])
async def test_keep_alive_is_sent_as_configured(stub: Stub, backend: Open, keep_alive: str | int) -> None:
    await answered(backend(keep_alive=keep_alive).adapter(spec()))
    assert {type(call.body["keep_alive"]) for call in stub.calls("/api/chat")} == {type(keep_alive)}
    assert {call.body["keep_alive"] for call in stub.calls("/api/chat")} == {keep_alive}


THINKING = {
    "plain": ({"capabilities": ["completion"]}, None),
    "unknown": ({"capabilities": None}, None),
    "thinking": ({"capabilities": ["completion", "thinking"], "family": "qwen3"}, False),
    "gptoss": ({"capabilities": ["completion", "thinking"], "family": "gptoss"}, "low"),
    "gpt-oss": ({"capabilities": ["completion", "thinking"], "family": "gpt-oss"}, "low"),
}


@pytest.mark.parametrize(("doing", "think"), THINKING.values(), ids=THINKING)
async def test_thinking_is_turned_off_or_down(stub: Stub, backend: Open, doing: dict[str, Any], think: object) -> None:
    stub.script(default=doing)
    await answered(backend().adapter(spec()))
    (vote,) = stub.votes()
    assert vote.body.get("think") == think
    assert ("think" in vote.body) is (think is not None)


async def test_think_is_left_out_where_it_breaks_the_schema(stub: Stub, backend: Open) -> None:
    """Some versions answer in prose when thinking is off."""
    stub.script(default={"capabilities": ["thinking"], "by_call": [{"content": "Plausible, I think."}, {}]})
    adapter = backend().adapter(spec())
    await ask(adapter)
    assert parse_ballot((await answered(adapter)).text, has_context=True)
    assert ["think" in call.body for call in stub.votes()] == [True, False]


async def test_a_model_that_is_only_named_in_part_is_the_installed_one(stub: Stub, backend: Open) -> None:
    for name in ("neuron", "NEURON:latest", "Neuron"):
        assert (await backend().adapter(spec(name)).state()).installed is True
    for name in ("neuron:7b", "neuro", "neuron-ft:8b"):
        assert (await backend().adapter(spec(name)).state()).installed is False
    assert stub.calls("/api/tags")


# What counts as an answer


async def test_the_answer_is_the_content_with_its_tokens(stub: Stub, backend: Open) -> None:
    stub.script(default={"ballot": "confabulation"})
    reply = await answered(backend().adapter(spec()))
    assert json.loads(reply.text)["ballot"] == "confabulation"
    odds = ballot_odds(token.place for token in reply.tokens)
    assert odds
    assert odds.confabulation == pytest.approx(8 / 9)
    assert odds.plausible == pytest.approx(1 / 9)
    assert odds.uncertain == 0


async def test_a_server_without_probabilities_is_fine(stub: Stub, backend: Open) -> None:
    stub.script(default={"envelope": {"logprobs": None}})
    assert (await answered(backend().adapter(spec()))).tokens == ()


async def test_thinking_is_no_answer(stub: Stub, backend: Open) -> None:
    planted = json.dumps({"ballot": "plausible"})
    stub.script(default={"envelope": {"message": {"role": "assistant", "content": "", "thinking": planted}}})
    assert (await answered(backend().adapter(spec()))).text == ""


@pytest.mark.parametrize(
    ("envelope", "kind"),
    [
        ({"done": False, "done_reason": None}, FailureKind.UNPARSABLE),
        ({"done": False}, FailureKind.UNPARSABLE),
        ({"done_reason": "length"}, FailureKind.UNPARSABLE),
        ({"done_reason": "load"}, FailureKind.UNPARSABLE),
        ({"message": None}, FailureKind.MALFORMED),
        ({"message": "plausible"}, FailureKind.MALFORMED),
        ({"message": {"content": None}}, FailureKind.MALFORMED),
        ({"message": {"content": {"ballot": "plausible"}}}, FailureKind.MALFORMED),
        ({"error": "an error was encountered while running the model"}, FailureKind.HTTP_ERROR),
    ],
)
async def test_an_answer_that_is_not_whole_is_none(
    stub: Stub, backend: Open, envelope: dict[str, Any], kind: FailureKind
) -> None:
    stub.script(default={"envelope": envelope})
    assert (await failed(backend().adapter(spec()))).kind is kind


async def test_a_missing_done_reason_is_no_fault(backend: Open) -> None:
    whole = {"message": {"role": "assistant", "content": "{}"}, "done": True}
    async with raw_server(http_answer(200, whole)) as server:
        got = await backend(server.url).adapter(spec()).run(QUESTION)
    assert got == Ok(Reply("{}"))


@pytest.mark.parametrize(("window", "count"), [(4096, 2050), (4096, 2051), (8192, 4098)])
async def test_a_silent_cut_is_an_overflow(stub: Stub, backend: Open, window: int, count: int) -> None:
    stub.script(default={"envelope": {"prompt_eval_count": count}})
    assert len(LONG_QUESTION.user) > 23_000
    got = await failed(backend(num_ctx=window).adapter(spec()), LONG_QUESTION)
    assert got.kind is FailureKind.CONTEXT_OVERFLOW
    assert "num_ctx" in got.message


@pytest.mark.parametrize("count", [None, 5600, 6900, "many"])
async def test_a_count_of_the_whole_prompt_is_no_cut(stub: Stub, backend: Open, count: object) -> None:
    stub.script(default={"envelope": {"prompt_eval_count": count}})
    await answered(backend().adapter(spec()), LONG_QUESTION)


async def test_a_short_prompt_is_never_taken_for_cut(stub: Stub, backend: Open) -> None:
    """A text of few bytes a token can honestly count as much as half a window."""
    stub.script(default={"envelope": {"prompt_eval_count": 1026}})
    await answered(backend(num_ctx=2048).adapter(spec()), prompts.ballot(ContextPack("ein Wort"), None))


async def test_a_prompt_that_cannot_fit_is_not_sent(stub: Stub, backend: Open) -> None:
    got = await failed(backend(num_ctx=2048).adapter(spec()), LONG_QUESTION)
    assert got.kind is FailureKind.CONTEXT_OVERFLOW
    assert NEURON in got.message
    assert not stub.votes()


async def test_a_prompt_that_fits_is_sent_whole(stub: Stub, backend: Open) -> None:
    await answered(backend().adapter(spec()), LONG_QUESTION)
    assert stub.votes()[0].user == LONG_QUESTION.user


async def test_an_overflow_that_the_server_finds_names_the_cure(stub: Stub, backend: Open) -> None:
    stub.script(default={"fault": "overflow"})
    got = await failed(backend().adapter(spec()))
    assert got.kind is FailureKind.CONTEXT_OVERFLOW
    assert "num_ctx" in got.message


@pytest.mark.parametrize(("times", "kind"), [(1, None), (2, None), (99, FailureKind.BUSY)])
async def test_a_busy_server_is_asked_again_for_a_while(
    stub: Stub, backend: Open, times: int, kind: FailureKind | None
) -> None:
    stub.script(default={"fault": "busy", "fault_first": times})
    got = await ask(backend().adapter(spec()))
    assert (got.failure.kind if isinstance(got, Err) else None) is kind
    assert 2 <= len(stub.votes()) <= 6


# Residence


async def test_a_model_is_loaded_before_it_is_asked(stub: Stub, backend: Open) -> None:
    stub.script(default={"load": 0.2})
    adapter = backend().adapter(spec())
    absence = await adapter.resident(5)
    assert absence is None
    began = now()
    assert isinstance(await adapter.run(QUESTION), Ok)
    assert now() - began < 0.1
    assert [call.is_load for call in stub.calls("/api/chat")] == [True, False]


async def test_a_resident_model_is_not_loaded_again(stub: Stub, backend: Open) -> None:
    adapter = backend().adapter(spec())
    for _ in range(3):
        await answered(adapter)
    assert len(stub.loads()) == 1


async def test_residence_is_asked_for_before_each_vote(stub: Stub, backend: Open) -> None:
    """Models are evicted, and servers restarted, at any moment."""
    adapter = backend().adapter(spec())
    await answered(adapter)
    stub.script()
    await answered(adapter)
    assert [call.path for call in stub.calls()] == ["/api/ps", "/api/chat"]


async def test_an_evicted_model_is_loaded_before_the_vote(stub: Stub, backend: Open) -> None:
    adapter = backend().adapter(spec())
    await answered(adapter)
    stub.script(resident={})
    await answered(adapter)
    assert [call.is_load for call in stub.calls("/api/chat")] == [True, False]


async def test_a_model_that_is_there_with_another_window_is_loaded_with_ours(stub: Stub, backend: Open) -> None:
    stub.script(resident={NEURON: 4096})
    await answered(backend().adapter(spec()))
    (load,) = stub.loads()
    assert load.body["options"]["num_ctx"] == 8192
    assert stub.calls("/api/chat")[0].is_load


async def test_a_window_that_another_client_changed_is_set_again(stub: Stub, backend: Open) -> None:
    adapter = backend().adapter(spec())
    await answered(adapter)
    stub.script(resident={NEURON: 4096})
    await answered(adapter)
    assert [call.is_load for call in stub.calls("/api/chat")] == [True, False]


async def test_a_window_that_the_server_makes_smaller_is_accepted(stub: Stub, backend: Open) -> None:
    stub.script(default={"context_length": 2048})
    adapter = backend().adapter(spec())
    for _ in range(3):
        await answered(adapter)
    assert len(stub.loads()) == 1


async def test_a_model_replaced_under_its_name_is_met_anew(stub: Stub, backend: Open) -> None:
    stub.script(digests={NEURON: "a1"})
    adapter = backend().adapter(spec())
    await answered(adapter)
    stub.script(digests={NEURON: "b2"}, default={"capabilities": ["completion", "thinking"]})
    await answered(adapter)
    assert stub.calls("/api/show")
    assert [call.is_load for call in stub.calls("/api/chat")] == [True, False]
    assert stub.votes()[0].body["think"] is False
    assert (await adapter.state()).digest == "b2"


async def test_a_model_that_is_replaced_is_met_anew_once(stub: Stub, backend: Open) -> None:
    stub.script(digests={NEURON: "a1"})
    adapter = backend().adapter(spec())
    await answered(adapter)
    stub.script(digests={NEURON: "b2"})
    for _ in range(3):
        await answered(adapter)
    assert len(stub.loads()) == 1


async def test_one_model_is_loaded_at_a_time(stub: Stub, backend: Open) -> None:
    stub.script(default={"load": 0.03})
    server = backend()
    adapters = [server.adapter(spec(model)) for model in MODELS]
    await asyncio.gather(*(answered(adapter) for adapter in adapters))
    assert sorted(str(call.model) for call in stub.loads()) == sorted(MODELS)
    assert do_not_overlap(stub.loads())


async def test_the_warm_up_loads_every_model_one_after_another(stub: Stub, backend: Open) -> None:
    stub.script(default={"load": 0.03})
    server = backend()
    adapters = [server.adapter(spec(model)) for model in MODELS]
    await asyncio.wait_for(server.warm_up(), 5)
    assert [call.model for call in stub.loads()] == list(MODELS)
    assert do_not_overlap(stub.loads())
    for adapter in adapters:
        await answered(adapter)
    assert len(stub.loads()) == 3
    assert not any(call.body["messages"] and not call.is_vote for call in stub.calls("/api/chat"))


async def test_the_warm_up_goes_on_past_a_model_that_fails(stub: Stub, backend: Open) -> None:
    stub.script(models={NEURON_FT: {"load_fault": "http500"}}, installed=[NEURON_FT, DOLPHIN])
    server = backend()
    for model in MODELS:
        server.adapter(spec(model))
    await asyncio.wait_for(server.warm_up(), 5)
    assert [call.model for call in stub.loads()] == [NEURON_FT, DOLPHIN]


async def test_who_waits_for_the_same_model_shares_its_load(stub: Stub, backend: Open) -> None:
    stub.script(default={"load": 0.05})
    server = backend()
    adapters = [server.adapter(spec()) for _ in range(4)]
    await asyncio.gather(*(answered(adapter) for adapter in adapters))
    assert len(stub.loads()) == 1


async def test_a_load_outlives_who_waited_for_it(stub: Stub, backend: Open) -> None:
    stub.script(default={"load": 0.3})
    adapter = backend().adapter(spec())
    got = await failed(adapter, wait_s=0.05)
    assert got.kind is FailureKind.NOT_LOADED
    assert NEURON in got.message
    await answered(adapter)
    assert [call.outcome for call in stub.loads()] == ["answered"]


async def test_a_load_outlives_a_cancelled_claim(stub: Stub, backend: Open) -> None:
    stub.script(default={"load": 0.3})
    adapter = backend().adapter(spec())
    waiting = asyncio.create_task(ask(adapter))
    await until(stub.loads)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await answered(adapter)
    assert [call.outcome for call in stub.loads()] == ["answered"]


async def test_closing_ends_a_load_and_unloads_nothing(stub: Stub, backend: Open) -> None:
    stub.script(models={NEURON_FT: {"load": 60}})
    server = backend()
    await answered(server.adapter(spec()))
    waiting = asyncio.create_task(ask(server.adapter(spec(NEURON_FT))))
    await until(lambda: stub.loads(NEURON_FT))
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    before = len(stub.calls())
    await asyncio.wait_for(server.close(), 2)
    await until(lambda: stub.loads(NEURON_FT)[0].outcome == "client-closed")
    assert len(stub.calls()) == before


@pytest.mark.parametrize("fault", ["http500", "busy", "close", "not_json"])
async def test_a_load_that_fails_is_said_and_tried_again_by_the_next_claim(
    stub: Stub, backend: Open, fault: str
) -> None:
    stub.script(default={"load_fault": fault})
    adapter = backend().adapter(spec())
    got = await failed(adapter)
    assert got.kind in (FailureKind.NOT_LOADED, FailureKind.UNREACHABLE)
    assert not stub.votes()
    stub.script()
    await answered(adapter)


async def test_a_missing_model_is_named_with_its_cure(stub: Stub, backend: Open) -> None:
    stub.script(installed=[NEURON])
    server = backend()
    got = await failed(server.adapter(spec(DOLPHIN)))
    assert got.kind is FailureKind.MODEL_NOT_FOUND
    assert f"ollama pull {DOLPHIN}" in got.message
    assert not stub.loads(DOLPHIN)
    await answered(server.adapter(spec(NEURON)))


async def test_a_model_that_is_installed_later_is_found(stub: Stub, backend: Open) -> None:
    stub.script(installed=[NEURON])
    adapter = backend().adapter(spec(DOLPHIN))
    assert (await failed(adapter)).kind is FailureKind.MODEL_NOT_FOUND
    stub.script()
    await answered(adapter)


async def test_a_model_that_is_removed_between_two_claims_is_missing(stub: Stub, backend: Open) -> None:
    adapter = backend().adapter(spec(DOLPHIN))
    await answered(adapter)
    stub.script(installed=[NEURON], resident={})
    assert (await failed(adapter)).kind is FailureKind.MODEL_NOT_FOUND


async def test_no_claim_leaves_the_machine(stub: Stub, backend: Open) -> None:
    stub.script(default={"remote_host": "https://ollama.com:443"})
    got = await failed(backend().adapter(spec()))
    assert got.kind is FailureKind.MODEL_NOT_FOUND
    assert not stub.calls("/api/chat")


async def test_after_out_of_memory_no_model_is_taken_for_resident(stub: Stub, backend: Open) -> None:
    """Ollama then drops all its models, not the one that failed alone."""
    server = backend()
    adapters = [server.adapter(spec(model)) for model in MODELS]
    await server.warm_up()
    text = "llama-server reported out-of-memory during startup: cudaMalloc failed: out of memory"
    stub.script(routes={"/api/chat": {"error": text}}, resident={})
    assert isinstance(await adapters[0].run(QUESTION), Err)
    stub.script(resident={})
    await answered(adapters[1])
    assert [call.is_load for call in stub.calls("/api/chat")] == [True, False]


async def test_a_vote_that_finds_its_runner_gone_is_followed_by_a_load(stub: Stub, backend: Open) -> None:
    adapter = backend().adapter(spec())
    await answered(adapter)
    stub.script(default={"fault": "http500"}, resident={NEURON: 8192})
    assert (await failed(adapter)).kind is FailureKind.HTTP_ERROR
    stub.script(resident={})
    await answered(adapter)
    assert stub.calls("/api/chat")[0].is_load


async def test_a_server_without_listing_or_description_is_asked_all_the_same(stub: Stub, backend: Open) -> None:
    stub.script(routes={"/api/ps": {"error": "404 page not found"}, "/api/show": {"error": "404 page not found"}})
    adapter = backend().adapter(spec())
    for _ in range(2):
        await answered(adapter)
    assert len(stub.votes()) == 2


@pytest.mark.parametrize("listing", [{}, {"models": None}, {"models": ["x", {"name": 5}, {}]}, {"models": {"a": 1}}])
async def test_a_strange_listing_is_no_fault(stub: Stub, backend: Open, listing: dict[str, Any]) -> None:
    stub.script(routes={"/api/ps": listing, "/api/tags": listing})
    adapter = backend().adapter(spec())
    await answered(adapter)
    assert (await adapter.state()).installed is not True


# How it stands


async def test_what_is_known_of_backend_and_model(stub: Stub, backend: Open) -> None:
    server = backend()
    adapter = server.adapter(spec(NEURON_FT))
    state = await server.state()
    assert (state.url, state.reachable, state.version) == (stub.url, True, "0.40.12")
    assert await adapter.state() == ModelState(installed=True, loaded=False, digest=f"{1:064x}")
    await answered(adapter)
    assert (await adapter.state()).loaded is True
    assert not stub.loads(NEURON)


async def test_asking_how_it_stands_loads_nothing(stub: Stub, backend: Open) -> None:
    server = backend()
    await asyncio.gather(server.state(), *(server.adapter(spec(model)).state() for model in MODELS))
    assert not stub.calls("/api/chat")


async def test_how_it_stands_is_never_waited_for(stub: Stub, backend: Open) -> None:
    stub.script(dead_routes=["/api/version", "/api/tags", "/api/ps"])
    server = backend()
    began = now()
    state, model = await asyncio.gather(server.state(), server.adapter(spec()).state())
    assert now() - began < 1.4
    assert state.reachable is not True
    assert state.version is None
    assert model == ModelState(None, None)


async def test_a_dead_backend_is_not_reachable_and_its_models_unknown(stub: Stub, backend: Open) -> None:
    server = backend()
    adapter = server.adapter(spec())
    stub.kill()
    assert (await server.state()).reachable is False
    assert await adapter.state() == ModelState(None, None)


async def test_odds_of_strange_shape_are_none(stub: Stub, backend: Open) -> None:
    for odds in ("x", [1], [{}], [{"token": "pl"}], [{"token": "pl", "logprob": "much"}], {"a": 1}):
        stub.script(default={"envelope": {"logprobs": odds}})
        assert (await answered(backend().adapter(spec()))).tokens == ()


async def test_an_option_of_the_member_stays_the_members(stub: Stub, backend: Open) -> None:
    server = backend()
    mine, yours = server.adapter(spec(NEURON, temperature=0.4)), server.adapter(spec(NEURON_FT))
    await answered(mine, prompts.ballot(BARE_PACK, None))
    await answered(yours, evolve(QUESTION, wants_odds=False))
    assert [call.body["options"]["temperature"] for call in stub.votes()] == [0.4, 0]

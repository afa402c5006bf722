"""Backends that fail: each fault is its member's documented failure, the debate goes on, and the outcome is right."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import stub_ollama
from clock import now
from conftest import Convene
from neuron_council import config
from neuron_council.council import Council
from neuron_council.errors import ConfigError
from neuron_council.evidence.ballot import Label
from neuron_council.evidence.debate import ParkedReason
from neuron_council.evidence.failure import UNASKABLE, FailureKind
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.report import Status
from neuron_council.evidence.verdict import Verdict
from neuron_council.maker import http, ollama
from support import (
    BARE_PACK,
    CLAIM,
    DOLPHIN,
    MODELS,
    NEURON,
    NEURON_FT,
    PACK,
    Stub,
    black_hole,
    http_answer,
    raw_server,
    refusing_url,
    seats,
    until,
)

KINDS = {
    "http500": FailureKind.HTTP_ERROR,
    "busy": FailureKind.BUSY,
    "html502": FailureKind.HTTP_ERROR,
    "unauthorized": FailureKind.UNAUTHORIZED,
    "forbidden": FailureKind.UNAUTHORIZED,
    "redirect": FailureKind.HTTP_ERROR,
    "error_200": FailureKind.HTTP_ERROR,
    "not_json": FailureKind.MALFORMED,
    "bad_utf8": FailureKind.MALFORMED,
    "wrong_type": FailureKind.MALFORMED,
    "no_message": FailureKind.MALFORMED,
    "truncated": FailureKind.MALFORMED,
    "compressed": FailureKind.MALFORMED,
    "not_http": FailureKind.MALFORMED,
    "overflow": FailureKind.CONTEXT_OVERFLOW,
    "huge": FailureKind.TOO_LARGE,
    "close": FailureKind.UNREACHABLE,
    "hang": FailureKind.TIMEOUT,
}
CONTENTS = {
    "prose": ("I find the claim plausible.", FailureKind.UNPARSABLE),
    "cut": ('{"ballot": "plausible", "conf', FailureKind.UNPARSABLE),
    "empty": ("", FailureKind.UNPARSABLE),
    "two": ('{"ballot": "plausible"} {"ballot": "confabulation"}', FailureKind.UNPARSABLE),
    "another label": ('{"ballot": "Plausible!"}', FailureKind.UNPARSABLE),
    "no number": ('{"ballot": "plausible", "confidence": NaN}', FailureKind.UNPARSABLE),
    "endless": ("{" * 70_000, FailureKind.TOO_LARGE),
}
SPLIT = (Status.EMITTED, "T3", 0.65, ("council-split",))
DOUBTED = (Status.EMITTED, "T3", 0.65, ("council-split", "council-doubted"))
FLAGGED = (Status.REJECTED, None, 0.30, ("unverified", "council-flagged"))
UNAVAILABLE = (Status.UNAVAILABLE, None, 0.50, ("council-unavailable",))
PARKED = (Status.PARKED, "T4", 0.30, ("unverified", "council-flagged", "council-parked"))
AGREED = (Status.EMITTED, "T3", 0.85, ("verified",))


async def judge(council: Council, pack: ContextPack = PACK, **more: Any) -> Verdict:
    """A verdict that no earlier one of the same claim stands in for."""
    async with asyncio.timeout(20):
        return await council.verify(pack, **{"fresh": True, **more})


def row(verdict: Verdict) -> tuple[Status, str | None, float, tuple[str, ...]]:
    outcome = verdict.outcome
    return outcome.status, outcome.tier, outcome.confidence, outcome.tags


def kinds(verdict: Verdict) -> list[FailureKind | None]:
    return [vote.failure and vote.failure.kind for vote in verdict.votes]


async def warm(convene: Convene, url: str | None = None, **configured: Any) -> Council:
    """A council whose models are resident, and that has judged once."""
    council = await convene(url, warm=False, **configured)
    assert kinds(await judge(council, BARE_PACK)) == [None] * 3
    return council


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy backend is asked again sooner, and the next model loaded sooner after one was found resident."""
    monkeypatch.setattr(http, "BUSY_PAUSES_S", (0.01, 0.01))
    monkeypatch.setattr(ollama, "GRACE_S", 0.0)


# Every fault of an answer


def test_every_fault_of_the_stub_is_tested() -> None:
    assert set(KINDS) == set(stub_ollama.FAULTS)


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("fault", KINDS)
async def test_one_member_fails(stub: Stub, convene: Convene, fault: str) -> None:
    stub.script(models={NEURON_FT: {"fault": fault}})
    verdict = await judge(await convene(member_timeout_s=0.5 if fault == "hang" else 5))
    assert kinds(verdict) == [None, KINDS[fault], None]
    assert row(verdict) == SPLIT
    failed = verdict.votes[1]
    assert failed.failure
    assert failed.failure.message
    assert CLAIM not in failed.failure.message
    assert (failed.label, failed.strength, failed.rationale) == (Label.UNCERTAIN, None, "")
    assert [entry.member for entry in verdict.report.dissent] == ["neuron-ft"]
    assert len(stub.votes(NEURON)) == len(stub.votes(DOLPHIN)) == 1


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("fault", KINDS)
async def test_all_members_fail(stub: Stub, convene: Convene, fault: str) -> None:
    stub.script(default={"fault": fault})
    verdict = await judge(await convene(member_timeout_s=0.5 if fault == "hang" else 5))
    assert kinds(verdict) == [KINDS[fault]] * 3
    assert row(verdict) == (UNAVAILABLE if KINDS[fault] in UNASKABLE else FLAGGED)
    assert verdict.report.loop_count == 1


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("fault", ["http500", "unauthorized", "truncated", "overflow", "huge", "close", "hang"])
async def test_a_fault_that_has_passed_leaves_nothing_behind(stub: Stub, convene: Convene, fault: str) -> None:
    stub.script(default={"fault": fault})
    council = await convene(member_timeout_s=0.5 if fault == "hang" else 5)
    await judge(council)
    stub.script()
    assert row(await judge(council)) == AGREED


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("fault", KINDS)
async def test_the_challenge_fails(stub: Stub, convene: Convene, fault: str) -> None:
    stub.script(models={DOLPHIN: {"by_call": [{}, {"fault": fault}]}})
    verdict = await judge(await convene(member_timeout_s=0.5 if fault == "hang" else 5))
    assert kinds(verdict) == [None] * 3
    assert verdict.report.challenge
    assert verdict.report.challenge.failure
    assert verdict.report.challenge.failure.kind is KINDS[fault]
    assert row(verdict) == DOUBTED


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize(("content", "kind"), CONTENTS.values(), ids=CONTENTS)
async def test_a_model_says_what_is_no_ballot(stub: Stub, convene: Convene, content: str, kind: FailureKind) -> None:
    stub.script(models={NEURON_FT: {"content": content}})
    verdict = await judge(await convene())
    assert kinds(verdict) == [None, kind, None]
    assert row(verdict) == SPLIT


async def test_a_member_is_re_asked_exactly_once(stub: Stub, convene: Convene) -> None:
    stub.script(models={NEURON: {"content": "Hm."}, NEURON_FT: {"by_call": [{"content": "Hm."}, {}]}})
    verdict = await judge(await convene(), BARE_PACK)
    assert kinds(verdict) == [FailureKind.UNPARSABLE, None, None]
    assert [len(stub.votes(model)) for model in MODELS] == [2, 2, 1]


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("fault", ["http500", "unauthorized", "forbidden", "not_json", "overflow", "redirect"])
async def test_nothing_else_is_asked_twice(stub: Stub, convene: Convene, fault: str) -> None:
    stub.script(models={NEURON_FT: {"fault": fault}})
    await judge(await convene(), BARE_PACK)
    assert len(stub.votes(NEURON_FT)) == 1


@pytest.mark.usefixtures("_impatient")
async def test_a_busy_backend_that_recovers_votes(stub: Stub, convene: Convene) -> None:
    stub.script(default={"fault": "busy", "fault_first": 2})
    assert row(await judge(await convene())) == AGREED


# Backends that are not there


async def test_nobody_listens(convene: Convene) -> None:
    began = now()
    verdict = await judge(await convene(refusing_url()))
    assert now() - began < 2.0
    assert row(verdict) == UNAVAILABLE
    assert kinds(verdict) == [FailureKind.UNREACHABLE] * 3
    assert "ollama serve" in verdict.outcome.summary


async def test_the_way_there_leads_nowhere(convene: Convene) -> None:
    with black_hole() as url:
        began = now()
        verdict = await judge(await convene(url))
        assert now() - began < 2.0
    assert row(verdict) == UNAVAILABLE
    assert kinds(verdict) == [FailureKind.UNREACHABLE] * 3


async def test_nobody_listens_while_the_models_were_believed(stub: Stub, convene: Convene) -> None:
    council = await warm(convene)
    stub.kill()
    began = now()
    verdict = await judge(council)
    assert now() - began < 2.0
    assert row(verdict) == UNAVAILABLE


@pytest.mark.parametrize("path", ["/api/show", "/api/tags", "/api/version"])
async def test_a_question_about_the_backend_is_never_answered(
    stub: Stub, convene: Convene, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ollama, "CONTROL_S", 0.1)
    monkeypatch.setattr(ollama, "SHOW_S", 0.1)
    stub.script(dead_routes=[path])
    assert row(await judge(await convene(warm=False))) == AGREED


async def test_who_does_not_say_what_is_resident_is_not_waited_for(
    stub: Stub, convene: Convene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ollama, "CONTROL_S", 0.1)
    stub.script(dead_routes=["/api/ps"])
    began = now()
    assert row(await judge(await convene(warm=False, load_wait_s=30))) == UNAVAILABLE
    assert now() - began < 2.0


@pytest.mark.usefixtures("stub")
async def test_no_wait_for_loads_is_no_wait_for_what_is_resident(convene: Convene) -> None:
    council = await convene(warm=False, load_wait_s=0)
    await council.warm_up()
    assert row(await judge(council)) == AGREED


async def test_a_backend_that_answers_nothing_at_all(stub: Stub, convene: Convene) -> None:
    stub.script(dead_routes=["/api/ps", "/api/show", "/api/tags", "/api/version", "/api/chat"])
    began = now()
    verdict = await judge(await convene(load_wait_s=0.5))
    assert now() - began < 2.0
    assert row(verdict) == UNAVAILABLE


async def test_another_service_listens(convene: Convene) -> None:
    async with raw_server(http_answer(404, b"404 page not found")) as server:
        verdict = await judge(await convene(server.url))
    assert verdict.outcome.status in (Status.UNAVAILABLE, Status.REJECTED)
    assert all(kinds(verdict))
    assert verdict.outcome.confidence <= 0.5


async def test_the_backend_comes_back(stub: Stub, convene: Convene) -> None:
    council = await convene()
    stub.kill()
    assert row(await judge(council)) == UNAVAILABLE
    stub.start()
    assert row(await judge(council)) == AGREED


async def test_the_backend_restarts_between_two_claims(stub: Stub, convene: Convene) -> None:
    """Its models are gone though they were seen a moment ago, and loading them is no part of a vote."""
    council = await warm(convene, member_timeout_s=0.5)
    stub.kill()
    stub.start()
    stub.script(default={"load": 0.6})
    assert row(await judge(council)) == AGREED


@pytest.mark.usefixtures("_impatient")
async def test_a_kept_connection_has_died(stub: Stub, convene: Convene) -> None:
    stub.script(requests_per_connection=1)
    council = await convene()
    for _ in range(3):
        assert row(await judge(council)) == AGREED


async def test_the_backend_dies_between_ballot_and_challenge(stub: Stub, convene: Convene) -> None:
    council = await warm(convene)
    heard = 0

    def kill_after_the_third(_: object) -> None:
        nonlocal heard
        heard += 1
        if heard == 3:
            stub.kill()

    began = now()
    verdict = await judge(council, on_vote=kill_after_the_third)
    assert now() - began < 2.0
    assert kinds(verdict) == [None] * 3
    assert verdict.report.challenge
    assert verdict.report.challenge.failure
    assert verdict.report.challenge.failure.kind is FailureKind.UNREACHABLE
    assert row(verdict) == DOUBTED


async def test_the_backend_dies_between_two_loops(stub: Stub, convene: Convene) -> None:
    labels = dict(zip(MODELS, ("plausible", "uncertain", "confabulation"), strict=True))
    stub.script(models={model: {"ballot": label} for model, label in labels.items()})
    council = await convene()
    await until(lambda: len(stub.loads()) == 3)
    heard = 0

    def kill_after_the_third(_: object) -> None:
        nonlocal heard
        heard += 1
        if heard == 3:
            stub.kill()

    verdict = await judge(council, on_vote=kill_after_the_third)
    assert heard == 6
    assert row(verdict) == PARKED
    assert verdict.report.parked_reason is ParkedReason.NO_QUORUM
    assert verdict.report.loop_count == 1
    assert [vote.label for vote in verdict.votes] == list(labels.values())
    assert kinds(verdict) == [None] * 3


async def test_the_backend_dies_during_the_votes(stub: Stub, convene: Convene) -> None:
    council = await warm(convene)
    stub.script(default={"fault": "hang"})
    claim = asyncio.create_task(judge(council))
    await until(lambda: len(stub.votes()) == 3)
    stub.kill()
    verdict = await asyncio.wait_for(claim, 2)
    assert set(kinds(verdict)) == {FailureKind.UNREACHABLE}
    assert row(verdict) == UNAVAILABLE


# Loading


async def test_the_warm_up_loads_one_model_at_a_time_with_the_votes_options(stub: Stub, convene: Convene) -> None:
    stub.script(default={"load": 0.05})
    verdict = await judge(await convene())
    assert row(verdict) == AGREED
    loads = stub.loads()
    assert [load.model for load in loads] == list(MODELS)
    assert all(earlier.end and earlier.end <= later.start for earlier, later in pairwise(loads))
    votes = {vote.model: vote.body for vote in stub.votes()}
    for load in loads:
        assert load.body["options"] == votes[load.model]["options"]
        assert load.body["keep_alive"] == votes[load.model]["keep_alive"]


async def test_a_cold_board_votes_though_its_loads_outlast_a_vote(stub: Stub, convene: Convene) -> None:
    stub.script(default={"load": 0.6})
    verdict = await judge(await convene(warm=False, member_timeout_s=0.5))
    assert row(verdict) == AGREED
    assert len(stub.loads()) == 3
    for vote in verdict.votes:
        assert vote.ended_ms - vote.began_ms < 500
    assert max(vote.began_ms for vote in verdict.votes) >= 1700


async def test_a_queue_is_no_part_of_a_vote(stub: Stub, convene: Convene) -> None:
    council = await warm(convene, member_timeout_s=0.5)
    stub.script(default={"delay": 0.1})
    verdicts = await asyncio.gather(*(judge(council, ContextPack(f"{CLAIM} {n} said so.")) for n in range(8)))
    assert {row(verdict) for verdict in verdicts} == {AGREED}


CRAMPED = {"default": {"load": 0.6, "delay": 0.03}}
"""A load takes longer than a vote may, so that a vote which has to wait for one times out."""


@pytest.mark.parametrize("limit", [1, 2])
async def test_models_that_do_not_fit_together_vote_one_after_another(stub: Stub, convene: Convene, limit: int) -> None:
    stub.script(**CRAMPED, ps_limit=limit)
    verdict = await judge(await convene(member_timeout_s=0.5))
    assert kinds(verdict) == [None] * 3
    assert row(verdict) == AGREED


async def test_models_that_do_not_fit_together_are_found_out_without_a_warm_up(stub: Stub, convene: Convene) -> None:
    stub.script(**CRAMPED, ps_limit=1)
    council = await convene(warm=False, member_timeout_s=0.5)
    for _ in range(2):
        verdict = await judge(council, BARE_PACK)
        assert kinds(verdict) == [None] * 3


async def test_models_that_no_longer_fit_together_vote_one_after_another(stub: Stub, convene: Convene) -> None:
    """Another program has taken the memory since."""
    council = await warm(convene, member_timeout_s=0.5)
    stub.script(**CRAMPED, ps_limit=1, resident={})
    await judge(council, BARE_PACK)
    assert kinds(await judge(council, BARE_PACK)) == [None] * 3


async def test_claims_on_models_that_do_not_fit_together(stub: Stub, convene: Convene) -> None:
    stub.script(**CRAMPED, ps_limit=1)
    council = await convene(member_timeout_s=0.5)
    verdicts = await asyncio.gather(*(judge(council, ContextPack(f"{CLAIM} {n} said so.")) for n in range(2)))
    assert [kinds(verdict) for verdict in verdicts] == [[None] * 3] * 2


async def test_a_load_that_hangs_costs_its_member_alone(stub: Stub, convene: Convene) -> None:
    stub.script(models={DOLPHIN: {"load": 60}}, resident={NEURON: 8192, NEURON_FT: 8192})
    council = await convene(load_wait_s=0.8)
    began = now()
    verdict = await judge(council)
    assert now() - began < 2.0
    assert kinds(verdict) == [None, None, FailureKind.NOT_LOADED]
    assert row(verdict) == SPLIT
    stub.script()
    health = await council.health()
    assert [member.loaded for member in health.members] == [True, True, False]


async def test_a_load_that_hangs_first_holds_up_no_later_resident_model(stub: Stub, convene: Convene) -> None:
    council = await warm(convene, load_wait_s=0.8)
    stub.script(models={NEURON: {"load": 60}}, resident={NEURON_FT: 8192, DOLPHIN: 8192})
    verdict = await judge(council)
    assert kinds(verdict) == [FailureKind.NOT_LOADED, None, None]


async def test_all_models_load_too_long(stub: Stub, convene: Convene) -> None:
    stub.script(default={"load": 60})
    began = now()
    verdict = await judge(await convene(load_wait_s=0.3))
    assert now() - began < 1.0
    assert kinds(verdict) == [FailureKind.NOT_LOADED] * 3
    assert row(verdict) == UNAVAILABLE


async def test_a_load_goes_on_after_the_claim_that_waited(stub: Stub, convene: Convene) -> None:
    stub.script(default={"load": 0.15})
    council = await convene(warm=False, load_wait_s=0.05)
    assert row(await judge(council)) == UNAVAILABLE
    await until(lambda: len([load for load in stub.loads() if load.end]) == 3)
    assert {load.outcome for load in stub.loads()} == {"answered"}
    assert row(await judge(council)) == AGREED
    assert len(stub.loads()) == 3


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("fault", ["http500", "error_200", "not_json", "truncated", "huge"])
async def test_a_load_that_fails_is_not_loaded(stub: Stub, convene: Convene, fault: str) -> None:
    stub.script(models={NEURON_FT: {"load_fault": fault}})
    verdict = await judge(await convene())
    assert kinds(verdict) == [None, FailureKind.NOT_LOADED, None]
    assert row(verdict) == SPLIT


async def test_an_evicted_model_is_loaded_before_its_clock_starts(stub: Stub, convene: Convene) -> None:
    council = await warm(convene, member_timeout_s=0.5)
    stub.script(default={"load": 0.6}, resident={NEURON: 8192})
    assert row(await judge(council)) == AGREED
    assert [load.model for load in stub.loads()] == [NEURON_FT, DOLPHIN]


async def test_a_member_that_timed_out_is_looked_for_before_it_is_asked_again(stub: Stub, convene: Convene) -> None:
    """Its model may have been evicted just now; then every cut vote would throw a load away."""
    council = await warm(convene, member_timeout_s=0.5)
    stub.script(models={NEURON: {"load": 0.6}}, resident={NEURON_FT: 8192, DOLPHIN: 8192})
    assert kinds(await judge(council, BARE_PACK))[0] in (None, FailureKind.TIMEOUT)
    assert row(await judge(council)) == AGREED
    assert [load.outcome for load in stub.loads(NEURON)] == ["answered"]


async def test_a_resident_model_with_another_window_is_loaded_before_its_clock_starts(
    stub: Stub, convene: Convene
) -> None:
    council = await warm(convene, member_timeout_s=0.5)
    stub.script(default={"load": 0.6}, resident={NEURON: 4096, NEURON_FT: 8192, DOLPHIN: 8192})
    assert row(await judge(council)) == AGREED
    assert [load.model for load in stub.loads()] == [NEURON]


async def test_a_model_replaced_under_its_name_is_loaded_before_its_clock_starts(stub: Stub, convene: Convene) -> None:
    council = await warm(convene, member_timeout_s=0.5)
    replaced = {"digests": {NEURON: "f" * 64}, "default": {"load": 0.6}}
    stub.script(**replaced, resident={NEURON_FT: 8192, DOLPHIN: 8192})
    assert row(await judge(council)) == AGREED
    assert [load.model for load in stub.loads()] == [NEURON]


# Cancelling


async def test_a_cancelled_claim_closes_its_connections(stub: Stub, convene: Convene) -> None:
    council = await warm(convene)
    stub.script(default={"fault": "hang"})
    claim = asyncio.create_task(council.verify(PACK))
    await until(lambda: len(stub.votes()) == 3)
    claim.cancel()
    with pytest.raises(asyncio.CancelledError):
        await claim
    await until(lambda: [call.outcome for call in stub.votes()] == ["client-closed"] * 3)
    stub.script()
    assert row(await judge(council)) == AGREED


async def test_a_cancelled_challenge_closes_its_connection(stub: Stub, convene: Convene) -> None:
    stub.script(models={DOLPHIN: {"by_call": [{}, {"fault": "hang"}]}})
    council = await convene()
    claim = asyncio.create_task(council.verify(PACK))
    await until(stub.challenges)
    claim.cancel()
    with pytest.raises(asyncio.CancelledError):
        await claim
    await until(lambda: stub.challenges()[0].outcome == "client-closed")


async def test_a_load_outlives_a_cancelled_claim(stub: Stub, convene: Convene) -> None:
    stub.script(models={NEURON: {"load": 0.6}})
    council = await convene(warm=False)
    claim = asyncio.create_task(council.verify(PACK))
    await until(lambda: stub.loads(NEURON))
    claim.cancel()
    with pytest.raises(asyncio.CancelledError):
        await claim
    await until(lambda: stub.loads(NEURON)[0].end)
    assert stub.loads(NEURON)[0].outcome == "answered"


async def test_a_member_that_times_out_stops_its_model(stub: Stub, convene: Convene) -> None:
    council = await warm(convene, member_timeout_s=0.5)
    stub.script(models={NEURON: {"fault": "hang"}})
    verdict = await judge(council)
    assert kinds(verdict) == [FailureKind.TIMEOUT, None, None]
    assert row(verdict) == SPLIT
    await until(lambda: stub.votes(NEURON)[0].outcome == "client-closed")


async def test_cancelling_one_claim_stops_no_other(stub: Stub, convene: Convene) -> None:
    council = await warm(convene)
    stub.script(default={"delay": 0.2})
    first = asyncio.create_task(council.verify(PACK))
    second = asyncio.create_task(council.verify(ContextPack("Water boils at 100 degrees at sea level.")))
    await until(lambda: len(stub.votes()) == 3)
    first.cancel()
    assert row(await asyncio.wait_for(second, 5)) == AGREED


# Windows, clouds, thinking


async def test_a_silent_cut_is_found_by_the_servers_count(stub: Stub, convene: Convene) -> None:
    long_pack = ContextPack(CLAIM, "Rain fell on the roof. " * 1040)
    stub.script(models={NEURON: {"envelope": {"prompt_eval_count": 4098}}})
    verdict = await judge(await convene(), long_pack)
    assert kinds(verdict) == [FailureKind.CONTEXT_OVERFLOW, None, None]


async def test_a_claim_that_fits_no_window_names_the_cure(stub: Stub, convene: Convene) -> None:
    long_pack = ContextPack(CLAIM, "Rain fell on the roof. " * 1040)
    verdict = await judge(await convene(ollama={"num_ctx": 1024}), long_pack)
    assert kinds(verdict) == [FailureKind.CONTEXT_OVERFLOW] * 3
    assert row(verdict) == UNAVAILABLE
    assert any("num_ctx" in warning for warning in verdict.warnings)
    assert not stub.votes()


async def test_a_model_in_the_cloud_is_not_asked(stub: Stub, convene: Convene) -> None:
    stub.script(models={DOLPHIN: {"remote_host": "https://ollama.com:443"}})
    verdict = await judge(await convene())
    assert verdict.votes[2].failure
    assert not verdict.votes[2].was_askable
    assert "machine" in verdict.votes[2].failure.message
    assert DOLPHIN not in {call.model for call in stub.calls("/api/chat")}
    assert row(verdict) == SPLIT


@pytest.mark.parametrize("model", ["fir:cloud", "gpt-oss:120b-cloud", "Fir:Cloud"])
def test_a_board_with_a_model_in_the_cloud_is_refused(tmp_path: Path, model: str) -> None:
    with pytest.raises(ConfigError, match="cloud"):
        config.load(tmp_path, {}, {"member": seats(NEURON, model, DOLPHIN)})


@pytest.mark.usefixtures("_impatient")
async def test_thinking_is_turned_off_model_by_model(stub: Stub, convene: Convene) -> None:
    can_think = ["completion", "thinking"]
    stub.script(
        models={
            NEURON_FT: {"capabilities": can_think, "family": "qwen3"},
            DOLPHIN: {"capabilities": can_think, "family": "gptoss"},
        }
    )
    await judge(await convene())
    said = {str(call.model): call.body.get("think", "left out") for call in stub.calls("/api/chat")}
    assert said == {NEURON: "left out", NEURON_FT: False, DOLPHIN: "low"}


@pytest.mark.usefixtures("_impatient")
async def test_a_model_that_forgets_the_schema_without_thinking_still_votes(stub: Stub, convene: Convene) -> None:
    stub.script(models={NEURON: {"capabilities": ["thinking"], "by_call": [{"content": "Plausible."}, {}]}})
    assert row(await judge(await convene())) == AGREED


@pytest.mark.usefixtures("_impatient")
async def test_probabilities_come_from_the_ballots_token(stub: Stub, convene: Convene) -> None:
    stub.script(models={NEURON: {"ballot": "confabulation"}, NEURON_FT: {"envelope": {"logprobs": None}}})
    first, second, third = (await judge(await convene())).votes
    assert first.probabilities
    assert first.probabilities.confabulation == pytest.approx(8 / 9)
    assert first.probabilities.plausible == pytest.approx(1 / 9)
    assert second.probabilities is None
    assert third.probabilities


# Addresses


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"])
async def test_a_proxy_is_not_asked_for_this_machine(
    convene: Convene, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, refusing_url())
    assert row(await judge(await convene())) == AGREED


HOSTS = {
    "": "http://127.0.0.1:11434",
    "10.1.2.3": "http://10.1.2.3:11434",
    "example.com": "http://example.com:11434",
    ":5000": "http://127.0.0.1:5000",
    "http://example.com": "http://example.com:80",
    "https://example.com": "https://example.com:443",
    "example.com:5000/": "http://example.com:5000",
    "http://example.com:5000/p/": "http://example.com:5000/p",
    "[::1]": "http://[::1]:11434",
    "[::1]:5000": "http://[::1]:5000",
    "::1": "http://[::1]:11434",
    "0.0.0.0": "http://127.0.0.1:11434",  # noqa: S104 - the address to be mapped
    "0.0.0.0:5000": "http://127.0.0.1:5000",
    "[::]:5000": "http://[::1]:5000",
    "::": "http://[::1]:11434",
    ' "10.1.2.3:5000" ': "http://10.1.2.3:5000",
    "'example.com'": "http://example.com:11434",
}


@pytest.mark.parametrize(("host", "url"), HOSTS.items(), ids=[repr(host) for host in HOSTS])
def test_ollama_host_is_read_as_ollama_reads_it(tmp_path: Path, host: str, url: str) -> None:
    assert config.load(tmp_path, {"OLLAMA_HOST": host}).connections.ollama_url == url


@pytest.mark.parametrize("host", ["h:99999", "h:abc", "h:0", "ftp://h", "a b", "user@h", "h?q", "h#f"])
def test_an_ollama_host_that_is_no_address_is_refused(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigError, match="OLLAMA_HOST"):
        config.load(tmp_path, {"OLLAMA_HOST": host})


async def test_ollama_host_counts_where_no_base_url_is_set(stub: Stub, tmp_path: Path) -> None:
    council = Council(config.load(tmp_path, {"OLLAMA_HOST": f"127.0.0.1:{stub.port}"}))
    try:
        assert row(await judge(council)) == AGREED
    finally:
        await council.close()


def test_a_base_url_counts_before_ollama_host(tmp_path: Path) -> None:
    options = {"ollama": {"base_url": "http://127.0.0.1:1234"}}
    assert config.load(tmp_path, {"OLLAMA_HOST": "h"}, options).connections.ollama_url == "http://127.0.0.1:1234"


async def test_members_may_stand_at_different_backends(stub: Stub, convene: Convene) -> None:
    entries = seats(NEURON, NEURON_FT, DOLPHIN)
    entries[1]["base_url"] = refusing_url()
    verdict = await judge(await convene(member=entries))
    assert kinds(verdict) == [None, FailureKind.UNREACHABLE, None]
    assert row(verdict) == SPLIT
    assert not stub.votes(NEURON_FT)

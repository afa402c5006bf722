"""Ollama: the adapter that votes over `/api/chat`, and the backend that has the models resident before a clock starts.

One model loads at a time, and a client that leaves throws its load away; so models are loaded outside of any vote, one
after the other, with the very options of the vote, and a load that has begun is never cancelled by a claim. Models are
evicted, and servers restarted, at any moment: `/api/ps` is asked before every phase, which takes a millisecond or two.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from attrs import define

from neuron_council.evidence.failure import Err, Failure, FailureKind, Ok
from neuron_council.maker.adapter import Adapter, BackendState, ModelState, Prompt, Reply, is_there, tokens
from neuron_council.maker.board import MemberSpec
from neuron_council.maker.http import HTTP_SERVER_ERROR, Line, Refused
from neuron_council.maker.prompts import MAX_TOKENS

log = logging.getLogger(__name__)

CONTROL_S = 1.0
"""Seconds that a question about the backend itself may take; health and `unavailable` must not wait for it."""
LOAD_S = 600.0
"""Seconds after which a load counts as failed; Ollama itself gives up on a stalled one after 5 minutes."""
BELIEVED_S = 60.0
"""Seconds for which a model's digest is believed."""
SHOW_S = 3.0
"""Seconds that a description of a model may take; without one it is loaded all the same."""
GRACE_S = 0.05
"""Seconds that a load leaves to whoever just found its model resident, to vote: a load evicts models that are idle."""
CALM_S = 0.5
"""Seconds that a load waits for such votes at most, for they may never cease."""
MAX_ALTERNATIVES = 10
"""Alternatives of a token that are asked for; the three labels are among the first."""

_MAX_BYTES_PER_TOKEN = 12
"""Bytes that a token of ordinary text covers at most, so that a prompt is only refused here where it cannot fit."""
_UNCUT_BYTES_PER_TOKEN = 5
"""Bytes per counted token above which the count cannot be of the whole text; English has some 4."""
_NUM_KEEP = (4, 5)
"""Tokens that a silent cut keeps at the beginning (with and without one for the beginning of text)."""
_LOAD_FAULTS = (FailureKind.MODEL_NOT_FOUND, FailureKind.UNAUTHORIZED, FailureKind.UNREACHABLE)


class OllamaBackend:
    """One Ollama server and the models that its members use."""

    def __init__(
        self, url: str, *, keep_alive: str | int, num_ctx: int, connections: int, api_key: str | None = None
    ) -> None:
        """URL is the base URL, KEEP_ALIVE a duration with a unit or seconds.

        CONNECTIONS bounds the calls in flight per member.
        """
        self.url = url
        self.keep_alive = keep_alive
        self.num_ctx = num_ctx
        self._connections = connections
        self._api_key = api_key
        self._control = self.line()
        self._models: dict[_Key, _Residence] = {}
        self._adapters: list[OllamaAdapter] = []
        self._loader = asyncio.Lock()
        self._expected = 0
        self._listed_at = 0.0
        self._calm = asyncio.Event()
        self._calm.set()
        self._asking: dict[str, asyncio.Task[Ok[dict[str, Any]] | Err]] = {}
        self._loads: dict[_Key, asyncio.Task[Failure | None]] = {}

    def line(self) -> Line:
        """A new HTTP line to the server."""
        cures = {
            FailureKind.UNREACHABLE: "Start it with `ollama serve`, or give its `base_url` in council.toml.",
            FailureKind.UNAUTHORIZED: "Sign in there, or name another `base_url` in council.toml.",
        }
        return Line(self.url, cures=cures, api_key=self._api_key, connections=self._connections + 1)

    def adapter(self, spec: MemberSpec) -> Adapter:
        """The adapter of one member."""
        adapter = OllamaAdapter(self, spec)
        adapter.residence = self._models.setdefault(adapter.key, adapter.residence)
        self._adapters.append(adapter)
        return adapter

    async def warm_up(self) -> None:
        """Load the models of all members, one at a time; then see whether they are resident together."""
        for adapter in self._adapters:
            await self.resident(adapter, LOAD_S)
        listing = await self._list()
        if isinstance(listing, Ok) and not all(each.is_listed for each in self._models.values() if each.is_ours):
            log.warning("%s does not hold all models at once, so claims wait for models to be loaded", self.url)

    async def state(self) -> BackendState:
        """Whether the server answers, and its version."""
        answer = await self._ask("/api/version")
        if isinstance(answer, Err):
            return BackendState(self.url, is_there(answer.failure), None)
        version = answer.value.get("version")
        return BackendState(self.url, True, version if isinstance(version, str) else None)

    async def model_state(self, model: str) -> ModelState:
        """What `/api/tags` and `/api/ps` say of MODEL."""
        tags, ps = await asyncio.gather(self._ask("/api/tags"), self._ask("/api/ps"))
        installed, loaded = _row(tags, model), _row(ps, model)
        return ModelState(
            installed=None if isinstance(tags, Err) else installed is not None,
            loaded=None if isinstance(ps, Err) else loaded is not None,
            digest=_digest(installed),
        )

    async def identify(self, adapter: OllamaAdapter) -> str | None:
        """The digest of ADAPTER's model: what `/api/ps` said within the last minute, else what `/api/tags` says."""
        if adapter.digest and abs(time.time() - self._listed_at) < BELIEVED_S:
            return adapter.digest
        return _digest(_row(await self._ask("/api/tags"), adapter.model))

    async def close(self) -> None:
        """Stop loading and close the connections."""
        tasks = [*self._loads.values(), *self._asking.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(self._control.close(), *(adapter.close() for adapter in self._adapters))

    async def resident(self, adapter: OllamaAdapter, wait_s: float) -> Failure | None:
        """See Adapter.resident. The question what is resident has a limit of its own and is no part of the wait."""
        found = await self._load_of(adapter)
        if not isinstance(found, asyncio.Task):
            return found
        try:
            async with asyncio.timeout(wait_s):
                return await asyncio.shield(found)
        except TimeoutError:
            return Failure(
                FailureKind.NOT_LOADED,
                f"{adapter.model} was not loaded within {wait_s:.1f} s. It goes on loading; ask again, "
                "or raise `load_wait_s` in council.toml.",
            )

    async def _load_of(self, adapter: OllamaAdapter) -> asyncio.Task[Failure | None] | Failure | None:
        """None where the model is resident with the vote's own window, else its load, or why it cannot be had."""
        listing = await self._list()
        if isinstance(listing, Err) and listing.failure.kind in _LOAD_FAULTS:
            return listing.failure
        if adapter.residence.serves(adapter.num_ctx):
            self._expect_a_vote()
            return None
        if isinstance(listing, Err) and listing.failure.kind is FailureKind.TIMEOUT:
            # Who does not say what is loaded would not load either, and a claim must not wait for that.
            return Failure(FailureKind.UNREACHABLE, listing.failure.message)
        task = self._loads.get(adapter.key)
        if task is None:
            task = self._loads[adapter.key] = asyncio.create_task(self._load(adapter))
            task.add_done_callback(lambda _: self._loads.pop(adapter.key, None))
        return task

    async def _list(self) -> Ok[dict[str, Any]] | Err:
        """Ask `/api/ps`, and note what is resident."""
        answer = await self._ask("/api/ps")
        self._note(answer)
        return answer

    def _note(self, answer: Ok[dict[str, Any]] | Err) -> None:
        if isinstance(answer, Err):
            return
        self._listed_at = time.time()
        for (name, _), model in self._models.items():
            row = _row(answer, name)
            digest = _digest(row)
            model.is_listed = row is not None and model.digest in (None, digest)
            model.digest = model.digest or digest
            model.window = _window(row)

    async def _load(self, adapter: OllamaAdapter) -> Failure | None:
        """Load the model as the vote will use it; one model at a time."""
        model = adapter.residence
        if failure := await self._describe(adapter):
            return failure
        async with self._loader:
            await self._calmed()
            begun = time.monotonic()
            try:
                async with asyncio.timeout(LOAD_S):
                    answer = await adapter.load()
            except TimeoutError:
                return Failure(FailureKind.NOT_LOADED, f"{adapter.model} did not load within {LOAD_S:.0f} s.")
            if isinstance(answer, Err) and (failure := _load_failure(adapter.model, answer)):
                return failure
            log.info("%s is resident after %.1f s", adapter.model, time.monotonic() - begun)
            model.is_ours = model.is_listed = True
            model.digest = model.window = None
            self._note(await self._get("/api/ps"))  # not one that began before the load had ended
            model.own_window = model.window
            self._expect_a_vote()
            return None

    def _expect_a_vote(self) -> None:
        """Let nothing load for a moment: whoever was just told that its model is resident is about to vote."""
        self._expected += 1
        self._calm.clear()
        asyncio.get_running_loop().call_later(GRACE_S, self._expect_no_more)

    def _expect_no_more(self) -> None:
        self._expected -= 1
        if not self._expected:
            self._calm.set()

    async def _calmed(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(CALM_S):
                await self._calm.wait()

    async def _describe(self, adapter: OllamaAdapter) -> Failure | None:
        """Ask what the model can do, once before each load."""
        try:
            async with asyncio.timeout(SHOW_S):
                answer = await self._control.post("/api/show", {"model": adapter.model})
        except TimeoutError:
            return None
        if isinstance(answer, Err):
            is_missing = answer.failure.kind is FailureKind.MODEL_NOT_FOUND
            return adapter.missing() if is_missing else None
        listed = _row(await self._ask("/api/tags"), adapter.model)
        if answer.value.get("remote_host") or (listed and listed.get("remote_host")):
            return Failure(
                FailureKind.MODEL_NOT_FOUND,
                f"{adapter.model} runs on another host, so claims would leave this machine. "
                "Name a local model in council.toml.",
            )
        adapter.residence.think = _think(answer.value)
        return None

    async def _ask(self, path: str) -> Ok[dict[str, Any]] | Err:
        """What PATH answers within a second; who asks meanwhile shares the answer."""
        task = self._asking.get(path)
        if task is None:
            task = self._asking[path] = asyncio.create_task(self._get(path))
            task.add_done_callback(lambda _: self._asking.pop(path, None))
        return await asyncio.shield(task)

    async def _get(self, path: str) -> Ok[dict[str, Any]] | Err:
        try:
            async with asyncio.timeout(CONTROL_S):
                return await self._control.get(path)
        except TimeoutError:
            return Err(Failure(FailureKind.TIMEOUT, f"{self.url} did not answer {path} within {CONTROL_S:.0f} s."))


_Key = tuple[str, int]


@define
class _Residence:
    """What is known of a model with one window: loaded from here, listed by `/api/ps`, and with which window there.

    `own_window` is what the server made of the window asked for, `think` the value that turns thinking off or down,
    None where the model does not think or nobody knows.
    """

    is_ours: bool = False
    is_listed: bool = False
    window: int | None = None
    own_window: int | None = None
    digest: str | None = None
    think: bool | str | None = None

    def serves(self, num_ctx: int) -> bool:
        """Whether a vote with this window would find the model loaded as it needs it."""
        return self.is_ours and self.is_listed and self.window in (None, num_ctx, self.own_window)


class OllamaAdapter:
    """One member's line to its model on an Ollama server."""

    def __init__(self, backend: OllamaBackend, spec: MemberSpec) -> None:
        """SPEC's options override the vote's defaults, `num_ctx` and `temperature` among them."""
        self.model = spec.model
        self._backend = backend
        self._line = backend.line()
        self._own = dict(spec.options)
        own_window = self._own.get("num_ctx")
        self.num_ctx = own_window if isinstance(own_window, int) else backend.num_ctx
        self.key: _Key = (spec.model, self.num_ctx)
        self.residence = _Residence()

    async def resident(self, wait_s: float) -> Failure | None:
        """See Adapter."""
        return await self._backend.resident(self, wait_s)

    async def state(self) -> ModelState:
        """See Adapter."""
        return await self._backend.model_state(self.model)

    @property
    def digest(self) -> str | None:
        """See Adapter."""
        return self.residence.digest

    async def identify(self) -> str | None:
        """See Adapter."""
        return await self._backend.identify(self)

    async def run(self, prompt: Prompt) -> Ok[Reply] | Err:
        """See Adapter."""
        if (floor := _size(prompt) // _MAX_BYTES_PER_TOKEN) + prompt.max_tokens > self.num_ctx:
            return Err(Failure(FailureKind.CONTEXT_OVERFLOW, self._overflow(f"needs at least {floor} tokens")))
        answer = await self._line.post("/api/chat", self._body(prompt))
        if isinstance(answer, Err):
            kind = answer.failure.kind
            if kind is FailureKind.MODEL_NOT_FOUND:
                return Err(self.missing())
            if kind is FailureKind.CONTEXT_OVERFLOW:
                return Err(Failure(kind, self._overflow("does not fit")))
            return answer
        return self._reply(answer.value, prompt)

    async def load(self) -> Ok[dict[str, Any]] | Err:
        """Load the model with the options of a vote, and answer when it is resident."""
        return await self._line.post("/api/chat", self._frame(0) | {"messages": []})

    async def close(self) -> None:
        """Close the connections."""
        await self._line.close()

    def missing(self) -> Failure:
        """The failure of a model that is not installed."""
        return Failure(
            FailureKind.MODEL_NOT_FOUND,
            f"{self.model} is not installed: `ollama pull {self.model}`, or choose others: `neuron-council init`.",
        )

    def _frame(self, max_tokens: int) -> dict[str, Any]:
        options = {"num_ctx": self.num_ctx, "num_predict": max_tokens or MAX_TOKENS, "seed": 0, "temperature": 0}
        return {
            "model": self.model,
            "stream": False,
            "keep_alive": self._backend.keep_alive,
            "options": options | self._own,
            **({} if self.residence.think is None else {"think": self.residence.think}),
        }

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        odds = {"logprobs": True, "top_logprobs": MAX_ALTERNATIVES} if prompt.wants_odds else {}
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        return (
            self._frame(prompt.max_tokens) | {"messages": messages, "format": prompt.schema, "truncate": False} | odds
        )

    def _reply(self, answer: Mapping[str, Any], prompt: Prompt) -> Ok[Reply] | Err:
        message = answer.get("message")
        text = message.get("content") if isinstance(message, dict) else None
        if not isinstance(text, str):
            return self._err(FailureKind.MALFORMED, "sent an answer without a message")
        if self._was_cut(answer.get("prompt_eval_count"), prompt):
            return Err(Failure(FailureKind.CONTEXT_OVERFLOW, self._overflow("was cut by the server")))
        if self.residence.think is False and "{" not in text:
            # Some versions drop the schema when thinking is turned off; the next question leaves it to the model.
            self.residence.think = None
        if answer.get("done") is not True or answer.get("done_reason", "stop") != "stop":
            return self._err(FailureKind.UNPARSABLE, "broke off before its answer was whole")
        return Ok(Reply(text, tokens(answer.get("logprobs"))))

    def _was_cut(self, count: object, prompt: Prompt) -> bool:
        """Whether the server's count of the prompt is what a silent cut to half the window leaves of a longer text."""
        halves = [self.num_ctx - (self.num_ctx - keep) // 2 for keep in _NUM_KEEP]
        return count in halves and _size(prompt) > _UNCUT_BYTES_PER_TOKEN * halves[0]

    def _overflow(self, why: str) -> str:
        return (
            f"The prompt {why} and the window of {self.model} is {self.num_ctx} tokens. Shorten claim or context, "
            "or raise `num_ctx` in council.toml."
        )

    def _err(self, kind: FailureKind, what: str) -> Err:
        return Err(Failure(kind, f"{self.model} {what}."))


def _size(prompt: Prompt) -> int:
    return len(prompt.system.encode()) + len(prompt.user.encode())


def _think(shown: Mapping[str, Any]) -> bool | str | None:
    """What `think` a model of `/api/show` needs: none unless it can think, then off, or low for gpt-oss."""
    details = shown.get("details")
    family = details.get("family") if isinstance(details, dict) else None
    capabilities = shown.get("capabilities")
    if not isinstance(capabilities, list) or "thinking" not in capabilities:
        return None
    return "low" if family in ("gptoss", "gpt-oss") else False


def _window(row: Mapping[str, Any] | None) -> int | None:
    window = row.get("context_length") if row else None
    return window if isinstance(window, int) else None


def _load_failure(model: str, answer: Err) -> Failure | None:
    """What a failed load means; None where the server merely does not know how to load without a question."""
    failure = answer.failure
    if failure.kind in _LOAD_FAULTS:
        return failure
    if isinstance(answer, Refused) and answer.status < HTTP_SERVER_ERROR:
        return None
    return Failure(FailureKind.NOT_LOADED, f"{model} could not be loaded: {failure.message}")


def _row(answer: Ok[dict[str, Any]] | Err, model: str) -> dict[str, Any] | None:
    """The row of MODEL in a listing; names match without case, and `:latest` may be left out."""
    rows = answer.value.get("models") if isinstance(answer, Ok) else None
    wanted = _full_name(model)
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(name := row.get("name"), str) and _full_name(name) == wanted:
            return row
    return None


def _full_name(model: str) -> str:
    name = model.casefold()
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _digest(row: Mapping[str, Any] | None) -> str | None:
    digest = row.get("digest") if row else None
    return digest if isinstance(digest, str) else None

"""Servers that speak the OpenAI dialect (llama-server, LM Studio, vLLM): one adapter for `/chat/completions`.

Neither window nor residence can be set there. A server that is still loading its model answers 503, and is waited for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from neuron_council.evidence.failure import Err, Failure, FailureKind, Ok
from neuron_council.maker.adapter import Adapter, BackendState, ModelState, Prompt, Reply, is_there, tokens
from neuron_council.maker.board import MemberSpec
from neuron_council.maker.http import Line

CONTROL_S = 1.0
"""Seconds that a question about the server itself may take."""
BELIEVED_S = 60.0
"""Seconds for which a server that answered is taken to have its model loaded."""
LOADING_PAUSE_S = 0.25
"""Seconds between questions to a server that is loading."""
MAX_ALTERNATIVES = 10
"""Alternatives of a token that are asked for."""


class OpenAIBackend:
    """One server with the OpenAI dialect."""

    def __init__(self, url: str, *, connections: int, api_key: str | None = None) -> None:
        """URL is the base URL with its `/v1`, CONNECTIONS the calls in flight per member at most."""
        self.url = url
        self._connections = connections
        self._api_key = api_key
        self._control = self.line()
        self._adapters: list[OpenAIAdapter] = []
        self._ready_at = 0.0

    def line(self) -> Line:
        """A new HTTP line to the server."""
        cures = {
            FailureKind.UNREACHABLE: "Start the server, or mend the member's `base_url` in council.toml.",
            FailureKind.UNAUTHORIZED: "Give its key, with `options.api_key_env` in council.toml.",
        }
        return Line(self.url, cures=cures, api_key=self._api_key, connections=self._connections + 1)

    def adapter(self, spec: MemberSpec) -> Adapter:
        """The adapter of one member."""
        self._adapters.append(adapter := OpenAIAdapter(self, spec))
        return adapter

    async def warm_up(self) -> None:
        """Nothing to do: the server loads its model by itself."""

    async def state(self) -> BackendState:
        """Whether the server answers; it tells no version."""
        answer = await self.models()
        return BackendState(self.url, is_there(answer.failure) if isinstance(answer, Err) else True, None)

    async def models(self) -> Ok[dict[str, Any]] | Err:
        """What `/models` answers, within a second."""
        try:
            async with asyncio.timeout(CONTROL_S):
                return await self._control.get("/models")
        except TimeoutError:
            return Err(Failure(FailureKind.TIMEOUT, f"{self.url} did not answer /models within {CONTROL_S:.0f} s."))

    async def close(self) -> None:
        """Close the connections."""
        await asyncio.gather(self._control.close(), *(adapter.close() for adapter in self._adapters))

    async def resident(self, model: str, wait_s: float) -> Failure | None:
        """Wait while the server says that it is loading."""
        until = asyncio.get_running_loop().time() + wait_s
        while abs(time.time() - self._ready_at) > BELIEVED_S:
            answer = await self.models()
            if isinstance(answer, Ok):
                self.used()
            elif answer.failure.kind is FailureKind.BUSY:
                if asyncio.get_running_loop().time() >= until:
                    message = f"{self.url} was still loading {model} after {wait_s:.1f} s. Ask again."
                    return Failure(FailureKind.NOT_LOADED, message)
                await asyncio.sleep(LOADING_PAUSE_S)
            elif answer.failure.kind in (FailureKind.UNREACHABLE, FailureKind.UNAUTHORIZED):
                return answer.failure
            else:
                # No list of models is no reason not to ask one.
                return None
        return None

    def used(self) -> None:
        """Note that the server just answered a question."""
        self._ready_at = time.time()


class OpenAIAdapter:
    """One member's line to its model."""

    def __init__(self, backend: OpenAIBackend, spec: MemberSpec) -> None:
        """SPEC's options are added to the body of each question."""
        self.model = spec.model
        self._backend = backend
        self._own = dict(spec.options)
        self._line = backend.line()

    async def resident(self, wait_s: float) -> Failure | None:
        """See Adapter."""
        return await self._backend.resident(self.model, wait_s)

    async def state(self) -> ModelState:
        """See Adapter."""
        answer = await self._backend.models()
        rows = answer.value.get("data") if isinstance(answer, Ok) else None
        if not isinstance(rows, list):
            return ModelState(None, None)
        return ModelState(any(isinstance(row, dict) and row.get("id") == self.model for row in rows), None)

    @property
    def digest(self) -> str | None:
        """None: the dialect has no word for it."""
        return None

    async def identify(self) -> str | None:
        """None, as `digest`."""
        return None

    async def run(self, prompt: Prompt) -> Ok[Reply] | Err:
        """See Adapter."""
        answer = await self._line.post("/chat/completions", self._body(prompt))
        if isinstance(answer, Err):
            return answer
        self._backend.used()
        return self._reply(answer.value)

    async def close(self) -> None:
        """Close the connections."""
        await self._line.close()

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        return {
            "model": self.model,
            "stream": False,
            "temperature": 0,
            "seed": 0,
            "max_tokens": prompt.max_tokens,
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": prompt.schema},
            },
            **({"logprobs": True, "top_logprobs": MAX_ALTERNATIVES} if prompt.wants_odds else {}),
            **self._own,
        }

    def _reply(self, answer: Mapping[str, Any]) -> Ok[Reply] | Err:
        choices = answer.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        text = message.get("content") if isinstance(message, dict) else None
        if not isinstance(choice, dict) or not isinstance(text, str):
            return Err(Failure(FailureKind.MALFORMED, f"{self.model} sent an answer without a message."))
        if choice.get("finish_reason", "stop") not in ("stop", None):
            return Err(Failure(FailureKind.UNPARSABLE, f"{self.model} broke off before its answer was whole."))
        logprobs = choice.get("logprobs")
        return Ok(Reply(text, tokens(logprobs.get("content") if isinstance(logprobs, dict) else None)))

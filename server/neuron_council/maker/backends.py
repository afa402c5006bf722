"""From the configured members to a board whose members can be asked, and the backends that they share."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence

from attrs import frozen

from neuron_council.maker.adapter import Adapter, Backend
from neuron_council.maker.board import Board, BoundMember, MemberSpec
from neuron_council.maker.embedded import EmbeddedBackend
from neuron_council.maker.ollama import OllamaBackend
from neuron_council.maker.openai import OpenAIBackend

_Line = OllamaBackend | OpenAIBackend | EmbeddedBackend


@frozen
class Connections:
    """How backends are reached.

    `ollama_url`, `keep_alive` and `num_ctx` are Ollama's defaults; `member_timeout_s` is the limit of a vote in
    seconds, `max_parallel` the calls in flight per model; `api_keys` maps base URLs to the bearer tokens sent there.
    """

    ollama_url: str
    keep_alive: str | int
    num_ctx: int
    member_timeout_s: float
    max_parallel: int
    api_keys: Mapping[str, str]

    def seat(self, specs: Sequence[MemberSpec]) -> tuple[Board, tuple[Backend, ...]]:
        """The board of SPECS in their order, and the backends behind it, each once. Opens no connection."""
        lines: dict[tuple[str, str], _Line] = {}
        turns: defaultdict[tuple[str, str, str], asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(self.max_parallel)
        )
        sharers = max(len(specs), 1)
        seats = []
        for spec in specs:
            url = spec.base_url or (self.ollama_url if spec.backend == "ollama" else "")
            place = (spec.backend, url)
            if place not in lines:
                lines[place] = self._line(spec, url, connections=self.max_parallel * sharers)
            adapter: Adapter = lines[place].adapter(spec)
            timeout_s = self.member_timeout_s if spec.timeout_s is None else spec.timeout_s
            seats.append(BoundMember(spec.member, adapter, timeout_s, turns[*place, spec.model], spec.persona))
        return Board(tuple(seats)), tuple(lines.values())

    def _line(self, spec: MemberSpec, url: str, connections: int) -> _Line:
        key = self.api_keys.get(url)
        match spec.backend:
            case "ollama":
                return OllamaBackend(
                    url, keep_alive=self.keep_alive, num_ctx=self.num_ctx, connections=connections, api_key=key
                )
            case "openai":
                return OpenAIBackend(url, connections=connections, api_key=key)
            case "embedded":
                return EmbeddedBackend()

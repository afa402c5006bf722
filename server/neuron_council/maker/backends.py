"""From the configured members to a board whose members can be asked, and the backends that they share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from neuron_council.maker.adapter import Backend
from neuron_council.maker.board import Board, BoundMember, Connections, MemberSpec
from neuron_council.maker.embedded import EmbeddedBackend
from neuron_council.maker.ollama import OllamaBackend
from neuron_council.maker.openai import OpenAIBackend
from neuron_council.maker.turn import Turns

_AnyBackend = OllamaBackend | OpenAIBackend | EmbeddedBackend


def seat(specs: Sequence[MemberSpec], connections: Connections) -> tuple[Board, Mapping[Backend, int]]:
    """The board of SPECS in their order, and the backends behind it, each with the number of its members.

    Opens no connection.
    """
    backends: dict[tuple[str, str], _AnyBackend] = {}
    members: Counter[Backend] = Counter()
    turns: defaultdict[tuple[str, str, str], Turns] = defaultdict(lambda: Turns(connections.max_parallel))
    seats = []
    for spec in specs:
        url = spec.base_url or (connections.ollama_url if spec.backend == "ollama" else "")
        place = (spec.backend, url)
        if place not in backends:
            backends[place] = _backend(spec, url, connections, len(specs))
        adapter = backends[place].adapter(spec)
        members[backends[place]] += 1
        timeout_s = connections.member_timeout_s if spec.timeout_s is None else spec.timeout_s
        seats.append(BoundMember(spec.member, adapter, timeout_s, turns[*place, spec.model], spec.persona))
    return Board(tuple(seats)), members


def _backend(spec: MemberSpec, url: str, connections: Connections, sharers: int) -> _AnyBackend:
    key = connections.api_keys.get(url)
    calls = connections.max_parallel * sharers
    match spec.backend:
        case "ollama":
            return OllamaBackend(
                url, keep_alive=connections.keep_alive, num_ctx=connections.num_ctx, connections=calls, api_key=key
            )
        case "openai":
            return OpenAIBackend(url, connections=calls, api_key=key)
        case "embedded":
            return EmbeddedBackend(slots=connections.max_parallel)

"""The board: who judges, in which order.

The contrarian is last whatever the file says; it is sequencing, not a prompt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from attrs import field, frozen

from neuron_council.errors import ConfigError
from neuron_council.evidence.debate import Member, Role
from neuron_council.maker.adapter import Adapter
from neuron_council.maker.turn import Turns

BackendName = Literal["ollama", "openai", "embedded"]

MIN_OTHERS = 2
"""Members beside the contrarian at least."""


@frozen
class MemberSpec:
    """One `[[member]]` of the configuration. `timeout_s` is in seconds and overrides `member_timeout_s`.

    `options` go to the backend as they are, but for `persona`, a text that is put after the system text.
    """

    id: str
    model: str
    role: Role
    backend: BackendName = "ollama"
    base_url: str | None = None
    timeout_s: float | None = None
    options: Mapping[str, Any] = field(factory=dict)
    persona: str = ""

    @property
    def member(self) -> Member:
        """The member as the evidence names it."""
        return Member(self.id, self.model, self.role)


@frozen
class BoundMember:
    """A member with the adapter that reaches its model.

    `timeout_s` is the limit of its vote in seconds, `turns` the queue for its model.
    """

    member: Member
    adapter: Adapter
    timeout_s: float
    turns: Turns
    persona: str = ""


@frozen
class Board:
    """The members in voting order, the contrarian last."""

    seats: tuple[BoundMember, ...]

    @property
    def members(self) -> tuple[Member, ...]:
        """The members as the evidence names them."""
        return tuple(seat.member for seat in self.seats)

    @property
    def contrarian(self) -> BoundMember:
        """Who challenges."""
        return self.seats[-1]


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


DEFAULT_SPECS = (
    MemberSpec("neuron", "neuron:latest", "member"),
    MemberSpec("neuron-ft", "neuron-ft:latest", "member"),
    MemberSpec("dolphin", "dolphin3:8b", "contrarian"),
)


def order(specs: Sequence[MemberSpec], source: str) -> tuple[MemberSpec, ...]:
    """SPECS in their order, the contrarian last.

    Raises ConfigError, naming SOURCE and the entry, unless there is exactly one contrarian, at least two others, and no
    id twice.
    """
    if twice := [name for name, times in Counter(spec.id for spec in specs).items() if times > 1]:
        raise ConfigError(f"{source}: [[member]] id {twice[0]!r}: it stands twice. Give every member an id of its own.")
    contrarians = [spec for spec in specs if spec.role == "contrarian"]
    others = [spec for spec in specs if spec.role != "contrarian"]
    if len(contrarians) != 1:
        named = ", ".join(spec.id for spec in contrarians) or "none"
        raise ConfigError(
            f"{source}: [[member]] role: exactly one member must be the contrarian, found {named}. "
            'Set role = "contrarian" for one of them.'
        )
    if len(others) < MIN_OTHERS:
        raise ConfigError(
            f"{source}: [[member]]: at least {MIN_OTHERS} members beside the contrarian {contrarians[0].id!r} are "
            f'needed, found {len(others)}. Add [[member]] entries with role = "member".'
        )
    return (*others, *contrarians)

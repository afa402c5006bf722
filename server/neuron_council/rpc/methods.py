"""The methods that are served; a further one is a function and an entry in METHODS."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from attrs import frozen
from pygls.exceptions import JsonRpcInvalidParams

from neuron_council.evidence.pack import ContextPack
from neuron_council.rpc import wire
from neuron_council.rpc.params import NoParams, VerifyParams
from neuron_council.rpc.progress import Progress, Send

if TYPE_CHECKING:
    from neuron_council.config import Settings
    from neuron_council.council import Council


@frozen
class Session:
    """What a method works with: the council, its settings, and lines to the client, one for hints that may be lost."""

    council: Council
    settings: Settings
    notify: Send
    hint: Send


@frozen
class Method:
    """A method by its name, the type of its parameters and the function that answers it.

    `is_long` says that a request may run for as long as models do, and counts against the limit of such requests.
    """

    name: str
    params: type[Any]
    answer: Callable[[Session, Any], Awaitable[wire.Json]]
    is_long: bool = False


async def verify(session: Session, params: VerifyParams) -> wire.Json:
    """Judge one claim."""
    limit = int(session.settings.council.deadline_s * 1000)
    if params.deadline_ms is not None and params.deadline_ms > limit:
        raise JsonRpcInvalidParams(f"deadline_ms: must be a whole number from 1 to {limit}, the configured deadline")
    members = len(session.settings.members)
    with Progress(session.notify, session.hint, params.work_done_token, members) as progress:
        verdict = await session.council.verify(
            ContextPack(params.claim, params.context),
            id=params.id,
            deadline_s=None if params.deadline_ms is None else params.deadline_ms / 1000,
            fresh=params.fresh,
            on_vote=progress.vote,
        )
    return wire.verdict(verdict)


async def health(session: Session, _: NoParams) -> wire.Json:
    """Say what stands, without waiting for a model."""
    return wire.health(await session.council.health())


METHODS = {
    method.name: method
    for method in (
        Method("council/verify", VerifyParams, verify, is_long=True),
        Method("council/health", NoParams, health),
    )
}

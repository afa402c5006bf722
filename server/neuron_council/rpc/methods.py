"""The methods that are served; a further one is a function and an entry in METHODS."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import attrs
from attrs import frozen
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcInvalidParams

from neuron_council.errors import CouncilError, ReviewError, TakenIdError, UnknownVerdictError
from neuron_council.evidence.pack import ContextPack
from neuron_council.rpc import wire
from neuron_council.rpc.log import incident
from neuron_council.rpc.params import (
    AcknowledgeParams,
    BatchItem,
    IdParams,
    ListParams,
    NoParams,
    ReevaluateParams,
    ReplayParams,
    ReviewParams,
    VerifyBatchParams,
    VerifyParams,
    structure,
)
from neuron_council.rpc.progress import BatchProgress, Progress, Send

if TYPE_CHECKING:
    from neuron_council.config import Settings
    from neuron_council.council import Council
    from neuron_council.ledger.ledger import Decided


log = logging.getLogger(__name__)

UNKNOWN_VERDICT = -32001
"""The error of an id that no verdict has."""
BATCH_AT_A_TIME = 4
"""Claims of a batch that are judged at a time: more would only wait in the models' queues for their deadline."""


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
            is_urgent=not params.background,
            on_vote=progress.vote,
        )
    return wire.verdict(verdict)


async def verify_batch(session: Session, params: VerifyBatchParams) -> wire.Json:
    """Judge many claims, some at a time, behind whoever waits for one."""
    room = asyncio.Semaphore(BATCH_AT_A_TIME)
    with BatchProgress(session.notify, session.hint, params.work_done_token, len(params.claims)) as progress:

        async def judged(given: Any) -> wire.Json:
            async with room:
                answer = await _item(session, given)
            progress.item()
            return answer

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(judged(given)) for given in params.claims]
    return {"verdicts": [task.result() for task in tasks]}


async def _item(session: Session, given: Any) -> wire.Json:
    """One verdict of a batch, or the error in its place."""
    try:
        item = structure(given if isinstance(given, dict) else {}, BatchItem)
        pack = ContextPack(item.claim, item.context)
        verdict = await session.council.verify(pack, id=item.id, fresh=item.fresh, is_urgent=False)
    except Exception as error:  # noqa: BLE001 - one item's fault must not take the others' verdicts
        refused = as_rpc(error)
        return {"error": {"code": refused.code, "message": refused.message}}
    return wire.verdict(verdict)


async def list_verdicts(session: Session, params: ListParams) -> wire.Json:
    """List stored verdicts, newest first."""
    return wire.page(await session.council.list(**attrs.asdict(params)))


async def show(session: Session, params: IdParams) -> wire.Json:
    """Show one stored verdict."""
    return wire.shown(await session.council.show(params.id))


async def replay(session: Session, params: ReplayParams) -> wire.Json:
    """Decide stored verdicts again, without a model."""
    return wire.replay(await session.council.replay(params.id))


async def review(session: Session, params: ReviewParams) -> wire.Json:
    """Record what a person decided."""
    decision: Decided = "accept" if params.decision == "accept" else "reject"
    return wire.shown(await session.council.review(params.id, decision, params.note))


async def reevaluate(session: Session, params: ReevaluateParams) -> wire.Json:
    """Have unavailable verdicts judged again as soon as may be."""
    return {"queued": await session.council.reevaluate(params.ids)}


async def forget(session: Session, params: IdParams) -> wire.Json:
    """Remove a claim from the ledger, with all that was said of it."""
    await session.council.forget(params.id)
    return {"forgotten": 1}


async def acknowledge(session: Session, params: AcknowledgeParams) -> wire.Json:
    """Note which new verdicts the client knows."""
    return {"acknowledged": await session.council.acknowledge(params.ids)}


def as_rpc(error: BaseException) -> JsonRpcException:
    """The one place where an exception becomes an error on the wire."""
    match error:
        case JsonRpcException():
            return error
        case UnknownVerdictError():
            return JsonRpcException(str(error), code=UNKNOWN_VERDICT)
        case TakenIdError() | ReviewError():
            return JsonRpcInvalidParams(f"id: {error}")
        case CouncilError():
            return JsonRpcException(str(error), code=types.LSPErrorCodes.RequestFailed)
        case _:
            return JsonRpcInternalError(f"internal error; the log has it as incident {incident(log, error)}")


async def health(session: Session, _: NoParams) -> wire.Json:
    """Say what stands, without waiting for a model."""
    return wire.health(await session.council.health())


METHODS = {
    method.name: method
    for method in (
        Method("council/verify", VerifyParams, verify, is_long=True),
        Method("council/health", NoParams, health),
        Method("council/verify_batch", VerifyBatchParams, verify_batch, is_long=True),
        Method("council/list", ListParams, list_verdicts),
        Method("council/show", IdParams, show),
        Method("council/replay", ReplayParams, replay, is_long=True),
        Method("council/review", ReviewParams, review),
        Method("council/reevaluate", ReevaluateParams, reevaluate),
        Method("council/forget", IdParams, forget),
        Method("council/acknowledge", AcknowledgeParams, acknowledge),
    )
}

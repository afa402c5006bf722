"""The protocol: which message may come when, and exactly one reply to every request.

pygls runs the handlers and keeps their futures. What it does with a message before and after that is replaced: it
leaves requests without a reply where their parameters or results are at fault, and keeps no order of life.
"""

from __future__ import annotations

import asyncio
import contextvars
import enum
import itertools
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define, frozen
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcRequestCancelled,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol

from neuron_council.rpc import message
from neuron_council.rpc.framing import frame
from neuron_council.rpc.message import MessageId, Notification, Request, Response
from neuron_council.rpc.methods import METHODS, as_rpc
from neuron_council.rpc.params import InitializeParams, NoParams, Token, structure

if TYPE_CHECKING:
    from concurrent.futures import Future

    from cattrs import Converter

    from neuron_council.rpc.editor import Editor
    from neuron_council.rpc.server import CouncilServer
    from neuron_council.rpc.transport import Writer

log = logging.getLogger(__name__)

PROTOCOL = 1
"""The version of the methods, announced to the client."""
MAX_LONG = 1_024
"""Long requests in flight at most; the next is refused as `busy`."""
MAX_IN_FLIGHT = 2 * MAX_LONG
"""Requests in flight from which on nothing more is read; half of them at least are short, and soon answered."""
SETTLE_S = 1.0
"""Seconds that cancelled requests have to clean up before they are given up, at the end of the process."""
SHUT_DOWN_S = 0.75
"""The same for `shutdown`: less, so that an `exit` right behind it leaves it the time to reply."""


class State(enum.Enum):
    """How far the client has come, or that the process ends without having been asked to by `shutdown`."""

    NEW = enum.auto()
    RUNNING = enum.auto()
    SHUT_DOWN = enum.auto()
    ENDING = enum.auto()


@frozen
class _Kind:
    """What must be known of a method before its handler runs."""

    params: type[Any]
    is_long: bool = False


_KINDS = {
    types.INITIALIZE: _Kind(InitializeParams),
    types.SHUTDOWN: _Kind(NoParams),
    **{name: _Kind(method.params, method.is_long) for name, method in METHODS.items()},
}


@define
class _Call:
    """A request in flight."""

    method: str
    is_long: bool
    token: Token | None
    future: asyncio.Future[Any] | None = None


class CouncilProtocol(LanguageServerProtocol):
    """JSON-RPC with the life cycle of the Language Server Protocol and the council's methods."""

    _server: CouncilServer
    writer: Writer

    def __init__(self, server: CouncilServer, converter: Converter) -> None:
        self.state = State.NEW  # before pygls looks at every attribute for features, properties included
        super().__init__(server, converter)
        self._calls: dict[MessageId, _Call] = {}
        self._tokens: dict[Token, MessageId] = {}
        self._kinds = _KINDS
        self._asked: dict[MessageId, asyncio.Future[bool]] = {}
        self._numbers = itertools.count(1)
        self._long = 0
        self._has_room = asyncio.Event()
        self._has_room.set()
        self.fm.add_builtin_feature(types.INITIALIZE, self._initialize)
        self.fm.add_builtin_feature(types.SHUTDOWN, self._shut_down)

    def dispatch(self, body: bytes) -> None:
        """Take one body from the client. Whatever it holds, this returns, and a request gets its one reply."""
        try:
            received = message.read(body)
        except message.MessageError as refused:
            self.refuse(refused.id, refused.error)
            return
        match received:
            case Request():
                self._take_request(received)
            case Notification():
                self._take_notification(received)
            case Response():
                self._take_response(received)

    def refuse(self, msg_id: MessageId | None, error: JsonRpcException) -> None:
        """Answer with ERROR; the id is None for what has none that can be read."""
        self._post(message.failure(msg_id, error.code, error.message))

    @property
    def exit_code(self) -> int:
        """0 where the client has asked for the shutdown, else 1."""
        return 0 if self.state is State.SHUT_DOWN else 1

    async def room(self) -> None:
        """Wait until so few requests are in flight that more may be read."""
        await self._has_room.wait()

    async def settle(self, timeout_s: float = SETTLE_S) -> None:
        """Cancel every request in flight but a `shutdown`, and wait until all but the caller's have their reply.

        What is being judged for an editor is stopped too. Requests that have no reply after TIMEOUT_S seconds are given
        up: they are answered as cancelled.
        """
        editor = self._server.editor
        waiting: set[asyncio.Future[Any]] = set() if editor is None else {*editor.stop()}
        calls = {msg_id: call for msg_id, call in self._calls.items() if msg_id != self.msg_id}
        for msg_id, call in calls.items():
            if call.method != types.SHUTDOWN:
                self._handle_cancel_notification(msg_id)
            if call.future is not None:
                waiting.add(call.future)
        if waiting:
            await asyncio.wait(waiting, timeout=timeout_s)
        for msg_id in calls.keys() & self._calls.keys():
            self._forget(msg_id)
            self.refuse(msg_id, JsonRpcRequestCancelled("the request was cancelled, and its work given up"))

    def notify(self, method: str, params: Any | None = None) -> None:
        """Send a notification."""
        self._post(message.notification(method, params))

    def hint(self, method: str, params: Any) -> None:
        """Send a notification that can be done without, unless the client is slow to read."""
        if not self.writer.is_congested:
            self.notify(method, params)

    async def ask(self, method: str, params: Any, timeout_s: float) -> bool:
        """Send a request, and wait TIMEOUT_S seconds at most for its reply; whether that came and is no error."""
        msg_id = next(self._numbers)
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._asked[msg_id] = answer
        self._post(message.request(msg_id, method, params))
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            return False
        finally:
            del self._asked[msg_id]

    def end(self) -> None:
        """Take no request any more: each is answered as cancelled, unless the client has been told another reason."""
        if self.state is State.RUNNING:
            self.state = State.ENDING

    def _take_response(self, response: Response) -> None:
        answer = None if response.id is None else self._asked.get(response.id)
        if answer is None or answer.done():
            log.debug("ignored a reply that nobody waits for")
        else:
            answer.set_result(response.is_result)

    # Requests

    def _take_request(self, request: Request) -> None:
        try:
            kind = self._admit(request)
            params = structure(request.params, kind.params)
            call = _Call(request.method, kind.is_long, getattr(params, "work_done_token", None))
            self._begin(request.id, call)
        except JsonRpcException as error:
            self.refuse(request.id, error)
            return
        if request.method == types.SHUTDOWN:
            self.state = State.SHUT_DOWN
        contextvars.copy_context().run(self._handle_request, request.id, request.method, params)
        call.future = self._request_futures.get(request.id)  # type: ignore[assignment]  # of a coroutine it is a task

    def _admit(self, request: Request) -> _Kind:
        """What is known of the method. Raises the error of a request that may not come now."""
        if self.state is State.SHUT_DOWN:
            raise JsonRpcInvalidRequest("the server is shutting down")
        if self.state is State.ENDING:
            raise JsonRpcRequestCancelled("the server is ending")
        if self.state is State.NEW and request.method != types.INITIALIZE:
            raise JsonRpcServerNotInitialized("the server is not initialized; send initialize first")
        if self.state is State.RUNNING and request.method == types.INITIALIZE:
            raise JsonRpcInvalidRequest("the server is initialized already")
        if request.id in self._calls:
            raise JsonRpcInvalidRequest("id: belongs to a request in flight")
        if (kind := self._kinds.get(request.method)) is None:
            raise JsonRpcMethodNotFound("no such method; initialize names those that are served")
        return kind

    def _begin(self, msg_id: MessageId, call: _Call) -> None:
        """Note CALL as in flight. Raises the error of one too many, and of a progress token that is taken."""
        if call.token in self._tokens:
            raise JsonRpcInvalidParams("workDoneToken: belongs to a request in flight")
        if call.is_long and self._long >= MAX_LONG:
            raise _failed(f"busy: {MAX_LONG:,} claims are being judged; ask again when one of them is answered")
        self._calls[msg_id] = call
        self._long += call.is_long
        if call.token is not None:
            self._tokens[call.token] = msg_id
        if len(self._calls) >= MAX_IN_FLIGHT:
            self._has_room.clear()

    def _forget(self, msg_id: MessageId) -> None:
        call = self._calls.pop(msg_id)
        self._long -= call.is_long
        if call.token is not None:
            del self._tokens[call.token]
        if len(self._calls) < MAX_IN_FLIGHT:
            self._has_room.set()

    def _send_handler_result(self, future: Future[Any], *, msg_id: MessageId) -> None:
        """Reply with what FUTURE holds: a result, an error, or -32800 where it was cancelled."""
        self._request_futures.pop(msg_id, None)
        if msg_id not in self._calls:
            return  # given up, so it has had its reply
        self._forget(msg_id)
        if future.cancelled():
            self.refuse(msg_id, JsonRpcRequestCancelled("the request was cancelled"))
            return
        try:
            self._post(message.result(msg_id, future.result()))
        except Exception as error:  # noqa: BLE001 - whatever a handler raised or returned, the client gets a reply
            self.refuse(msg_id, as_rpc(error))

    # The order of life

    def _initialize(self, params: InitializeParams) -> dict[str, Any]:
        # Not a coroutine: what a client sends behind its initialize, without waiting, finds the server initialized.
        self._server.configure(params)
        self.state = State.RUNNING
        capabilities: dict[str, Any] = {
            "experimental": {"neuronCouncil": {"protocol": PROTOCOL, "methods": list(METHODS)}},
        }
        if (editor := self._server.editor) is not None:
            self._serve(editor)
            capabilities |= editor.capabilities()
        return {
            "capabilities": capabilities,
            "serverInfo": {"name": self._server.name, "version": self._server.version},
        }

    async def _shut_down(self, _: NoParams) -> None:
        await self.settle(SHUT_DOWN_S)

    def _serve(self, editor: Editor) -> None:
        # Not as coroutines: the places in a request are those of the text as it is before the next message is read.
        self._kinds = _KINDS | {name: _Kind(feature.params) for name, feature in editor.features.items()}
        for name, feature in editor.features.items():
            self.fm.add_builtin_feature(name, partial(feature.answer, editor))

    # Notifications

    def _take_notification(self, notification: Notification) -> None:
        params = notification.params if isinstance(notification.params, dict) else {}
        editor = self._server.editor
        match notification.method:
            case types.EXIT:
                self._server.exit(self.exit_code, "the client said exit")
            case types.CANCEL_REQUEST:
                self._cancel(params.get("id"))
            case types.WINDOW_WORK_DONE_PROGRESS_CANCEL:
                token: Any = params.get("token")
                if message.is_id(token):
                    self._cancel(self._tokens.get(token))
                    if editor is not None:
                        editor.cancel(token)
            case _:
                if editor is not None and self.state is State.RUNNING:
                    editor.heed(notification.method, notification.params)

    def _cancel(self, msg_id: Any) -> None:
        """Cancel a request, once; what is not in flight is answered already."""
        if message.is_id(msg_id) and msg_id in self._calls:
            self._handle_cancel_notification(msg_id)

    # Everything that is sent

    def _send_response(
        self, msg_id: MessageId, result: Any | None = None, error: types.ResponseError | None = None
    ) -> None:
        if error is None:
            self._post(message.result(msg_id, result))
        else:
            self._post(message.failure(msg_id, error.code, error.message))

    def _post(self, body: bytes) -> None:
        self.writer.write(frame(body))


def _failed(text: str) -> JsonRpcException:
    return JsonRpcException(text, code=types.LSPErrorCodes.RequestFailed)

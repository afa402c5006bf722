"""The council in a text editor: it judges what is selected, and marks it until its text changes.

A mark is a piece of an open document that was judged or is being judged. It follows the edits of the text around it,
and goes with the first edit of its own text, which also stops a judgement that is on its way.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from attrs import define, field, frozen
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from neuron_council.evidence.pack import MAX_CONTEXT, QUOTABLE, ContextPack
from neuron_council.rpc import report
from neuron_council.rpc.document import Document, Edit, Position, Span
from neuron_council.rpc.editor_params import (
    ActionParams,
    Change,
    ChangeParams,
    ClearArguments,
    CloseParams,
    CommandParams,
    HoverParams,
    OpenParams,
    Place,
    Range,
    VerifyArguments,
)
from neuron_council.rpc.log import incident
from neuron_council.rpc.methods import Session, as_rpc
from neuron_council.rpc.params import VerifyParams, structure
from neuron_council.rpc.progress import Progress
from neuron_council.rpc.sentence import sentence

if TYPE_CHECKING:
    from neuron_council.evidence.verdict import Verdict
    from neuron_council.rpc.client import Client
    from neuron_council.rpc.params import Token

log = logging.getLogger(__name__)

VERIFY = "neuron-council.verify"
CLEAR = "neuron-council.clear"
AGAIN = "neuron-council.verify-again"
AGAINST = "neuron-council.verify-against-document"
KINDS = (VERIFY, AGAINST, AGAIN, CLEAR)
"""Of code actions; ours alone, so that a key can be bound to one of them and no editor runs one by itself."""

SOURCE = "neuron-council"
PENDING = "The council is judging this."
MOST_PENDING = 256
"""Judgements that editors have asked for in flight at most."""
CREATE_S = 1.0
"""Seconds that the client has to take a progress token; without one, it is told nothing."""
QUIET_S = 0.2
"""Seconds without an edit after which marks that have moved are published anew."""

_SEVERITIES = (
    ("council-unavailable", types.DiagnosticSeverity.Information),
    ("council-flagged", types.DiagnosticSeverity.Warning),
    ("council-parked", types.DiagnosticSeverity.Information),
    ("verified", types.DiagnosticSeverity.Hint),
    ("council-split", types.DiagnosticSeverity.Information),
)
"""The first tag that a verdict has decides, and is the diagnostic's code."""

Json = dict[str, Any]
T = TypeVar("T")


class Line(Protocol):
    """What leads to the client."""

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""

    def hint(self, method: str, params: Any) -> None:
        """Send a notification that can be done without."""

    async def ask(self, method: str, params: Any, timeout_s: float) -> bool:
        """Send a request, and say whether the client did as asked."""


class _RefusedError(Exception):
    """Why a claim in a document is not judged, for the person who asked."""


@define(eq=False)
class _Mark:
    """What was judged, or is being judged as long as there is no verdict."""

    span: Span
    verdict: Verdict | None = None
    task: asyncio.Task[None] | None = None

    def follows(self, edit: Edit) -> bool:
        """Go where EDIT has moved the text; whether that is as it was."""
        span = edit.follow(self.span)
        self.span = span or self.span
        return span is not None

    def stop(self) -> None:
        """Stop the judgement where it has not ended."""
        if self.task is not None:
            self.task.cancel()


@define(eq=False)
class _Open:
    """An open document with its marks. `shown` says whether the client has diagnostics of it.

    `version` is None after a change that named none.
    """

    uri: str
    version: int | None
    document: Document
    marks: list[_Mark] = field(factory=list)
    shown: bool = False
    timer: asyncio.TimerHandle | None = None

    def met(self, span: Span) -> list[_Mark]:
        """The marks that have something in common with SPAN."""
        return [mark for mark in self.marks if mark.span.meets(span)]

    def silence(self) -> None:
        """Let what waits to be published wait no longer."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class Editor:
    """The features of one client that shows text documents."""

    def __init__(self, client: Client, line: Line, session: Callable[[], Awaitable[Session]]) -> None:
        self._client = client
        self._line = line
        self._session = session
        self._documents: dict[str, _Open] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._tokens: dict[Token, _Mark] = {}

    @property
    def features(self) -> Mapping[str, Feature]:
        """The requests that are served, by their methods."""
        return FEATURES

    def capabilities(self) -> Json:
        """What is announced to the client."""
        return {
            "positionEncoding": self._client.encoding,
            "textDocumentSync": {"openClose": True, "change": types.TextDocumentSyncKind.Incremental.value},
            "codeActionProvider": {"codeActionKinds": list(KINDS)},
            "executeCommandProvider": {"commands": [VERIFY, CLEAR]},
            "hoverProvider": True,
        }

    def supersede(self, old: str, verdict: Verdict) -> None:
        """Show VERDICT wherever the one with the id OLD stands."""
        for opened in self._documents.values():
            superseded = [mark for mark in opened.marks if mark.verdict is not None and mark.verdict.id == old]
            for mark in superseded:
                mark.verdict = verdict
            if superseded:
                self._publish(opened)

    def cancel(self, token: Token) -> None:
        """Stop the judgement whose progress has TOKEN."""
        if (mark := self._tokens.get(token)) is not None:
            mark.stop()

    def stop(self) -> Set[asyncio.Task[None]]:
        """Forget every document, publish nothing any more, and stop every judgement; their tasks, which soon end."""
        for opened in self._documents.values():
            opened.silence()
            opened.shown = False
        self._documents.clear()
        for task in self._tasks:
            task.cancel()
        return frozenset(self._tasks)

    # The text

    def heed(self, method: str, params: Any) -> None:
        """Take a notification; one that is not about the text, or whose parameters are at fault, changes nothing."""
        if (known := _NOTIFICATIONS.get(method)) is None:
            return
        kind, act = known
        try:
            act(self, structure(params, kind))
        except JsonRpcException as error:
            log.warning("%s is not understood: %s", method, error.message.partition(":")[0])
            self._forget(params)
        except Exception as error:  # noqa: BLE001 - a notification has no reply that could say so
            incident(log, error)
            self._forget(params)

    def _open(self, params: OpenParams) -> None:
        given = params.text_document
        if (opened := self._documents.get(given.uri)) is None:
            self._documents[given.uri] = _Open(given.uri, given.version, Document(given.text))
            return
        opened.version = given.version
        self._edit(opened, [Change(given.text)])

    def _change(self, params: ChangeParams) -> None:
        if (opened := self._documents.get(params.text_document.uri)) is None:
            return
        opened.version = params.text_document.version
        self._edit(opened, (structure(change, Change) for change in params.content_changes))

    def _close(self, uri: str) -> None:
        if (opened := self._documents.pop(uri, None)) is not None:
            self._drop(opened, set(opened.marks))

    def _edit(self, opened: _Open, changes: Iterable[Change]) -> None:
        marks = opened.marks
        for change in changes:
            if change.range is None:
                edit = opened.document.become(change.text)
            else:
                edit = opened.document.replace(self._span(opened.document, change.range), change.text)
            marks = [mark for mark in marks if mark.follows(edit)]
        if len(marks) < len(opened.marks):
            self._drop(opened, set(opened.marks).difference(marks))
        elif opened.shown:
            self._publish_soon(opened)

    def _forget(self, params: Any) -> None:
        """Forget the document of PARAMS that were not understood: its text is not known any more."""
        about = params.get("textDocument") if isinstance(params, dict) else None
        uri = about.get("uri") if isinstance(about, dict) else None
        if isinstance(uri, str):
            self._close(uri)

    # What is asked

    def hover(self, params: HoverParams) -> Json | None:
        """The reports of what was judged at a place."""
        if (opened := self._documents.get(params.text_document.uri)) is None:
            return None
        at = self._position(opened.document, params.position)
        marks = [mark for mark in opened.marks if mark.span.has(at)]
        if not marks:
            return None
        is_markdown = self._client.reads_markdown
        texts = [
            PENDING if mark.verdict is None else report.hover(mark.verdict, is_markdown=is_markdown) for mark in marks
        ]
        return {
            "contents": {"kind": "markdown" if is_markdown else "plaintext", "value": "\n\n".join(texts)},
            "range": self._range(opened.document, marks[0].span),
        }

    def code_actions(self, params: ActionParams) -> list[Json]:
        """What can be done with the selection, or at the cursor."""
        if (opened := self._documents.get(params.text_document.uri)) is None:
            return []
        selected = self._span(opened.document, params.range)
        offered = [*self._offer(opened, selected, params), *self._offer_marked(opened, selected)]
        only = params.context.only
        return [
            action if self._client.takes_code_actions else action["command"]
            for action in offered
            if only is None or any(_is_kind(action["kind"], wanted) for wanted in only)
        ]

    def execute(self, params: CommandParams) -> None:
        """Begin a command; a verdict comes as a diagnostic, since no client waits that long for a command."""
        if (known := _COMMANDS.get(params.command)) is None:
            raise JsonRpcInvalidParams(f"command: must be {' or '.join(_COMMANDS)}")
        kind, act = known
        act(self, _argument(params, kind))

    def _offer(self, opened: _Open, selected: Span, params: ActionParams) -> Iterator[Json]:
        title = "Verify with the council"
        if selected.start == selected.end:
            if params.context.trigger_kind == types.CodeActionTriggerKind.Automatic:
                return  # at every stop of the cursor, it would be in the way
            found = sentence(opened.document, selected.start)
            title = "Verify this sentence with the council"
        else:
            found = opened.document.trimmed(selected)
        if found is None or found.start == found.end:
            return
        arguments = {**self._argument(opened, found), "version": opened.version}
        yield _action(title, VERIFY, VERIFY, arguments)
        if QUOTABLE <= opened.document.length - len(opened.document.part(found)) <= MAX_CONTEXT:
            against = {**arguments, "against_document": True}
            yield _action(f"{title}, against the rest of the document", AGAINST, VERIFY, against)

    def _offer_marked(self, opened: _Open, selected: Span) -> Iterator[Json]:
        met = opened.met(selected)
        if len(met) == 1 and met[0].verdict is not None:
            arguments = {**self._argument(opened, met[0].span), "version": opened.version, "fresh": True}
            yield _action("Verify again with the council", AGAIN, VERIFY, arguments)
        if met:
            is_over = any(mark.verdict is not None for mark in met)
            title = "Clear the verdict of the council" if is_over else "Stop the council"
            yield _action(title, CLEAR, CLEAR, self._argument(opened, selected))

    def _argument(self, opened: _Open, span: Span) -> Json:
        return {"uri": opened.uri, "range": self._range(opened.document, span)}

    # Judging

    def _verify(self, given: VerifyArguments) -> None:
        try:
            opened, span, pack = self._claim(given)
        except _RefusedError as refused:
            self._say(types.MessageType.Warning, f"The council was not asked: {refused}")
            return
        self._drop(opened, {mark for mark in opened.marks if mark.span == span})
        mark = _Mark(span)
        opened.marks.append(mark)
        mark.task = asyncio.get_running_loop().create_task(self._judge(opened, mark, pack, is_fresh=given.fresh))
        self._tasks.add(mark.task)
        mark.task.add_done_callback(self._tasks.discard)
        if not self._client.shows_progress:
            self._publish(opened)

    def _claim(self, given: VerifyArguments) -> tuple[_Open, Span, ContextPack]:
        """Where the claim stands, and what is to be judged. Raises _RefusedError."""
        if (opened := self._documents.get(given.uri)) is None:
            raise _RefusedError("the document is not open.")
        if given.version not in (None, opened.version):
            raise _RefusedError("the text has changed since. Select it again.")
        if len(self._tasks) >= MOST_PENDING:
            raise _RefusedError(f"{MOST_PENDING} claims are being judged. Wait for one of them.")
        span = opened.document.trimmed(self._span(opened.document, given.range))
        context = opened.document.around(span) if given.against_document else None
        try:
            params = structure({"claim": opened.document.part(span), "context": context}, VerifyParams)
        except JsonRpcInvalidParams as error:
            raise _RefusedError(error.message) from None
        return opened, span, ContextPack(params.claim, params.context)

    async def _judge(self, opened: _Open, mark: _Mark, pack: ContextPack, *, is_fresh: bool) -> None:
        token = None
        try:
            session = await self._session()
            token = await self._token(mark)
            members = len(session.settings.members)
            with Progress(self._line.notify, self._line.hint, token, members) as progress:
                mark.verdict = await session.council.verify(pack, fresh=is_fresh, on_vote=progress.vote)
        except Exception as error:  # noqa: BLE001 - the command is answered already, so a message has to say it
            self._say(types.MessageType.Error, as_rpc(error).message)
        finally:
            if token is not None:
                del self._tokens[token]
            if mark.verdict is None:
                self._drop(opened, {mark})
        if mark in opened.marks:
            self._publish(opened)

    async def _token(self, mark: _Mark) -> Token | None:
        """A token that the client shows progress under, or None."""
        token = f"{SOURCE}-{uuid.uuid4()}"
        created = self._client.shows_progress and await self._line.ask(
            types.WINDOW_WORK_DONE_PROGRESS_CREATE, {"token": token}, CREATE_S
        )
        if not created:
            return None
        self._tokens[token] = mark
        return token

    def _clear(self, given: ClearArguments) -> None:
        for opened in self._documents.values():
            if given.uri in (None, opened.uri):
                span = None if given.range is None else self._span(opened.document, given.range)
                self._drop(opened, set(opened.marks if span is None else opened.met(span)))

    # What is shown

    def _drop(self, opened: _Open, marks: Set[_Mark]) -> None:
        """Take MARKS off the document, and stop what is on its way for them."""
        if marks.isdisjoint(opened.marks):
            return
        opened.marks = [mark for mark in opened.marks if mark not in marks]
        for mark in marks:
            mark.stop()
        if opened.shown:
            self._publish(opened)

    def _publish_soon(self, opened: _Open) -> None:
        opened.silence()
        opened.timer = asyncio.get_running_loop().call_later(QUIET_S, self._publish, opened)

    def _publish(self, opened: _Open) -> None:
        """Tell the client all diagnostics of the document."""
        opened.silence()
        marks = [mark for mark in opened.marks if mark.verdict is not None or not self._client.shows_progress]
        diagnostics = [self._diagnostic(opened.document, mark) for mark in marks]
        opened.shown = bool(diagnostics)
        version = {"version": opened.version} if self._client.takes_versions and opened.version is not None else {}
        params = {"uri": opened.uri, **version, "diagnostics": diagnostics}
        self._line.notify(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)

    def _diagnostic(self, document: Document, mark: _Mark) -> Json:
        told: Json = {"range": self._range(document, mark.span), "source": SOURCE}
        if mark.verdict is None:
            hint = types.DiagnosticSeverity.Hint.value
            return {**told, "severity": hint, "message": PENDING}
        tags = mark.verdict.outcome.tags
        tag, severity = next((each for each in _SEVERITIES if each[0] in tags), _SEVERITIES[-1])
        said = report.brief(mark.verdict)
        return {**told, "severity": severity.value, "code": tag, "message": said, "data": {"id": mark.verdict.id}}

    def _say(self, kind: types.MessageType, text: str) -> None:
        self._line.notify(types.WINDOW_SHOW_MESSAGE, {"type": kind.value, "message": report.plain(text)})

    # Places, as the client counts and as we do

    def _position(self, document: Document, place: Place) -> Position:
        return document.locate(place.line, place.character, self._client.encoding)

    def _span(self, document: Document, given: Range) -> Span:
        start, end = sorted((self._position(document, given.start), self._position(document, given.end)))
        return Span(start, end)

    def _range(self, document: Document, span: Span) -> Json:
        start, end = (document.place(each, self._client.encoding) for each in (span.start, span.end))
        return {
            "start": {"line": start[0], "character": start[1]},
            "end": {"line": end[0], "character": end[1]},
        }


@frozen
class Feature:
    """A request of editors: the type of its parameters, and what answers it at once, before the next edit is read."""

    params: type[Any]
    answer: Callable[[Editor, Any], Any]


FEATURES = {
    types.TEXT_DOCUMENT_HOVER: Feature(HoverParams, Editor.hover),
    types.TEXT_DOCUMENT_CODE_ACTION: Feature(ActionParams, Editor.code_actions),
    types.WORKSPACE_EXECUTE_COMMAND: Feature(CommandParams, Editor.execute),
}

_NOTIFICATIONS: dict[str, tuple[type[Any], Callable[[Editor, Any], None]]] = {
    types.TEXT_DOCUMENT_DID_OPEN: (OpenParams, Editor._open),
    types.TEXT_DOCUMENT_DID_CHANGE: (ChangeParams, Editor._change),
    types.TEXT_DOCUMENT_DID_CLOSE: (CloseParams, lambda editor, params: editor._close(params.text_document.uri)),
}

_COMMANDS: dict[str, tuple[type[Any], Callable[[Editor, Any], None]]] = {
    VERIFY: (VerifyArguments, Editor._verify),
    CLEAR: (ClearArguments, Editor._clear),
}


def _argument(params: CommandParams, kind: type[T]) -> T:
    """The one argument of a command. Raises JsonRpcInvalidParams."""
    if len(params.arguments) > 1:
        raise JsonRpcInvalidParams("arguments: must be one object at most")
    try:
        return structure(next(iter(params.arguments), None), kind)
    except JsonRpcInvalidParams as error:
        raise JsonRpcInvalidParams(f"arguments: {error.message}") from None


def _action(title: str, kind: str, command: str, argument: Json) -> Json:
    """A code action that runs a command."""
    return {"title": title, "kind": kind, "command": {"title": title, "command": command, "arguments": [argument]}}


def _is_kind(kind: str, wanted: str) -> bool:
    """Whether KIND is WANTED or one of its kinds."""
    return wanted in ("", kind) or kind.startswith(f"{wanted}.")

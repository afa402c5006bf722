"""Parameters of the methods and commands that editors use; read as those of `params` are."""

from __future__ import annotations

from typing import Any

from attrs import Attribute, field, frozen

from neuron_council.rpc.params import FieldError, Raw


def _from_zero(_: object, attribute: Attribute[int], value: int) -> None:
    if value < 0:
        raise FieldError("must be 0 or more", attribute.name)


@frozen
class Place:
    """A position as the client counts: `character` is in units of the encoding."""

    line: int = field(validator=_from_zero)
    character: int = field(validator=_from_zero)


@frozen
class Range:
    """The text between two places, in either order."""

    start: Place
    end: Place


@frozen
class DocumentId:
    """An open document, at a version where one is given."""

    uri: str
    version: int | None = None


@frozen
class NewDocument:
    """A document that was opened."""

    uri: str
    version: int
    text: Raw


@frozen
class OpenParams:
    """Parameters of `textDocument/didOpen`."""

    text_document: NewDocument


@frozen
class ChangeParams:
    """Parameters of `textDocument/didChange`; each change is a Change, and counts in what those before it made."""

    text_document: DocumentId
    content_changes: tuple[Any, ...]


@frozen
class Change:
    """A range that has another text now; without a range it is the whole document."""

    text: Raw
    range: Range | None = None


@frozen
class CloseParams:
    """Parameters of `textDocument/didClose`."""

    text_document: DocumentId


@frozen
class HoverParams:
    """Parameters of `textDocument/hover`."""

    text_document: DocumentId
    position: Place


@frozen
class ActionContext:
    """Which code actions are wanted: kinds (None: all), and by whom (1: the user, 2: the editor by itself)."""

    only: tuple[str, ...] | None = None
    trigger_kind: int | None = None


@frozen
class ActionParams:
    """Parameters of `textDocument/codeAction`."""

    text_document: DocumentId
    range: Range
    context: ActionContext = ActionContext()


@frozen
class CommandParams:
    """Parameters of `workspace/executeCommand`."""

    command: str
    arguments: tuple[Any, ...] = ()


@frozen
class VerifyArguments:
    """The argument of `neuron-council.verify`.

    `fresh` passes over the cache; `against_document` makes the rest of the document the context.
    """

    uri: str
    range: Range
    version: int | None = None
    fresh: bool = False
    against_document: bool = False


@frozen
class ClearArguments:
    """The argument of `neuron-council.clear`: what in a range, a document, or all documents."""

    uri: str | None = None
    range: Range | None = None

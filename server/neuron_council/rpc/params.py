"""Parameters of the methods: typed, strict, and refused with the name of the offending field, never with its value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NewType, TypeVar

import cattrs
from attrs import Attribute, field, fields, frozen, has
from cattrs.errors import AttributeValidationNote, ClassValidationError
from cattrs.gen import make_dict_structure_fn, override
from pygls.exceptions import JsonRpcInvalidParams

from neuron_council.evidence.pack import MAX_CLAIM, MAX_CONTEXT
from neuron_council.evidence.text import clean
from neuron_council.ledger.limits import MAX_PAGE, PAGE
from neuron_council.rpc.message import cleaned, is_id

T = TypeVar("T")
Token = int | str
Raw = NewType("Raw", str)
"""Text as it came, with what `clean` would replace: a client counts in it."""

LSP_NAMES = {
    "content_changes": "contentChanges",
    "initialization_options": "initializationOptions",
    "process_id": "processId",
    "text_document": "textDocument",
    "trigger_kind": "triggerKind",
    "work_done_token": "workDoneToken",
}
"""Fields that the Language Server Protocol names; ours are snake_case on the wire too."""

MAX_BATCH = 10_000
"""Claims of one batch at most; a longer one is two batches."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class FieldError(Exception):
    """Why a value is refused; `field` is None where whoever catches it knows the name."""

    def __init__(self, reason: str, field: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field


def _claim(_: object, __: Attribute[str], claim: str) -> None:
    if len(claim) > MAX_CLAIM:
        raise FieldError(f"must be at most {MAX_CLAIM:,} characters long, it has {len(claim):,}", "claim")
    if not any(character.isalnum() for character in claim):
        raise FieldError("must hold a letter or a digit", "claim")


def _context(_: object, __: Attribute[str | None], context: str | None) -> None:
    if context is not None and len(context) > MAX_CONTEXT:
        raise FieldError(f"must be at most {MAX_CONTEXT:,} characters long, it has {len(context):,}", "context")


def _uuid(_: object, attribute: Attribute[Any], value: str | None) -> None:
    if value is not None and _UUID.fullmatch(value) is None:
        raise FieldError("must be a UUID", attribute.name)


def _lowered(value: str) -> str:
    return value.lower()


def _lower(value: str | None) -> str | None:
    return value and value.lower()


def _all_lower(values: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return values and tuple(value.lower() for value in values)


def _positive(_: object, attribute: Attribute[int | None], value: int | None) -> None:
    if value is not None and value < 1:
        raise FieldError("must be 1 or more", attribute.name)


def _page(_: object, __: Attribute[int], value: int) -> None:
    if not 1 <= value <= MAX_PAGE:
        raise FieldError(f"must be a whole number from 1 to {MAX_PAGE:,}", "limit")


def _cursor(_: object, __: Attribute[str | None], cursor: str | None) -> None:
    if cursor is not None and not (cursor.isascii() and cursor.isdigit()):
        raise FieldError("must be the next_cursor of a page", "cursor")


def _few(_: object, __: Attribute[tuple[Any, ...]], claims: tuple[Any, ...]) -> None:
    if len(claims) > MAX_BATCH:
        raise FieldError(f"must be at most {MAX_BATCH:,} claims, there are {len(claims):,}", "claims")


def _uuids(_: object, attribute: Attribute[Any], values: tuple[str, ...] | None) -> None:
    if any(_UUID.fullmatch(value) is None for value in values or ()):
        raise FieldError("must be UUIDs", attribute.name)


def _decision(_: object, __: Attribute[str], value: str) -> None:
    if value not in ("accept", "reject"):
        raise FieldError("must be accept or reject", "decision")


def _note(_: object, __: Attribute[str | None], note: str | None) -> None:
    if note is not None and len(note) > MAX_CLAIM:
        raise FieldError(f"must be at most {MAX_CLAIM:,} characters long, it has {len(note):,}", "note")


@frozen
class InitializeParams:
    """What the server reads of `initialize`; the options are for the configuration to judge."""

    process_id: int | None = None
    initialization_options: Any = field(default=None, converter=cleaned)
    capabilities: Any = None


@frozen
class NoParams:
    """A method that takes none."""


@frozen
class VerifyParams:
    """A claim to judge. `deadline_ms` has an upper bound too, which the configuration sets.

    A claim in the `background` lets people's claims go first.
    """

    claim: str = field(validator=_claim)
    context: str | None = field(default=None, validator=_context)
    id: str | None = field(default=None, validator=_uuid, converter=_lower)
    fresh: bool = False
    deadline_ms: int | None = field(default=None, validator=_positive)
    work_done_token: Token | None = None
    background: bool = False


@frozen
class VerifyBatchParams:
    """Claims to judge in one go, each a BatchItem; a faulty one is no fault of the rest."""

    claims: tuple[Any, ...] = field(validator=_few)
    work_done_token: Token | None = None


@frozen
class BatchItem:
    """One claim of a batch."""

    claim: str = field(validator=_claim)
    context: str | None = field(default=None, validator=_context)
    id: str | None = field(default=None, validator=_uuid, converter=_lower)
    fresh: bool = False


@frozen
class ListParams:
    """Which verdicts to list. `limit` is the size of a page; `counts` asks for those of the whole ledger too."""

    tag: str | None = None
    status: str | None = None
    text: str | None = None
    limit: int = field(default=PAGE, validator=_page)
    since: float | None = None
    until: float | None = None
    reviewed: bool | None = None
    cursor: str | None = field(default=None, validator=_cursor)
    counts: bool = False


@frozen
class IdParams:
    """A stored verdict."""

    id: str = field(validator=_uuid, converter=_lowered)


@frozen
class ReplayParams:
    """A stored verdict, or all."""

    id: str | None = field(default=None, validator=_uuid, converter=_lower)


@frozen
class ReviewParams:
    """What a person decides of a stored verdict."""

    id: str = field(validator=_uuid, converter=_lowered)
    decision: str = field(validator=_decision)
    note: str | None = field(default=None, validator=_note)


@frozen
class ReevaluateParams:
    """Unavailable verdicts, or all."""

    ids: tuple[str, ...] | None = field(default=None, validator=_uuids, converter=_all_lower)


@frozen
class AcknowledgeParams:
    """New verdicts that the client knows."""

    ids: tuple[str, ...] = field(validator=_uuids, converter=_all_lower)


def structure(params: Any, kind: type[T]) -> T:
    """PARAMS as KIND. Raises JsonRpcInvalidParams, whose message begins with the name of the first field at fault.

    Absent params are an empty object and a null field is an absent one: Emacs sends nil as null.
    """
    if not isinstance(params, dict | None):
        raise JsonRpcInvalidParams("params: must be an object")
    given = {key: value for key, value in (params or {}).items() if value is not None}
    try:
        return _CONVERTER.structure(given, kind)
    except ClassValidationError as error:
        raise JsonRpcInvalidParams(next(_faults(error))) from None
    except RecursionError:
        raise JsonRpcInvalidParams("params: are nested too deeply") from None


def _faults(error: ClassValidationError) -> Iterator[str]:
    for fault in error.exceptions:
        notes = [note.name for note in getattr(fault, "__notes__", ()) if isinstance(note, AttributeValidationNote)]
        name = fault.field if isinstance(fault, FieldError) and fault.field else next(iter(notes), "params")
        name = LSP_NAMES.get(name, name)
        if isinstance(fault, ClassValidationError):
            yield from (f"{name}.{each}" for each in _faults(fault))
            continue
        if isinstance(fault, RecursionError):
            reason = "is nested too deeply"
        elif isinstance(fault, KeyError):
            reason = "is required"
        else:
            reason = fault.reason if isinstance(fault, FieldError) else "is not valid"
        yield f"{name}: {reason}"


def _string(value: Any, _: object) -> str:
    if not isinstance(value, str):
        raise FieldError("must be a string")
    return clean(value)


def _raw(value: Any, _: object) -> str:
    if not isinstance(value, str):
        raise FieldError("must be a string")
    return value


def _boolean(value: Any, _: object) -> bool:
    if not isinstance(value, bool):
        raise FieldError("must be true or false")
    return value


def _whole(value: Any, _: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError("must be a whole number")
    return value


def _list(value: Any, _: object) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise FieldError("must be a list")
    return tuple(value)


def _strings(value: Any, kind: object) -> tuple[str, ...]:
    return tuple(_string(item, kind) for item in _list(value, kind))


def _number(value: Any, _: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise FieldError("must be a number")
    return float(value)


def _token(value: Any, _: object) -> Token:
    if isinstance(value, str):
        return clean(value)
    if not is_id(value):
        raise FieldError("must be a string or a whole number of 64 bits")
    return int(value)


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter()
    converter.register_structure_hook(str, _string)
    converter.register_structure_hook(bool, _boolean)
    converter.register_structure_hook(int, _whole)
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook_func(lambda kind: kind == Token | None, _token)
    converter.register_structure_hook_func(lambda kind: kind is Raw, _raw)
    converter.register_structure_hook_func(lambda kind: kind == tuple[Any, ...], _list)
    converter.register_structure_hook_func(lambda kind: kind == tuple[str, ...], _strings)

    def named(kind: type[Any]) -> Any:
        renamed = {each.name: override(rename=LSP_NAMES[each.name]) for each in fields(kind) if each.name in LSP_NAMES}
        return make_dict_structure_fn(kind, converter, **renamed)  # type: ignore[arg-type]  # override() is the documented value

    converter.register_structure_hook_factory(has, named)
    return converter


_CONVERTER = _converter()

"""What went wrong with a member, as evidence: a failure is recorded and never raised."""

from __future__ import annotations

from enum import StrEnum
from typing import Generic, TypeVar

from attrs import field, frozen

from neuron_council.evidence.text import clean

T_co = TypeVar("T_co", covariant=True)


class FailureKind(StrEnum):
    """The kinds of failure that the wire knows."""

    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    MODEL_NOT_FOUND = "model-not-found"
    NOT_LOADED = "not-loaded"
    BUSY = "busy"
    HTTP_ERROR = "http-error"
    MALFORMED = "malformed"
    UNPARSABLE = "unparsable"
    TOO_LARGE = "too-large"
    CONTEXT_OVERFLOW = "context-overflow"
    UNAUTHORIZED = "unauthorized"
    NOT_ASKED = "not-asked"


UNASKABLE = frozenset(
    {
        FailureKind.UNREACHABLE,
        FailureKind.MODEL_NOT_FOUND,
        FailureKind.NOT_LOADED,
        FailureKind.UNAUTHORIZED,
        FailureKind.CONTEXT_OVERFLOW,
    }
)
"""Kinds of failure in which the question never reached the model; asking again at once would end alike."""


@frozen
class Failure:
    """One failure: its kind, and a sentence that names the thing, the reason and the cure."""

    kind: FailureKind
    message: str = field(converter=clean)


@frozen
class Ok(Generic[T_co]):
    """What was asked for."""

    value: T_co


@frozen
class Err:
    """Why there is nothing."""

    failure: Failure

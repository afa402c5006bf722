"""The id of a verdict as it is typed: whole, or only its beginning where no other id begins so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from neuron_council.errors import AmbiguousIdError, UnknownVerdictError
from neuron_council.evidence.text import clean

if TYPE_CHECKING:
    from neuron_council.ledger.ledger import Ledger

HELP = "the verdict's id, or its first digits, 4 or more"
LEAST_DIGITS = 4
MOST_LISTED = 8

_BEGINNING = re.compile(r"[0-9a-f-]+")
_LENGTH = len("550e8400-e29b-41d4-a716-446655440000")


def typed(argument: str) -> str:
    """ARGUMENT as ids are stored; they mean the same in either case."""
    return clean(argument).lower()


def resolve(ledger: Ledger, given: str) -> str:
    """The id that begins with GIVEN; GIVEN itself where it is whole, or none can begin so.

    Raises UnknownVerdictError where none does or GIVEN is too short, and AmbiguousIdError where several do.
    """
    if len(given) >= _LENGTH or not _BEGINNING.fullmatch(given):
        return given
    if len(given.replace("-", "")) < LEAST_DIGITS:
        raise UnknownVerdictError(f"{given} is too short: give {LEAST_DIGITS} digits of the id or more.")
    found = ledger.beginning(given, MOST_LISTED + 1)
    if not found:
        raise UnknownVerdictError(f"No verdict has an id that begins with {given}, or it was forgotten.")
    if len(found) > 1:
        listed = ", ".join(found[:MOST_LISTED])
        more = " and more" if len(found) > MOST_LISTED else ""
        raise AmbiguousIdError(f"Several ids begin with {given}: {listed}{more}. Give more digits.")
    return found[0]

"""The sentence at a place in a text, for a client that has selected nothing. Pure."""

from __future__ import annotations

import re

from neuron_council.evidence.pack import MAX_CLAIM
from neuron_council.rpc.document import Document, Position, Span, advanced

MOST_LINES = 100
"""Lines that are looked at in either direction."""

# Looked for from the first mark of a row only, and no mark is given back: a text may have any number of them.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s|\Z)|[。！？]+[」』”’）]*")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
# What stands before a sentence in a list, a quotation, a heading or a comment, and is no part of it.
_LEAD = re.compile(r"[\s>#*+•/;%-]*(?:\d{1,3}[.)]\s+)?")


def sentence(document: Document, position: Position) -> Span | None:
    """The sentence that POSITION is in or behind, within its paragraph or list item; None where there is none."""
    start, text = _paragraph(document, position)
    at = len(document.part(Span(start, position)))
    begin, end = _past_lead(text, 0), len(text)
    for found in _END.finditer(text, begin):
        if found.end() >= at:
            end = found.end()
            break
        begin = _past_lead(text, found.end())
    said = text[begin:end].rstrip()
    if len(said) > MAX_CLAIM or not any(char.isalnum() for char in said):
        return None
    start = advanced(start, text[:begin])
    return Span(start, advanced(start, said))


def _past_lead(text: str, at: int) -> int:
    lead = _LEAD.match(text, at)
    return lead.end() if lead is not None else at


def _paragraph(document: Document, position: Position) -> tuple[Position, str]:
    """Where the paragraph at POSITION begins, and its text; empty on a blank line."""
    first = last = position.line
    while first > position.line - MOST_LINES and not _ITEM.match(document.line(first)):
        if not document.line(first - 1).strip():
            break
        first -= 1
    while last < position.line + MOST_LINES:
        following = document.line(last + 1)
        if not following.strip() or _ITEM.match(following):
            break
        last += 1
    here = document.line(position.line)
    if not here.strip():
        return Position(position.line, 0), here
    return Position(first, 0), "".join(document.line(number) for number in range(first, last + 1))

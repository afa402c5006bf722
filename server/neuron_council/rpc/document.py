"""A text that is being edited: where things stand in it, and where they are after an edit. Pure.

Columns are characters here, whatever the client counts in; `locate` and `place` translate. Lines end at CR, LF or
CR LF and at nothing else, as the protocol has it (a form feed ends none), and a line keeps its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from attrs import field, frozen

Encoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]++\Z")
_BLOCK = 4096
"""Characters that are measured at once on the way to a column."""


@frozen(order=True)
class Position:
    """A place between two characters: its line and the characters before it on that line, from 0."""

    line: int
    column: int


@frozen
class Span:
    """The text from `start` to `end`, which is not before it."""

    start: Position
    end: Position

    def has(self, position: Position) -> bool:
        """Whether POSITION is in the span or at one of its ends."""
        return self.start <= position <= self.end

    def meets(self, other: Span) -> bool:
        """Whether the two have a character in common, or an empty one is in the other or at its end."""
        if self.start == self.end or other.start == other.end:
            return self.start <= other.end and other.start <= self.end
        return self.start < other.end and other.start < self.end


@frozen
class Edit:
    """A span that was replaced; what stood behind it stands behind `after` now."""

    span: Span
    text: str
    after: Position = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "after", advanced(self.span.start, self.text))

    @property
    def is_void(self) -> bool:
        """Whether it changes nothing."""
        return self.span.start == self.span.end and not self.text

    def follow(self, span: Span) -> Span | None:
        """Where SPAN is after the edit, or None where its text was changed."""
        start, end = self.span.start, self.span.end
        if span.end <= start or self.is_void:
            return span
        if start < span.end and end > span.start:
            return None
        return Span(self._moved(span.start), self._moved(span.end))

    def _moved(self, position: Position) -> Position:
        end, after = self.span.end, self.after
        if position.line == end.line:
            return Position(after.line, after.column + position.column - end.column)
        return Position(position.line + after.line - end.line, position.column)


def lines(text: str) -> list[str]:
    """The lines of TEXT, each with its end; the last has none and may be empty."""
    found = _LINE.findall(text)
    if not found or found[-1].endswith(("\r", "\n")):
        found.append("")
    return found


def advanced(position: Position, text: str) -> Position:
    """Where TEXT ends that begins at POSITION."""
    *before, last = lines(text)
    return Position(position.line + len(before), len(last) if before else position.column + len(last))


def size(text: str, encoding: Encoding) -> int:
    """The length of TEXT in units of ENCODING; a lone surrogate has one of UTF-16, and three of UTF-8."""
    return len(text) if text.isascii() else _SIZES[encoding](text)


_SIZES: dict[Encoding, Callable[[str], int]] = {
    "utf-8": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "utf-16": lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    "utf-32": len,
}


def characters(text: str, units: int, encoding: Encoding) -> int:
    """How many characters of TEXT fit into UNITS of ENCODING."""
    if text.isascii() or encoding == "utf-32":
        return min(units, len(text))
    at = 0
    while at < len(text) and (block := size(text[at : at + _BLOCK], encoding)) <= units:
        units -= block
        at += _BLOCK
    for char in text[at : at + _BLOCK]:
        units -= size(char, encoding)
        if units < 0:
            break
        at += 1
    return min(at, len(text))


class Document:
    """The text of an open document, in lines, so that an edit costs what it touches and not the whole."""

    def __init__(self, text: str) -> None:
        self._lines = lines(text)

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self._lines)

    @property
    def end(self) -> Position:
        """The end of the text."""
        return Position(len(self._lines) - 1, len(self._lines[-1]))

    @property
    def length(self) -> int:
        """The characters of the whole text."""
        return sum(map(len, self._lines))

    def line(self, number: int) -> str:
        """A line, with its end; empty where there is none."""
        return self._lines[number] if 0 <= number < len(self._lines) else ""

    def locate(self, line: int, units: int, encoding: Encoding) -> Position:
        """The position that a client means, UNITS of ENCODING into LINE; beyond the end of something it is that end.

        What would be in the middle of a character is before it.
        """
        if line >= len(self._lines):
            return self.end
        column = characters(self._lines[line], units, encoding)
        return Position(line, min(column, _content(self._lines[line])))

    def place(self, position: Position, encoding: Encoding) -> tuple[int, int]:
        """POSITION as a client counts: the line, and the units of ENCODING before it there."""
        return position.line, size(self._lines[position.line][: position.column], encoding)

    def part(self, span: Span) -> str:
        """The text of SPAN."""
        start, end = span.start, span.end
        if start.line == end.line:
            return self._lines[start.line][start.column : end.column]
        first, last = self._lines[start.line][start.column :], self._lines[end.line][: end.column]
        return "".join([first, *self._lines[start.line + 1 : end.line], last])

    def around(self, span: Span) -> str:
        """The text without SPAN."""
        return self.part(Span(Position(0, 0), span.start)) + self.part(Span(span.end, self.end))

    def trimmed(self, span: Span) -> Span:
        """SPAN without the white space at its ends; empty where it has nothing else."""
        text = self.part(span)
        start = advanced(span.start, text[: len(text) - len(text.lstrip())])
        return Span(start, advanced(start, text.strip()))

    def replace(self, span: Span, text: str) -> Edit:
        """Put TEXT in place of SPAN, and return the edit in its least form: what stays as it is, is no part of it."""
        edit = self._joined(*self._least(span, text))
        start, end = edit.span.start, edit.span.end
        new = lines(edit.text)  # what stays of the first and the last line is not looked at, however long it is
        new[0] = self._lines[start.line][: start.column] + new[0]
        new[-1] += self._lines[end.line][end.column :]
        self._lines[start.line : end.line + 1] = new
        return edit

    def become(self, text: str) -> Edit:
        """Be TEXT, and return the edit that it is, as small as can be told."""
        old, new = self._lines, lines(text)
        most = min(len(old), len(new))
        head = next((at for at in range(most) if old[at] != new[at]), most)
        tail = next((at for at in range(most - head) if old[-1 - at] != new[-1 - at]), most - head)
        end = Position(len(old) - tail, 0) if tail else self.end
        start = Position(head, 0) if head < len(old) else end
        return self.replace(Span(start, end), "".join(new[head : len(new) - tail]))

    def _least(self, span: Span, text: str) -> tuple[Span, str]:
        """The same replacement without what is alike at both ends, a CR LF never cut in two."""
        old = self.part(span)
        head = _alike(old, text)
        head -= old[:head].endswith("\r")
        tail = _alike(old[head:][::-1], text[head:][::-1])
        tail -= old[len(old) - tail :].startswith("\n")
        start = advanced(span.start, old[:head])
        return Span(start, advanced(start, old[head : len(old) - tail])), text[head : len(text) - tail]

    def _joined(self, span: Span, text: str) -> Edit:
        """The same replacement, over a CR or LF beside it with which it makes one end of a line."""
        start, end = span.start, span.end
        rest = self._lines[end.line][end.column : end.column + 1]
        if not start.column and (text or rest).startswith("\n") and self.line(start.line - 1).endswith("\r"):
            start = Position(start.line - 1, len(self._lines[start.line - 1]) - 1)
            text = "\r" + text
        if text.endswith("\r") and rest == "\n":
            end = Position(end.line + 1, 0)
            text += "\n"
        return Edit(Span(start, end), text)


def _content(line: str) -> int:
    """The characters of LINE before its end."""
    return len(line) - (2 if line.endswith("\r\n") else line.endswith(("\r", "\n")))


def _alike(one: str, other: str) -> int:
    """The characters that ONE and OTHER begin with both, found by halves since comparing a half is fast."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low

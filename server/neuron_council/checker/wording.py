"""Words for findings and summaries."""

from __future__ import annotations

from collections.abc import Iterable

MAX_EXCERPT = 120
"""Characters of a quoted span at most."""


def count(number: int, noun: str) -> str:
    """`1 vote`, `2 votes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = list(names) or ["nothing"]
    return f"{', '.join(most)} and {last}" if most else last


def excerpt(text: str) -> str:
    """TEXT in quotation marks on one line, cut to MAX_EXCERPT characters."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * MAX_EXCERPT]).split())
    return f"“{line[: MAX_EXCERPT - 1]}…”" if len(line) > MAX_EXCERPT else f"“{line}”"

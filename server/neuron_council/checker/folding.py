"""What both text oracles need to read a text in linear time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PIECE = 128
# Arabic ligatures stand for whole phrases: a text of them would grow eighteenfold in its compatibility form.
_LIGATURES = re.compile("[\ufdf0-\ufdff]")


def by_pieces(text: str, form: Callable[[str], str]) -> str:
    """TEXT with FORM, a Unicode normal form, made piece by piece.

    Whole, it takes quadratic time to put combining marks in order: a second for 32,000 of them.
    """
    # evidence.text cuts where nothing combines, and keeps more ligatures. Both doing it one way would read some texts
    # otherwise (marks or jamo on both sides of a cut), and verdicts that are stored would replay to other findings.
    text = _LIGATURES.sub(" ", text)
    return "".join(form(text[at : at + _PIECE]) for at in range(0, len(text), _PIECE))


def any_of(words: Iterable[str]) -> str:
    """A pattern for the longest of WORDS, letter by letter, so that no position is tried once a word."""
    tails: dict[str, set[str]] = {}
    optional = False
    for word in words:
        if word:
            tails.setdefault(word[0], set()).add(word[1:])
        else:
            optional = True
    if not tails:
        return ""
    branches = "|".join(re.escape(head) + any_of(tails[head]) for head in sorted(tails))
    return f"(?:{branches})" + ("?" if optional else "")

"""Text as both sides compare it: cleaned on entry, folded for a comparison."""

from __future__ import annotations

import re
import unicodedata

REPLACEMENT = "\ufffd"

_UNREADABLE = re.compile("[\x00\ud800-\udfff]")
_WHITE_SPACE = re.compile(r"\s+")
# Unicode's property Quotation_Mark, and what is typed in place of one.
_QUOTATION_MARKS = dict.fromkeys(map(ord, "'`´«»‘’‚‛“”„‟‹›⹂「」『』〝〞〟﹁﹂﹃﹄＂＇｢｣′″‵‶"), '"')
# One of these stands for a whole phrase: a text of them would grow eighteenfold.
_PHRASES = dict.fromkeys((0xFDFA, 0xFDFB), " ")
_MAX_MARKS = 30
"""Combining marks in a row that are put in order together (Unicode's stream-safe text format, UAX 15)."""
_HALF_WIDTH_MARKS = "\uff9e\uff9f"


def clean(text: str) -> str:
    """TEXT with U+0000 and lone surrogates replaced by U+FFFD, which Emacs and UTF-8 can carry."""
    return _UNREADABLE.sub(REPLACEMENT, text)


def fold(text: str) -> str:
    """TEXT for a comparison that form must not decide: NFKC, case folded, quotation marks and white space alike."""
    plain = _normal(text.translate(_QUOTATION_MARKS).translate(_PHRASES)).casefold()
    # Case folding can undo the normal form (U+0345), so it is made again.
    return _WHITE_SPACE.sub(" ", _normal(plain).translate(_QUOTATION_MARKS)).strip()


def _normal(text: str) -> str:
    """NFKC in linear time: putting a long run of combining marks in order takes quadratic time."""
    if text.isascii():
        return text
    pieces, start, marks = [], 0, 0
    for at, char in enumerate(text):
        marks = marks + 1 if _is_mark(char) else 0
        if marks > _MAX_MARKS:
            pieces.append(text[start:at])
            start, marks = at, 1
    pieces.append(text[start:])
    return "".join(unicodedata.normalize("NFKC", piece) for piece in pieces)


def _is_mark(char: str) -> bool:
    return char > "\u02ff" and (unicodedata.category(char)[0] == "M" or char in _HALF_WIDTH_MARKS)

"""Text as both sides compare it: cleaned on entry, folded for a comparison."""

from __future__ import annotations

import re
import unicodedata

REPLACEMENT = "\ufffd"

_UNREADABLE = re.compile("[\x00\ud800-\udfff]")
_WHITE_SPACE = re.compile(r"\s+")
_QUOTATION_MARKS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a\u0060\u00b4\u2032\u300e\u300f", '"'),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u300c\u300d'", '"'),
    }
)


def clean(text: str) -> str:
    """TEXT with U+0000 and lone surrogates replaced by U+FFFD, which Emacs and UTF-8 can carry."""
    return _UNREADABLE.sub(REPLACEMENT, text)


def fold(text: str) -> str:
    """TEXT for a comparison that form must not decide: NFKC, case folded, quotation marks and white space alike."""
    plain = unicodedata.normalize("NFKC", text).translate(_QUOTATION_MARKS)
    # Case folding can undo the normal form (U+0345), so it is made again.
    plain = unicodedata.normalize("NFKC", plain.casefold()).translate(_QUOTATION_MARKS)
    return _WHITE_SPACE.sub(" ", plain).strip()

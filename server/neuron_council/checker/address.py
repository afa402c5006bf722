"""Text that addresses the judges instead of telling them something.

A text is folded (width, case, accents, look-alike letters, invisible characters), cut into words, and every word is
turned into the concepts it can stand for, whatever its language (lexicon.py). Attacks are then short patterns over
concepts (attacks.py), so that one line covers an order in all languages, and a few patterns over characters (`_MARKS`),
for what is not made of words. Talk about an attack that quotes it word for word is stopped too: a judge
that reads the quotation is addressed by it.

Everything is linear: one pass per step, and each gap in a pattern is bounded.
"""

from __future__ import annotations

import binascii
import re
import unicodedata
from functools import cache, cached_property
from html import unescape
from typing import TYPE_CHECKING

from attrs import frozen

from neuron_council.checker.attacks import FENCE, PATTERNS, RESULT, ROLE, WEAK_PATTERNS
from neuron_council.checker.folding import any_of, by_pieces
from neuron_council.checker.lexicon import LEXICON
from neuron_council.evidence.text import REPLACEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

SPAN = 80
"""Characters of a span at most."""


@frozen
class Address:
    """Where a text addresses the judges: the attack's kind, and the span that shows it, folded and cut to `SPAN`."""

    kind: str
    span: str


def addressed(text: str, *, strict: bool) -> Address | None:
    """The first address to the judges that TEXT holds, or None.

    `strict` adds the weak patterns: forms that are an attack where a claim is due, and ordinary in a longer context.
    """
    for reading in _readings(text):
        found = _in_marks(reading) or _in_words(reading, strict=strict)
        if found:
            return found
    return None


# --- folding -----------------------------------------------------------------------------------------------------

# Letters that look Latin. Patterns are folded alike, so that Russian and Greek words still match themselves.
_LOOK_ALIKE = str.maketrans("авекмнорстухіѕјԁѵԛԝґαβεηικμνορτυχϲıɡ", "abekmhopctyxisjdvqwrabenikmvoptyxcig")
# Tag characters carry ASCII that no screen shows; what they spell is read with the rest.
_TAGS = re.compile("[\U000e0020-\U000e007e]")
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−"), "-")
_APOSTROPHES = dict.fromkeys(map(ord, "‘’‛ʼ′´"), "'")
_AFTER: dict[int, int | str] = {**_LOOK_ALIKE, **_DASHES, **_APOSTROPHES}
_UNSEEN = re.compile(
    "[\u0300-\u036f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def _plain(text: str) -> str:
    """TEXT in one shape: compatibility forms, accents, look-alikes and case gone. Same for texts and patterns."""
    if not text.isascii():
        text = _TAGS.sub(lambda tag: chr(ord(tag.group()) - 0xE0000), text)
        text = by_pieces(text, _bare)
        return text.casefold().translate(_AFTER)
    return text.lower()


def _bare(text: str) -> str:
    """TEXT in its compatibility form, without accents and what cannot be seen."""
    return unicodedata.normalize("NFC", _UNSEEN.sub("", unicodedata.normalize("NFKD", text)))


_IDLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufffd\ud800-\udfff]")
_EMPHASIS = str.maketrans("*~`", "   ")
_LINE_ENDS = re.compile(r"[\r\x0b\x0c\x85\u2028\u2029]")
_BLANKS = re.compile(r"[^\S\n]+")
_EMPTY_LINES = re.compile(r"\n[ \n]*+")
_SPACED = re.compile(r"(?<![^\W_])(?:[^\W\d_](?:[ ._*-]{1,3}(?=[^\W\d_](?![^\W_])))){4,}+[^\W\d_]")
_LEET = str.maketrans("013457@$", "oieastas")
_DISGUISED = re.compile(r"(?<![a-z0-9@$])(?=[a-z0-9@$]{3,24}(?![a-z0-9@$]))[a-z@$]*+[0-9@$][a-z0-9@$]*+")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{24,}+={0,2}")


def _fold(text: str) -> str:
    """TEXT as the patterns read it: one line end between lines, one blank between words, masks taken off."""
    text = _IDLE.sub("", _plain(text)).translate(_EMPHASIS)
    text = _EMPTY_LINES.sub("\n", _BLANKS.sub(" ", _LINE_ENDS.sub("\n", text)).replace(" \n", "\n")).strip()
    text = _SPACED.sub(_closed_up, text)
    return _DISGUISED.sub(_unmasked, text)


def _closed_up(match: re.Match[str]) -> str:
    """L e t t e r s put together, and apart again around words that the lexicon knows."""
    return _ordering_words().sub(r" \g<0> ", re.sub(r"[ ._*-]+", "", match.group()))


def _unmasked(match: re.Match[str]) -> str:
    """A word with digits for letters, where that gives a word the lexicon knows."""
    word = match.group()
    for one in "il":
        plain = word.replace("1", one).translate(_LEET)
        if plain in _CODES:
            return plain
    return word


_LONG_REFERENCE = re.compile(r"&#(?:[0-9]{8}|[xX][0-9a-fA-F]{7})[0-9a-fA-F]*;?")
"""A numeric reference beyond all of Unicode; Python refuses to read thousands of digits as one number."""


def _readings(text: str) -> Iterator[str]:
    """TEXT folded, then what its base64 says."""
    yield _fold(unescape(_LONG_REFERENCE.sub(REPLACEMENT, text)) if "&" in text else text)
    hidden = [plain for match in _BASE64.finditer(text) if (plain := _decoded(match.group()))]
    if hidden:
        yield _fold("\n".join(hidden))


def _decoded(blob: str) -> str:
    """The text in a base64 BLOB, or nothing."""
    whole = blob.rstrip("=")
    whole = whole[: len(whole) - (len(whole) % 4 == 1)]
    try:
        return binascii.a2b_base64(whole + "=" * (-len(whole) % 4)).decode()
    except UnicodeDecodeError:
        return ""


# --- concepts ----------------------------------------------------------------------------------------------------

_SENSES: dict[str, set[str]] = {}
for _concept, _words in LEXICON.items():
    for _word in _plain(_words).split():
        _SENSES.setdefault(_word, set()).add(_concept)

_STOP, _LINE, _COLON, _PAUSE, _OTHER = ".", "\n", ":", ",", "_"
_CODES: dict[str, str] = {"\n": _LINE}
"""One character for each set of concepts that some word can stand for."""
_CODES_OF = {"stop": _STOP, "line": _LINE, "colon": _COLON, "pause": _PAUSE, **dict.fromkeys(LEXICON, "")}
"""For each concept, and each kind of mark, the codes that can stand for it."""
_known: dict[frozenset[str], str] = {}
for _word in sorted(_SENSES):
    _senses = frozenset(_SENSES[_word])
    if _senses not in _known:
        _known[_senses] = chr(0x61 + len(_known))
        for _concept in _senses:
            _CODES_OF[_concept] += _known[_senses]
    _CODES[_word] = _known[_senses]
for _mark in ".!?;…。！？؟":
    _CODES[_mark] = _STOP
for _mark in ":=：":
    _CODES[_mark] = _COLON

_UNSPACED = r"\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"  # Scripts that set no blanks between words.
_TOKEN = re.compile(
    rf"[^\W\d_{_UNSPACED}]++(?:'t\b)?|[0-9]+(?:[./][0-9]+)?+%?|\n|[.!?;:=…。]|[^\w\s.!?;:=…。'-]+"
    rf"|{any_of(word for word in _SENSES if re.match(f'[{_UNSPACED}]', word))}|[^\W_]"
)


def _codes(text: str) -> str:
    """TEXT as one character a word or mark; what the lexicon does not know is `_`, other marks are `,`."""
    known = _CODES.get
    return "".join([known(token) or (_OTHER if token.isalnum() else _PAUSE) for token in _TOKEN.findall(text)])


@cache
def _ordering_words() -> re.Pattern[str]:
    """The words of orders, to be found where no blanks set them apart."""
    wanted = {"override", "guidance", "back", "vote", "label", "judge", "your", "system"}
    return re.compile(any_of(word for word, senses in _SENSES.items() if len(word) > 3 and senses & wanted))


@cache
def _class(names: str) -> str:
    """The codes of the words that can stand for one of NAMES, which `|` parts."""
    return re.escape("".join(dict.fromkeys("".join(_CODES_OF[name] for name in names.split("|")))))


@frozen
class _Pattern:
    """A pattern over concepts, and for each of its words the codes of which a text must have one."""

    kind: str
    weak: bool
    source: str
    needs: tuple[frozenset[str], ...]

    @cached_property
    def form(self) -> re.Pattern[str]:
        """The compiled pattern, made at its first use: most texts lack its words."""
        return re.compile(self.source)


_BEGIN = (
    f"(?<![^{_class('stop|line|colon|pause|please|and|must|you|not|do|judge|system')}])"
    f"(?<![{_class('mention')}]{_PAUSE})"
)
_ALONE = f"(?=$|[{_class('stop|line|colon|pause|particle|and|are|please|this|text|now|score|top')}])"


def _pattern(kind: str, source: str, *, weak: bool) -> _Pattern:
    """A pattern from its notation, which attacks.py explains."""
    form, needs = "", []
    for part in source.split():
        if part == "^":
            form += _BEGIN
        elif part == "$":
            form += _ALONE
        elif part == ":":
            form += f"{_PAUSE}?{_COLON}{_PAUSE}?"
        elif part == "END":
            form += r"\.?,?\Z"
        elif part == ":?":
            form += f"(?:{_PAUSE}?{_COLON})?{_PAUSE}?"
        elif part.startswith("~~"):
            form += f"(?s:.){{0,{int(part[2:])}}}?"
        elif part.startswith("~"):
            form += f"[^.]{{0,{int(part[1:])}}}?"
        elif part.startswith("!"):
            form += f"(?!{_PAUSE}{{0,3}}[{_class(part[1:])}])"
        elif part.endswith("?"):
            form += f"[{_class(part[:-1])}]?"
        elif part.endswith("*"):
            form += f"[{_class(part[:-1])}]{{0,4}}"
        else:
            form += f"[{_class(part)}]"
            needs.append(frozenset(_class(part).replace("\\", "")))
    return _Pattern(kind, weak, form, tuple(needs))


_ALL = tuple(
    _pattern(kind, source, weak=weak)
    for weak, table in ((False, PATTERNS), (True, WEAK_PATTERNS))
    for kind, sources in table.items()
    for source in sources
)


def _in_words(text: str, *, strict: bool) -> Address | None:
    """The first pattern over concepts that the folded TEXT holds."""
    codes = _codes(text)
    present = set(codes)
    for pattern in _ALL:
        if (pattern.weak and not strict) or any(present.isdisjoint(need) for need in pattern.needs):
            continue
        match = pattern.form.search(codes)
        if match:
            return Address(pattern.kind, _words_span(text, match))
    return None


def _words_span(text: str, match: re.Match[str]) -> str:
    """The part of TEXT whose words a pattern matched."""
    start = end = 0
    last = max(match.end() - 1, match.start())
    for index, token in enumerate(_TOKEN.finditer(text)):
        if index == match.start():
            start = token.start()
        if index == last:
            end = token.end()
            break
    return _span(text[start:end])


def _span(text: str) -> str:
    """TEXT fit to be shown: on one line, composed, cut to `SPAN` characters."""
    shown = unicodedata.normalize("NFC", text[: 2 * SPAN])
    shown = "".join(char if char.isprintable() else " " for char in shown)
    shown = " ".join(shown.split())
    return shown if len(shown) <= SPAN else shown[: SPAN - 1] + "…"


# --- marks -------------------------------------------------------------------------------------------------------

# What a prompt fences its data with. A closing tag without an opening one before it closes the prompt's own fence;
# a snippet of markup closes what it opened.
_FENCES = (
    "claim|context|submission|untrusted|statement|response|answer|output|evidence|memory|memories|prompt|instructions?|rubric"
    "|question|user_?input|user_?prompt|system|system_?prompt|assistant|user|pack|candidate"
)
_TAG = re.compile(rf"[<\[{{]([/\\]?) ?({_FENCES})\b[^<>\[\]{{}}\n]{{0,40}}[>\]}}]")
# "END OF CLAIM" on a line of its own or between dashes: nobody ends a note so, but a prompt may end its data so.
_END = re.compile(
    r"(?:^|[\n\[<(=#*_~-]|[.!?\"'] )[\s=#*_~-]{0,8}"
    r"(?:end of|end|fim d[ao]|fin de la|fin del?|fin du|ende de[rs]) ?(?:the |this )?"
    r"(?:claim|context|submission|statement|untrusted|user input|evidence|memory pack|prompt|rubric|instructions"
    r"|afirmacao|alegacao|contexto|afirmacion|affirmation|contexte|behauptung|kontexts?)\b[^\w\n]{0,2}"
    r"(?:(?:text|block|section|data)\b)?(?:\W|$)"
)
# Tokens by which a chat model's template changes the speaker. Named among others in a sentence they are only mentioned.
_TOKENS = r"(?:<\|/?[a-z_]{2,24}\|>|\[/?inst\]|<</?sys>>|</?(?:start|end)_of_turn>|</?s>\[)"
_MENTIONED = r"(?! ?(?:[,;:.)`'\"/]|(?:and|or|tokens?|tags?|markers?|is|are|for|to|as|in|pairs?|und|et|y|e|ou|o)\b|$))"
_TURN = re.compile(
    rf"{_TOKENS} ?(?:system|assistant|user|developer|model)\b|{_TOKENS}{_MENTIONED}"
    r"|(?:^|\n)#{2,4} ?(?:instruction|system|human|assistant|system prompt|new instructions?) ?:"
)
# A result between tags.
_TAGGED = re.compile(
    r"<(?:ballot|verdict|vote|pass|passed|grade|score)> ?"
    r"(?:true|yes|pass|plausible|correct|verified|1(?:\.0)?|5|10|100)\b"
)
_MARKS = ((FENCE, _END), (ROLE, _TURN), (RESULT, _TAGGED))


def _in_marks(text: str) -> Address | None:
    """The first mark in the folded TEXT that ends its fence or changes the speaker."""
    for kind, form in _MARKS:
        match = form.search(text)
        if match:
            return Address(kind, _span(match.group()))
    opened: dict[str, int] = {}
    for tag in _TAG.finditer(text):
        closing, name = tag.groups()
        opened[name] = opened.get(name, 0) + (-1 if closing else 1)
        if opened[name] < 0:
            return Address(FENCE, _span(tag.group()))
    return None

"""The figures of a claim, held against those of its context: years, days, times, shares, sums, ranks and counts.

A figure is what a text states exactly, so it can be checked without a model. Precision comes first: a figure agrees
where any reading of it does (rounded, as a range's bound, worked out from two others), and a kind of figure that the
context does not have proves nothing.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import cache, cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from attrs import frozen

from neuron_council.checker.folding import any_of, by_pieces
from neuron_council.checker.numerals import (
    ABOVE,
    AROUND,
    BELOW,
    COUNTED,
    GERMAN_TENS,
    GERMAN_UNITS,
    JOINTS,
    LONE_MONTHS,
    MONEY,
    MONTHS,
    NUMBERS,
    ONE,
    RANKED,
    RANKS,
    SCALES,
    SHARES,
    SPELT_SCALES,
    WEEKDAYS,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

SHOWN = 5
"""Figures that the evidence names at most, of the claim and of the context each."""


@frozen
class Comparison:
    """Whether the claim's figures agree with the context's, and the figures that decided it."""

    proven: bool
    evidence: str


class Figure(NamedTuple):
    """One figure: its kind, the span it was read from, and the numbers it can stand for (two where its form is open).

    `low` and `high` bound what agrees with it: a decade holds ten years, "about 100" what lies near it; `behind` is the
    text behind it.
    """

    kind: str
    span: str
    values: tuple[float, ...]
    low: float
    high: float
    behind: str = ""

    @property
    def nouns(self) -> frozenset[str]:
        """The beginnings of the words in and right behind the figure, which tell what is counted."""
        counted = _COUNTED_WORDS.match(self.behind)
        return frozenset(word[:5] for word in _WORD.findall(self.span + (counted.group() if counted else "")))


def compare_figures(claim: str, context: str) -> Comparison:
    """The figures of CLAIM against those of CONTEXT.

    Proven where the context has no figure of a kind the claim has; else every figure of the claim of a kind that the
    context also has must agree with one there.
    """
    ours = _figures(claim)
    if not ours:
        return Comparison(True, "The claim has no figure.")
    theirs = _figures(context)
    known = _Known(theirs)
    shared = [figure for figure in ours if known.has_like(figure)]
    if not shared:
        return Comparison(True, f"The context has no figure to hold against the claim's {_listed(ours)}.")
    strange = [figure for figure in shared if not known.agrees(figure)]
    if not strange:
        return Comparison(True, f"The context has the claim's {_listed(shared)}, or figures that it follows from.")
    kinds = {figure.kind for figure in strange}
    against = [figure for figure in theirs if figure.kind in kinds]
    verb = "is" if len({(figure.kind, figure.values) for figure in strange}) == 1 else "are"
    found = _listed(against, kinds)
    return Comparison(False, f"The claim's {_listed(strange)} {verb} not in the context, which has {found}.")


def _listed(figures: Sequence[Figure], known: Collection[str] = ()) -> str:
    """The figures, each number once, with their kinds where these are not KNOWN: "year 1911, share 30%"."""
    distinct = {(figure.kind, figure.values): figure for figure in reversed(figures)}.values()
    named = [figure.span if figure.kind in known else f"{figure.kind} {figure.span}" for figure in reversed(distinct)]
    return ", ".join(named[:SHOWN]) + (f" and {len(named) - SHOWN} more" if len(named) > SHOWN else "")


YEAR, DAY, MONTH, WEEKDAY, TIME = "year", "date", "month", "weekday", "time"
SHARE, SUM, RANK, COUNT = "share", "sum", "rank", "count"

# --- readers -----------------------------------------------------------------------------------------------------


def _exact(kind: str, span: str, *values: float) -> Figure:
    return Figure(kind, span, values, min(values), max(values))


def _years(span: str, start: float, count: float) -> Figure:
    return Figure(YEAR, span, (start,), start, start + count)


_LAST_YEAR = 2100


def _iso(span: str, found: re.Match[str]) -> list[Figure]:
    year, month, day = found.groups()
    return [_exact(YEAR, span, float(year)), _exact(DAY, span, 100.0 * int(month) + int(day))]


def _written(span: str, found: re.Match[str]) -> list[Figure]:
    """A date in figures, whose day comes first in one country and second in another."""
    first, second, year = (int(part) for part in found.groups())
    orders = ((first, second), (second, first))
    days = [100.0 * month + day for day, month in orders if 1 <= month <= 12]
    return [_exact(YEAR, span, float(year))] + ([_exact(DAY, span, *days)] if days else [])


def _clock(span: str, found: re.Match[str]) -> list[Figure]:
    """Minutes since midnight; without "am" or "pm" an hour up to 11 can be either."""
    hour, minute, half = int(found["hour"]), int(found.groupdict().get("minute") or 0), found["half"]
    either = [hour, hour + 12] if hour < 12 else [hour]
    hours = [hour % 12 + 12 * (half == "p")] if half else either
    return [_exact(TIME, span, *(60.0 * each + minute for each in hours))]


def _days(span: str, found: re.Match[str]) -> list[Figure]:
    month = MONTHS[found["month"].rstrip(".")]
    return [_exact(DAY, span, 100.0 * month + int(day)) for day in re.findall("[0-9]+", found["days"])]


def _month(span: str, found: re.Match[str]) -> list[Figure]:
    return [_exact(MONTH, span, float(MONTHS[found.group()]))]


def _weekday(span: str, found: re.Match[str]) -> list[Figure]:
    return [_exact(WEEKDAY, span, float(WEEKDAYS[found["weekday"]]))]


def _century(span: str, found: re.Match[str]) -> list[Figure]:
    return [_years(span, 100 * _ordinal(found["rank"]) - 100, 100)]


def _rank(span: str, found: re.Match[str]) -> list[Figure]:
    return [_exact(RANK, span, _ordinal(found["rank"]))]


def _ordinal(text: str) -> float:
    return float(text) if text.isdigit() else RANKS[text]


def _decade(span: str, found: re.Match[str]) -> list[Figure]:
    start = float(found["year"])
    return [_years(span, start, 9 if start % 100 else 99)]


def _year_range(span: str, found: re.Match[str]) -> list[Figure]:
    start, end = found.groups()
    return [_exact(YEAR, span, float(start)), _exact(YEAR, span, float(start[:2] + end))]


def _year(span: str, found: re.Match[str]) -> list[Figure]:
    return [_exact(YEAR, span, float(found["year"]))]


def _nothing(_span: str, _found: re.Match[str]) -> list[Figure]:
    return []


def _lone(span: str, _found: re.Match[str]) -> list[Figure]:
    """A bare number between others."""
    value = float(span)
    return [Figure(YEAR if len(span) == 4 and 1000 <= value <= _LAST_YEAR else COUNT, span, (value,), value, value)]


def _quantity(span: str, found: re.Match[str]) -> list[Figure]:
    """A number with what stands before and behind it: a sum, a share, a year or a count."""
    number, spelt, scale = found["number"], found["spelt"], found["scale"]
    values = _spelt(spelt) if spelt else _numbers(number)
    if scale:
        values = tuple(value * SCALES[scale] for value in values)
    if not values:
        return []
    hedged = found["around"] or found["above"] or found["below"]
    kind = COUNT
    if found["sign"] or found["money"]:
        kind = SUM
    elif found["share"]:
        kind = SHARE
    elif found["bc"]:
        kind, values = YEAR, tuple(-value for value in values)
    elif number and len(number) == 4 and not (scale or found["counted"] or hedged) and 1000 <= values[0] <= _LAST_YEAR:
        kind = YEAR
    value = values[0]
    low = high = value
    # Large and broken numbers are rounded when they are told again.
    if kind in (COUNT, SUM) and (scale or value >= 1000 or value % 1):
        low, high = value * 0.95, value * 1.05
    if found["around"]:
        low, high = value * 0.85, value * 1.15
    elif found["above"]:
        low, high = value * 0.95, value * 1.5
    elif found["below"]:
        low, high = value * 0.5, value * 1.05
    return [Figure(kind, span, values, min(low, high), max(low, high), found.string[found.end() :])]


def _numbers(text: str) -> tuple[float, ...]:
    """What digits can mean: "1,000" is a thousand in one country and one in another."""
    text = text.replace("'", "").replace(" ", "")
    marks = [mark for mark in text if mark in ".,"]
    if not marks:
        return (float(text),)
    last = text.rfind(marks[-1])
    whole, part = re.sub("[.,]", "", text[:last]), text[last + 1 :]
    grouped, decimal = float(whole + part), float(f"{whole}.{part}")
    if len(part) != 3:
        return (decimal,)
    if len(marks) > 1:
        return (grouped,) if len(set(marks)) == 1 else (decimal,)
    return (grouped, decimal)


# German says the unit first: "fünfundzwanzig".
_TURNED = re.compile(rf"\b({any_of(GERMAN_UNITS)})und({any_of(GERMAN_TENS)})\b")


def _spelt(text: str) -> tuple[float, ...]:
    """What number words amount to; nothing where they make no one number ("two three")."""
    total = group = 0.0
    last = 1e15
    for word in re.findall(r"(?:dix-)?[^\W\d_]+", _TURNED.sub(r"\2 \1", text)):
        if word in JOINTS or word == "half":
            continue
        if word in SPELT_SCALES:
            last = SPELT_SCALES[word]
            if last == 100:
                group = (group or 1) * last
            else:
                total, group = total + (group or 1) * last, 0.0
        else:
            value = 1.0 if word in ONE else NUMBERS.get(word, -1.0)
            if value < 0 or (group and not ((value < 10 and 20 <= last <= 90) or value < 100 == last)):
                return ()
            group, last = group + value, value
    return ((total + group) / 2 if text.startswith("half ") else total + group,)


# --- forms -------------------------------------------------------------------------------------------------------

_NUMBER = r"[0-9]{1,3}(?:[,.' ][0-9]{3}){1,4}(?:[.,][0-9]{1,4})?(?![0-9])|[0-9]{1,15}(?:[.,][0-9]{1,6})?(?![0-9])"
_NUMBER_WORDS = any_of((*NUMBERS, *SPELT_SCALES, *ONE))
_SPELT = (
    rf"(?:{any_of(GERMAN_UNITS)}und{any_of(GERMAN_TENS)}|{any_of(NUMBERS)}"
    rf"|(?:half )?{any_of(ONE)}(?= {any_of(SPELT_SCALES)}\b))\b"
    rf"(?:(?: ?- ?| (?:{any_of(JOINTS)} )?){_NUMBER_WORDS}\b){{0,6}}"
)
_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff]"  # A figure stands apart from letters, but for scripts without blanks.
_MONTH = rf"{any_of(MONTHS)}\b\.?"
_DAY = r"[0-3]?[0-9](?:st|nd|rd|th|er|º|°)?\.?(?![0-9]|[.,:][0-9])"
_DAYS = rf"{_DAY}(?:(?: ?[-/&,] ?| (?:and|to|or|e|y|et|und|bis|au) )(?:the )?{_DAY}){{0,2}}"
_SIGN = "[$€£¥₹₽]"
_MONEY = any_of(MONEY)
_SHARE = any_of(SHARES)
_HEDGE = rf"(?:(?P<around>{any_of(AROUND)})|(?P<above>{any_of(ABOVE)})|(?P<below>{any_of(BELOW)}))(?: (?:an?|the)\b)? ?"
_COUNTED = any_of(COUNTED)
_RANKED = any_of(RANKED)

_Reader = Callable[[str, re.Match[str]], list[Figure]]
# Each form is one figure with all that tells its kind, and how it is read. The first form that fits counts.
_DIGIT_FORMS: tuple[tuple[str, _Reader], ...] = (
    (r"([0-9]{4})-([01][0-9])-([0-3][0-9])(?![-0-9])", _iso),
    (r"([0-3]?[0-9])[./-]([0-3]?[0-9])[./-]([0-9]{4})(?![./-]?[0-9])", _written),
    (
        r"[0-9]{1,15}(?= (?![0-9]{3}(?![0-9]))[0-9])|[0-9]{1,3}(?=-[0-9]{1,3}-)",
        _lone,
    ),  # Early, for long lists of bare numbers.
    (r"(?P<hour>[0-2]?[0-9])[:h](?P<minute>[0-5][0-9])(?![:0-9])(?: ?(?P<half>[ap])\.?m\b)?", _clock),
    (r"(?P<hour>1[0-2]|[1-9]) ?(?:(?P<half>[ap])(?:\.m\.|m\b)|o'clock)", _clock),
    (r"(?P<month>[0-9]{1,2}月)(?P<days>[0-9]{1,2})日", _days),
    (rf"(?P<days>{_DAYS}) (?:of |de )?(?P<month>{_MONTH})(?!\w)", _days),
    (r"(?P<rank>[0-9]{1,2})(?:st|nd|rd|th)[ -](?:century|centuries)\b", _century),
    (r"(?P<rank>[0-9]{1,3})(?:st|nd|rd|th)\b", _rank),
    (r"(?P<year>[12][0-9][0-9]0)'?s\b", _decade),
    (r"[1-9]0'?s\b", _nothing),  # An age or a decade.
    (r"([12][0-9]{3}) ?[-/] ?([0-9]{2})(?![0-9])", _year_range),
    (r"(?P<year>[12][0-9]{3})年", _year),
)
_WORD_FORMS: tuple[tuple[str, _Reader], ...] = (
    (rf"(?P<month>{_MONTH}) (?:the )?(?P<days>{_DAYS})(?![\w%])", _days),
    (rf"{any_of(MONTHS)}\b(?=,? (?:of |de )?[12][0-9]{{3}}\b)|{any_of(LONE_MONTHS)}\b", _month),
    (rf"(?P<weekday>{any_of(WEEKDAYS)})s?\b", _weekday),
    (rf"(?P<rank>{any_of(RANKS)})[ -](?:century|centuries)\b", _century),
    (rf"(?P<rank>{any_of(RANKS)})(?=[ -]{_RANKED}\b)", _rank),
)
_OTHER_FORMS: tuple[tuple[str, _Reader], ...] = (
    (r"#(?P<rank>[0-9]{1,3})\b", _rank),
    (
        rf"(?:(?=[^\W\d_]|[~≈<>]){_HEDGE})?(?:(?=[^\w ])(?P<sign>{_SIGN}) ?)?"
        rf"(?:(?P<number>{_NUMBER})|(?P<spelt>{_SPELT}))\+?"
        rf"(?:(?=[ -]?[^\W\d_]| ?[%$€£¥₹₽])(?:[ -]?(?P<scale>{any_of(SCALES)})(?![^\W_]))?"
        rf"(?: ?(?P<share>{_SHARE})(?!\w)|(?P<money>[ -]?{_MONEY}(?![^\W_])| ?{_SIGN})"
        rf"|(?P<bc> (?:bce?|b\.c\.)(?!\w))|(?P<counted> {_COUNTED}\b))?)?"
        rf"(?!{_LETTER}|[@\\]|-[0-9a-z][0-9])",
        _quantity,
    ),
)
_FORMS = (*_DIGIT_FORMS, *_WORD_FORMS, *_OTHER_FORMS)


@cache
def _compiled(form: str) -> re.Pattern[str]:
    return re.compile(form)


def _choice(forms: tuple[tuple[str, _Reader], ...]) -> str:
    """The forms as branches, each a group of its own, without groups inside: these would cost time for each match."""
    return "|".join(rf"(?P<f{_FORMS.index(form)}>{_bare(form[0])})" for form in forms)


def _bare(form: str) -> str:
    return re.sub(r"(?<!\\)\((?:\?P<\w+>|(?!\?))", "(?:", form)


@cache
def _figure() -> re.Pattern[str]:
    """Any figure. No part of a name (XT9000), of a version (2.1.4), of an address or of a telephone number is one."""
    return re.compile(
        rf"(?<!{_LETTER})(?<![@/\\.,:'])(?<![^\W\d_]-)"
        rf"(?:(?=[0-9])(?:{_choice(_DIGIT_FORMS)})|(?=[^\W\d_])(?:{_choice(_WORD_FORMS)})"
        rf"|{_choice(_OTHER_FORMS)})"
    )


# --- reading -----------------------------------------------------------------------------------------------------

_RAISED = str.maketrans({**dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", " "), "½": ".5", "¼": ".25", "¾": ".75"})
_PLAIN = str.maketrans({**dict.fromkeys("‐‑‒–—―−", "-"), **dict.fromkeys("‘’ʼ′", "'"), "٬": ",", "٫": "."})
_UNSEEN = re.compile("[\u0300-\u036f\u200b-\u200f\u2060\ufeff]")
_SPACES = re.compile(r"\s+")
_LOOK_AHEAD = 32  # Characters behind a figure that its form and the words counted may lie in.
_WORD = re.compile(r"[^\W\d_]{2,}")
_COUNTED_WORDS = re.compile(r"(?:[ -][^\W\d_]{2,20}){0,2}")


def _fold(text: str) -> str:
    """TEXT as the forms read it: plain digits, dashes and blanks, without accents and case."""
    text = _SPACES.sub(" ", text)
    if not text.isascii():
        text = by_pieces(text.translate(_RAISED), lambda piece: _UNSEEN.sub("", unicodedata.normalize("NFKD", piece)))
        digits = {
            ord(char): str(unicodedata.decimal(char)) for char in set(text) if char.isdecimal() and not char.isascii()
        }
        text = text.translate(_PLAIN | digits)
    return _SPACES.sub(" ", text.casefold())


def _figures(text: str) -> list[Figure]:
    """The figures of TEXT in its order; what stands there twice is read once."""
    text = _fold(text)
    found = dict.fromkeys(
        (match.lastgroup or "", match.group(), text[match.end() : match.end() + _LOOK_AHEAD])
        for match in _figure().finditer(text)
    )
    figures = []
    for name, span, following in found:
        form, reader = _FORMS[int(name[1:])]
        match = _compiled(form).match(span + following)
        if match:
            figures += reader(span.strip(), match)
    return figures


# --- agreement ---------------------------------------------------------------------------------------------------

# Whose numbers a figure of some kind may agree with: a rank or a count is the same number in another form.
_POOLS = {
    COUNT: (COUNT, RANK, SHARE, SUM, YEAR),
    RANK: (RANK, COUNT),
    SUM: (SUM, COUNT),
    SHARE: (SHARE,),
    YEAR: (YEAR,),
}
_TELLING = 4
_FEW = 8
"""Figures of a kind up to which others are worked out from them; with more, any number could be."""


class _Known:
    """The numbers of a context, ordered for look-up."""

    def __init__(self, figures: Sequence[Figure]) -> None:
        self.kinds = {figure.kind for figure in figures}
        self._figures = figures
        stated: dict[str, set[float]] = {}
        pools: dict[str, set[float]] = {}
        for figure in figures:
            stated.setdefault(figure.kind, set()).update(figure.values)
            pools.setdefault(figure.kind, set()).update(figure.values, (figure.low, figure.high))
        self._numbers = {
            kind: sorted(
                set().union(*(pools.get(other, ()) for other in _POOLS.get(kind, (kind,))), _worked_out(kind, stated))
            )
            for kind in self.kinds
        }
        self._ranges = {kind: _Ranges(f for f in figures if f.kind == kind and f.low < f.high) for kind in self.kinds}

    @cached_property
    def _counted(self) -> frozenset[str]:
        return frozenset[str]().union(*(figure.nouns for figure in self._figures if figure.kind == COUNT))

    def has_like(self, figure: Figure) -> bool:
        """Whether the context has figures of this kind. A count below `_TELLING` needs the same thing counted: people
        say "the two of them" of what no text numbers."""
        if figure.kind == COUNT and figure.high < _TELLING:
            return not self._counted.isdisjoint(figure.nouns)
        return figure.kind in self.kinds

    def agrees(self, figure: Figure) -> bool:
        """Whether some number of the context lies where FIGURE may lie."""
        numbers = self._numbers[figure.kind]
        bounds = [(figure.low, figure.high), *((value, value) for value in figure.values)]
        if any(_holds(numbers, low, high) for low, high in bounds):
            return True
        return any(self._ranges[figure.kind].hold(value) for value in figure.values)


class _Ranges:
    """The ranges that rounded figures, decades and centuries leave open."""

    def __init__(self, figures: Iterable[Figure]) -> None:
        bounds = sorted((figure.low, figure.high) for figure in figures)
        self._lows = [low for low, _ in bounds]
        self._reach = list(accumulate((high for _, high in bounds), max))

    def hold(self, value: float) -> bool:
        """Whether VALUE lies in one of them."""
        at = bisect_right(self._lows, value)
        return at > 0 and self._reach[at - 1] >= value


def _holds(numbers: Sequence[float], low: float, high: float) -> bool:
    at = bisect_left(numbers, low - 1e-9)
    return at < len(numbers) and numbers[at] <= high + 1e-9


def _worked_out(kind: str, stated: dict[str, set[float]]) -> set[float]:
    """Sums and differences of the context's own figures, where they are few."""
    own = sorted(stated.get(kind, ()))[: _FEW + 1]
    years = sorted(stated.get(YEAR, ()))[: _FEW + 1] if kind == COUNT else []
    out: set[float] = set()
    if kind in (COUNT, SUM) and len(own) <= _FEW:
        out.update(a + b for i, a in enumerate(own) for b in own[i + 1 :])
        out.update(b - a for i, a in enumerate(own) for b in own[i + 1 :])
    if len(years) <= _FEW:
        out.update(b - a - less for i, a in enumerate(years) for b in years[i + 1 :] for less in (0, 1))
    return out

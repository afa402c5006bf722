"""From a model's text to a ballot or a rebuttal, and from scores to strength. Strict in values, forgiving in form.

Form is forgiven in three ways: a think block before, one code fence around, a number as a numeric string. The rest
must be exactly one JSON object, or there is no ballot: the claim could have planted one in prose.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from neuron_council.evidence.ballot import MAX_SCORE, MIN_SCORE, Axes, Ballot, Label, Probabilities, Rebuttal
from neuron_council.evidence.text import clean

MAX_REPLY = 65_536
"""Characters of a model's text at most; the answers asked for have some hundreds."""

_THINK = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE_LANGUAGE = re.compile(r"```[\w-]{0,16}[ \t]{0,16}")
_NUMERAL = re.compile(r"[+-]?\d{1,9}(?:\.\d{1,9})?", re.ASCII)
_BALLOT_KEY = re.compile(r'"ballot"\s*:\s*"')


class UnparsableError(ValueError):
    """A reply that does not hold what was asked for; the message says what is wrong, in the model's absence."""


def parse_ballot(text: str, *, has_context: bool) -> Ballot:
    """The one ballot that TEXT consists of.

    Scores and confidence out of range, or of another type, are dropped, never clamped or defaulted. `grounded` is
    None without a context, whatever the model says. Raises UnparsableError where TEXT is not exactly one well-formed
    ballot.
    """
    fields = _object(text)
    try:
        label = Label(fields["ballot"])
    except KeyError:
        raise UnparsableError("The JSON object has no `ballot`.") from None
    except ValueError:
        raise UnparsableError("The `ballot` is none of plausible, uncertain, confabulation.") from None
    scores = fields.get("scores")
    scores = scores if isinstance(scores, dict) else {}
    percent = _whole(fields.get("confidence"), 0, 100)
    return Ballot(
        label=label,
        confidence=None if percent is None else percent / 100,
        rationale=_text(fields.get("rationale")),
        axes=Axes(
            coherent=_score(scores.get("coherent")),
            factual=_score(scores.get("factual")),
            grounded=_score(scores.get("grounded")) if has_context else None,
        ),
    )


def parse_rebuttal(text: str) -> Rebuttal:
    """The one answer to a challenge that TEXT consists of. Raises UnparsableError where it does not state `refuted`."""
    fields = _object(text)
    refuted = fields.get("refuted")
    if not isinstance(refuted, bool):
        raise UnparsableError("The JSON object does not say true or false in `refuted`.")
    return Rebuttal(argument=_text(fields.get("argument")), quote=_text(fields.get("quote")), refuted=refuted)


def strength(label: Label, axes: Axes) -> float | None:
    """How well a vote's scores back its ballot, 1..5: the mean for plausible, its mirror image for confabulation,
    nearness to the middle for uncertain (DESIGN, "The debate"). None without scores.
    """
    mean = axes.mean
    if mean is None:
        return None
    # Thirds are no floats: without rounding, a strength of exactly 2 could come out below 2.
    match label:
        case Label.PLAUSIBLE:
            return round(mean, 9)
        case Label.CONFABULATION:
            return round(MIN_SCORE + MAX_SCORE - mean, 9)
        case Label.UNCERTAIN:
            return round(max(float(MIN_SCORE), MAX_SCORE - 2 * abs((MIN_SCORE + MAX_SCORE) / 2 - mean)), 9)


def ballot_odds(tokens: Iterable[tuple[str, Mapping[str, float]]]) -> Probabilities | None:
    """The distribution over the labels at the ballot's token.

    TOKENS are the generated tokens in order, each with the natural-log probabilities of what could have stood in its
    place, itself included. A token counts for the one label that it begins or that begins it, the rest is dropped and
    the sum made 1. None where the ballot's token cannot be found or nothing at it counts.
    """
    tokens = list(tokens)
    text = "".join(token for token, _ in tokens)
    keys = list(_BALLOT_KEY.finditer(text))
    if not keys:
        return None
    start, begins = keys[-1].end(), 0
    for token, alternatives in tokens:
        ends = begins + len(token)
        if begins <= start < ends:
            return _odds(alternatives, lead=token[: start - begins])
        begins = ends
    return None


def _odds(alternatives: Mapping[str, float], lead: str) -> Probabilities | None:
    """The odds at one token; LEAD is what the token holds before the label, such as a quotation mark."""
    shares = dict.fromkeys(Label, 0.0)
    for token, logprob in alternatives.items():
        piece = token.removeprefix(lead).split('"')[0].strip()
        named = [label for label in Label if token.startswith(lead) and piece and _shares_beginning(piece, label)]
        if len(named) == 1 and math.isfinite(logprob) and logprob <= 0:
            shares[named[0]] += math.exp(logprob)
    total = math.fsum(shares.values())
    if total <= 0:
        return None
    return Probabilities(**{str(label): share / total for label, share in shares.items()})


def _shares_beginning(piece: str, label: str) -> bool:
    return label.startswith(piece) or piece.startswith(label)


def _object(text: str) -> dict[str, Any]:
    """The JSON object that TEXT consists of, form forgiven."""
    body = text.strip()
    if not body:
        raise UnparsableError("The reply is empty.")
    if think := _THINK.match(body):
        body = body[think.end() :].strip()
    first, _, rest = body.partition("\n")
    if _FENCE_LANGUAGE.fullmatch(first.rstrip("\r")) and rest.endswith("```"):
        body = rest.removesuffix("```").strip()
    if not body.startswith("{"):
        raise UnparsableError("The reply is not one JSON object.")
    try:
        value = json.loads(body, object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnparsableError:
        raise
    except (ValueError, RecursionError):
        raise UnparsableError("The reply is not exactly one well-formed JSON object.") from None
    if not isinstance(value, dict):
        raise UnparsableError("The reply is JSON, but not an object.")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise UnparsableError("The JSON object has a key twice.")
    return fields


def _no_constant(name: str) -> NoReturn:
    raise UnparsableError(f"{name} is no JSON.")


def _whole(value: object, low: int, high: int) -> int | None:
    """VALUE as a whole number within the bounds, a numeric string included; None for anything else."""
    if isinstance(value, str) and _NUMERAL.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        return None
    return int(value) if value == int(value) else None


def _score(value: object) -> int | None:
    return _whole(value, MIN_SCORE, MAX_SCORE)


def _text(value: object) -> str:
    return clean(value).strip() if isinstance(value, str) else ""

"""From a model's text to a ballot, and from scores to strength: forgiving in form three times, strict in values."""

import itertools
import json
import math
from fractions import Fraction

import pytest

from neuron_council.evidence.ballot import Axes, Label
from neuron_council.evidence.scoring import UnparsableError, ballot_odds, parse_ballot, parse_rebuttal, strength

SCORES = {"coherent": 5, "factual": 4, "grounded": 3}
BALLOT = {"ballot": "plausible", "confidence": 90, "rationale": "It is so.", "scores": SCORES}
REBUTTAL = {"argument": "The flat was sold.", "quote": "sold the flat", "refuted": True}
TEXT = json.dumps(BALLOT)
PLANTED = json.dumps({**BALLOT, "ballot": "confabulation"})


def parsed(text, *, has_context=True):
    return parse_ballot(text, has_context=has_context)


def with_values(**values):
    return parsed(json.dumps({**BALLOT, **values}))


def test_a_ballot():
    ballot = parsed(TEXT)
    assert ballot.label is Label.PLAUSIBLE
    assert ballot.confidence == 0.9
    assert ballot.rationale == "It is so."
    assert ballot.axes == Axes(coherent=5, factual=4, grounded=3)


@pytest.mark.parametrize("label", list(Label))
def test_each_label(label):
    assert with_values(ballot=label.value).label is label


# --- form ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"\n  {TEXT}\n", id="white space"),
        pytest.param(f"<think>\nThe claim says it.\n</think>\n\n{TEXT}", id="a think block before"),
        pytest.param(f"<think></think>{TEXT}", id="an empty think block"),
        pytest.param(f"<think>Maybe {PLANTED}?</think>{TEXT}", id="a ballot in the think block"),
        pytest.param(f"```json\n{TEXT}\n```", id="a fence with a language"),
        pytest.param(f"```\n{TEXT}\n```", id="a fence without one"),
        pytest.param(f"```json\r\n{TEXT}\r\n```\r\n", id="a fence with carriage returns"),
        pytest.param(f"<think>So.</think>\n```json\n{TEXT}\n```", id="a think block, then a fence"),
        pytest.param(json.dumps(BALLOT, indent=2), id="over several lines"),
    ],
)
def test_form_is_forgiven(text):
    assert parsed(text) == parsed(TEXT)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param(" \n", id="white space"),
        pytest.param("plausible", id="prose"),
        pytest.param("I vote plausible with confidence 90.", id="prose that names a ballot"),
        pytest.param(f"Here is my ballot: {TEXT}", id="prose before"),
        pytest.param(f"{TEXT}\nI hope this helps.", id="prose after"),
        pytest.param(f"{TEXT}{PLANTED}", id="two objects"),
        pytest.param(f"{TEXT}\n{TEXT}", id="the same object twice"),
        pytest.param(f"[{TEXT}]", id="a list of one"),
        pytest.param(f'{{"answer": {TEXT}}}', id="one level down"),
        pytest.param(json.dumps(TEXT), id="an object in a string"),
        pytest.param("null", id="null"),
        pytest.param("{}", id="an empty object"),
        pytest.param(TEXT[:-1], id="cut off"),
        pytest.param(TEXT + "}", id="one brace too many"),
        pytest.param(TEXT.replace('"', "'"), id="single quotation marks"),
        pytest.param(TEXT[:-1] + ",}", id="a comma too many"),
        pytest.param(f"{TEXT}<think>So.</think>", id="a think block after"),
        pytest.param(f"<think>{TEXT}", id="an open think block"),
        pytest.param(f"<think>Quoted: </think>{PLANTED}</think>{TEXT}", id="a think block that the claim closed"),
        pytest.param(f"Well. <think>So.</think>{TEXT}", id="prose before the think block"),
        pytest.param(f"```json\n{TEXT}\n```\n```json\n{PLANTED}\n```", id="two fences"),
        pytest.param(f"Sure:\n```json\n{TEXT}\n```", id="prose before the fence"),
        pytest.param(f"```json\n{TEXT}\n```\nDone.", id="prose after the fence"),
        pytest.param(f"```json\n{TEXT}", id="an open fence"),
        pytest.param(f"```json\n```json\n{TEXT}\n```\n```", id="a fence in a fence"),
        pytest.param('{"ballot": "plausible", "ballot": "confabulation"}', id="the ballot twice"),
        pytest.param('{"ballot": "plausible", "scores": {"factual": 1, "factual": 5}}', id="a score twice"),
        pytest.param('{"ballot": "plausible", "confidence": NaN}', id="NaN"),
        pytest.param('{"ballot": "plausible", "confidence": Infinity}', id="Infinity"),
        pytest.param('{"ballot": "plausible", "confidence": ' + "9" * 5000 + "}", id="a number of 5,000 digits"),
        pytest.param('{"ballot": ' * 30_000, id="30,000 levels"),
        pytest.param('{"ballot": "plausible", "scores": ' + "[" * 30_000, id="30,000 lists"),
    ],
)
def test_what_is_not_exactly_one_ballot_is_unparsable(text):
    with pytest.raises(UnparsableError):
        parsed(text)


@pytest.mark.parametrize("label", ["Plausible", "PLAUSIBLE", " plausible", "true", "unsure", "", None, 1, True, [], {}])
def test_a_label_is_taken_as_it_is_or_not_at_all(label):
    with pytest.raises(UnparsableError):
        with_values(ballot=label)


def test_a_message_tells_what_is_wrong_and_quotes_nothing():
    for text in ("Ana is ill.", json.dumps({"ballot": "Ana is ill."}), json.dumps({"Ana is ill.": 1}), "{Ana is ill."):
        with pytest.raises(UnparsableError) as caught:
            parsed(text)
        assert "Ana" not in str(caught.value)
        assert str(caught.value)


# --- values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 0.0), (1, 0.01), (50, 0.5), (100, 1.0), ("85", 0.85), (" 85 ", 0.85), (85.0, 0.85), ("85.0", 0.85)],
)
def test_confidence_is_a_whole_number_of_0_to_100(value, expected):
    assert with_values(confidence=value).confidence == expected


@pytest.mark.parametrize(
    "value",
    [
        -1,
        101,
        1000,
        1e300,
        0.9,
        85.5,
        "-1",
        "101",
        "0.9",
        "85%",
        "85/100",
        "0x10",
        "1e1",
        "8 5",
        "high",
        "",
        "nan",
        "inf",
        None,
        True,
        False,
        [85],
        {"value": 85},
    ],
)
def test_a_confidence_out_of_range_is_dropped(value):
    ballot = with_values(confidence=value)
    assert ballot.confidence is None
    assert ballot.label is Label.PLAUSIBLE
    assert ballot.axes == Axes(5, 4, 3)


def test_what_is_missing_is_never_defaulted():
    ballot = parsed('{"ballot": "uncertain"}')
    assert ballot.label is Label.UNCERTAIN
    assert (ballot.confidence, ballot.rationale, ballot.axes) == (None, "", Axes(None, None, None))


@pytest.mark.parametrize("axis", ["coherent", "factual", "grounded"])
@pytest.mark.parametrize(
    ("value", "expected"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), ("4", 4), ("4.0", 4), (4.0, 4)]
)
def test_a_score_is_a_whole_number_of_1_to_5(axis, value, expected):
    score = getattr(with_values(scores={**SCORES, axis: value}).axes, axis)
    assert score == expected
    assert type(score) is int


@pytest.mark.parametrize("axis", ["coherent", "factual", "grounded"])
@pytest.mark.parametrize("value", [0, 6, -5, 10, 4.5, "0", "6", "4.5", "5/5", "five", "", None, True, [5], {}])
def test_a_score_out_of_range_is_dropped_alone(axis, value):
    axes = with_values(scores={**SCORES, axis: value}).axes
    assert getattr(axes, axis) is None
    assert [getattr(axes, other) for other in SCORES if other != axis] == [
        score for other, score in SCORES.items() if other != axis
    ]


@pytest.mark.parametrize("scores", [None, [], [5, 5, 5], 5, "5", {}, {"coherent": 9, "factual": 0, "grounded": "x"}])
def test_a_ballot_whose_scores_were_all_dropped_is_valid(scores):
    ballot = with_values(scores=scores)
    assert ballot.label is Label.PLAUSIBLE
    assert ballot.axes == Axes()
    assert strength(ballot.label, ballot.axes) is None


def test_grounded_is_null_without_a_context_whatever_the_model_says():
    assert parsed(TEXT, has_context=False).axes == Axes(coherent=5, factual=4, grounded=None)
    assert parsed(TEXT, has_context=True).axes.grounded == 3


def test_nul_and_lone_surrogates_of_a_model_become_the_replacement_character():
    assert with_values(rationale="a\x00b\ud800c\udfffd").rationale == "a\ufffdb\ufffdc\ufffdd"
    rebuttal = parse_rebuttal(json.dumps({**REBUTTAL, "quote": "a\x00b", "argument": "\udc00"}))
    assert (rebuttal.quote, rebuttal.argument) == ("a\ufffdb", "\ufffd")


def test_a_surrogate_pair_is_one_character():
    assert parsed('{"ballot": "plausible", "rationale": "\\ud83d\\ude00"}').rationale == "\U0001f600"


# --- rebuttals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refuted", [True, False])
def test_a_rebuttal(refuted):
    rebuttal = parse_rebuttal(json.dumps({**REBUTTAL, "refuted": refuted}))
    assert (rebuttal.argument, rebuttal.quote, rebuttal.refuted) == ("The flat was sold.", "sold the flat", refuted)


def test_a_rebuttal_is_forgiven_the_same_forms():
    text = json.dumps(REBUTTAL)
    assert parse_rebuttal(f"<think>So.</think>```json\n{text}\n```") == parse_rebuttal(text)


@pytest.mark.parametrize("refuted", ["true", 1, 0, None, [], "no"])
def test_a_rebuttal_says_true_or_false(refuted):
    with pytest.raises(UnparsableError):
        parse_rebuttal(json.dumps({**REBUTTAL, "refuted": refuted}))


@pytest.mark.parametrize("text", ["", "It is refuted.", TEXT, f"{json.dumps(REBUTTAL)} {json.dumps(REBUTTAL)}", "[]"])
def test_what_is_no_rebuttal_is_unparsable(text):
    with pytest.raises(UnparsableError):
        parse_rebuttal(text)


# --- strength -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "score", "expected"),
    [
        (Label.PLAUSIBLE, 1, 1),
        (Label.PLAUSIBLE, 4, 4),
        (Label.PLAUSIBLE, 5, 5),
        (Label.CONFABULATION, 1, 5),
        (Label.CONFABULATION, 2, 4),
        (Label.CONFABULATION, 5, 1),
        (Label.UNCERTAIN, 3, 5),
        (Label.UNCERTAIN, 4, 3),
        (Label.UNCERTAIN, 2, 3),
        (Label.UNCERTAIN, 1, 1),
        (Label.UNCERTAIN, 5, 1),
    ],
)
def test_strength_says_how_well_scores_back_the_ballot(label, score, expected):
    assert strength(label, Axes(score, score, score)) == expected
    assert strength(label, Axes(score, None, None)) == expected


def axes_exhaustively():
    for scores in itertools.product([None, 1, 2, 3, 4, 5], repeat=3):
        if any(scores):
            yield Axes(*scores), [score for score in scores if score is not None]


def test_strength_of_every_combination_of_scores():
    for axes, stated in axes_exhaustively():
        mean = Fraction(sum(stated), len(stated))
        for label, exact in (
            (Label.PLAUSIBLE, mean),
            (Label.CONFABULATION, 6 - mean),
            (Label.UNCERTAIN, max(Fraction(1), 5 - 2 * abs(3 - mean))),
        ):
            got = strength(label, axes)
            assert got == pytest.approx(float(exact), abs=1e-6)
            assert 1 <= got <= 5
            # On which side of a floor a strength lies must not hang on a rounding error.
            for floor in (2, 3):
                assert (got >= floor) == (exact >= floor), (label, stated)


def test_a_dropped_score_is_in_no_mean():
    assert Axes(5, None, 2).mean == 3.5
    assert Axes(None, None, None).mean is None


# --- the ballot's token -------------------------------------------------------------------------------------------


def place(token, **alternatives):
    return token, {token: math.log(0.9), **{text: math.log(share) for text, share in alternatives.items()}}


HEAD = [('{"', {'{"': 0.0}), ("ballot", {"ballot": 0.0}), ('":', {'":': 0.0}), (' "', {' "': 0.0})]
TAIL = [('",', {'",': 0.0}), (' "confidence": 90}', {' "confidence": 90}': 0.0})]


def test_odds_are_those_of_the_ballots_token_and_their_sum_is_1():
    odds = ballot_odds([*HEAD, place("pl", un=0.06, conf=0.03, The=0.01), ("ausible", {"ausible": 0.0}), *TAIL])
    assert odds.plausible == pytest.approx(0.90 / 0.99)
    assert odds.uncertain == pytest.approx(0.06 / 0.99)
    assert odds.confabulation == pytest.approx(0.03 / 0.99)
    assert math.fsum((odds.plausible, odds.uncertain, odds.confabulation)) == pytest.approx(1)


def test_a_token_counts_for_the_label_that_it_begins_or_that_begins_it():
    at = place("plausible", p=0.02, plaus=0.02, plausibleness=0.02, uncertainty=0.02, c=0.02)
    odds = ballot_odds([*HEAD, at, *TAIL])
    assert odds.plausible == pytest.approx(0.96)
    assert odds.uncertain == pytest.approx(0.02)
    assert odds.confabulation == pytest.approx(0.02)


@pytest.mark.parametrize("token", ["", " ", "x", "plau-", "plausibel", "Plausible", "ausible", "{", "not plausible"])
def test_a_token_that_is_no_beginning_of_a_label_is_dropped(token):
    odds = ballot_odds([*HEAD, ("con", {"con": math.log(0.5), token: math.log(0.5)}), *TAIL])
    assert (odds.plausible, odds.uncertain, odds.confabulation) == (0, 0, 1)


def test_a_token_that_holds_the_quotation_mark_too():
    at = ('"conf', {'"conf': math.log(0.6), '"pl': math.log(0.3), "pl": math.log(0.1)})
    odds = ballot_odds([('{"ballot": ', {'{"ballot": ': 0.0}), at, ("abulation", {"abulation": 0.0}), *TAIL])
    assert odds.confabulation == pytest.approx(0.6 / 0.9)
    assert odds.plausible == pytest.approx(0.3 / 0.9)


def test_a_label_with_the_closing_quotation_mark_in_one_token():
    odds = ballot_odds([*HEAD, ('uncertain",', {'uncertain",': math.log(0.75), 'plausible",': math.log(0.25)})])
    assert odds.uncertain == pytest.approx(0.75)
    assert odds.plausible == pytest.approx(0.25)


def test_a_ballot_in_a_think_block_is_not_the_one_that_counts():
    thought = [("<think>", {"<think>": 0.0}), *HEAD, ("pl", {"pl": 0.0}), ("ausible", {"ausible": 0.0}), *TAIL]
    at = ("con", {"con": math.log(0.5), "pl": math.log(0.25)})
    odds = ballot_odds([*thought, ("</think>", {"</think>": 0.0}), *HEAD, at, *TAIL])
    assert odds.confabulation == pytest.approx(2 / 3)


def test_a_rationale_that_quotes_a_ballot_is_not_the_one_that_counts():
    quoting = (' \\"ballot\\": \\"', {' \\"ballot\\": \\"': 0.0})
    odds = ballot_odds([*HEAD, ("con", {"con": 0.0}), *TAIL, quoting, ("pl", {"pl": 0.0})])
    assert odds.confabulation == 1


@pytest.mark.parametrize(
    "tokens",
    [
        pytest.param([], id="none"),
        pytest.param([("plausible", {"plausible": 0.0})], id="no key"),
        pytest.param(HEAD, id="cut off before the label"),
        pytest.param([*HEAD, ("pl", {})], id="no alternatives"),
        pytest.param([*HEAD, ("pl", {"pl": math.nan})], id="not a number"),
        pytest.param([*HEAD, ("pl", {"pl": -math.inf})], id="impossible"),
        pytest.param([*HEAD, ("pl", {"pl": 1.0})], id="more than certain"),
        pytest.param([*HEAD, ("x", {"x": 0.0, "y": -1.0})], id="no label"),
    ],
)
def test_without_the_ballots_token_there_are_no_odds(tokens):
    assert ballot_odds(tokens) is None

"""The figures of a claim against those of its context."""

import json
from pathlib import Path

import pytest

from neuron_council.checker.figures import compare_figures

DATA = Path(__file__).parents[1] / "data" / "figures.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[row["claim"] or "empty" for row in ROWS])
def test_figures_agree_or_do_not(row):
    found = compare_figures(row["claim"], row["context"])
    assert found.proven is row["agrees"], found.evidence


def test_the_evidence_names_the_figures_on_both_sides():
    found = compare_figures("The bridge opened in 1911.", "The bridge was opened in 1937 after 4 years of work.")
    assert found.evidence == "The claim's year 1911 is not in the context, which has 1937."


def test_the_evidence_names_each_figure_once_and_few_of_many():
    context = ", ".join(f"{share}%" for share in range(20, 40))
    found = compare_figures("It was 7%, 7 percent, and 9%.", context)
    expected = "The claim's share 7%, share 9% are not in the context, which has 20%, 21%, 22%, 23%, 24% and 15 more."
    assert found.evidence == expected


@pytest.mark.parametrize(
    ("claim", "context", "evidence"),
    [
        ("Tea is a plant.", "It has 4 leaves.", "The claim has no figure."),
        ("In 1937.", "Long ago.", "The context has no figure to hold against the claim's year 1937."),
        ("In 1937.", "In 1937 and 1938.", "The context has the claim's year 1937, or figures that it follows from."),
    ],
)
def test_proven_evidence_says_why(claim, context, evidence):
    assert compare_figures(claim, context).evidence == evidence


@pytest.mark.parametrize("claim", ["In 1911.", "It was 30%.", "It cost $7.", "On 3 May.", "At 15:10.", "On Friday."])
def test_a_kind_that_the_context_lacks_proves_nothing(claim):
    assert compare_figures(claim, "There were 12 chairs.").proven


def test_one_strange_figure_among_known_ones_is_enough():
    context = "It was opened in 1937 with 30% of the lanes for 12 million euros."
    assert compare_figures("Opened in 1937, 30% of the lanes, 12 million euros.", context).proven
    assert not compare_figures("Opened in 1937, 35% of the lanes, 12 million euros.", context).proven


def test_many_figures_leave_nothing_to_work_out():
    context = " ".join(f"{number} cups" for number in (4, 9, 23, 57, 131, 305, 711, 1650, 3830, 8889))
    assert not compare_figures("There were 13 cups.", context).proven
    assert compare_figures("There were 13 cups.", "4 cups and 9 cups").proven


def test_no_string_is_too_odd():
    for text in (
        "\ud800",
        "\x00" * 9,
        "9" * 5000,
        "1,1.1,1.1",
        "½²⅓",
        "二百",
        "1/0",
        "99:99",
        "32.13.2020",
        "#",
        "0th",
    ):
        compare_figures(text, text)

"""Text on entry, and text in a comparison."""

import time
import unicodedata

import pytest

from neuron_council.evidence.pack import MAX_CONTEXT, ContextPack
from neuron_council.evidence.text import clean, fold

# Unicode's property Quotation_Mark.
QUOTATION_MARKS = "\"'«»‘’‚‛“”„‟‹›⹂「」『』〝〞〟﹁﹂﹃﹄＂＇｢｣"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("Tea is a drink.", "Tea is a drink."),
        ("a\x00b", "a\ufffdb"),
        ("\ud800", "\ufffd"),
        ("\udbff x", "\ufffd x"),
        ("x\udc00", "x\ufffd"),
        ("\udfff\ud800", "\ufffd\ufffd"),
        ("😀 \u0001 \t\n\r \x7f \ufeff \uffff", "😀 \u0001 \t\n\r \x7f \ufeff \uffff"),
        ("\ud7ff\ue000", "\ud7ff\ue000"),
    ],
)
def test_only_nul_and_lone_surrogates_are_replaced(text, expected):
    assert clean(text) == expected
    clean(text).encode("utf-8")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("Ana MOVED", "ana moved", id="case"),
        pytest.param("STRASSE", "straße", id="full case folding"),
        pytest.param("ΟΔΟΣ", "οδος", id="final sigma"),
        pytest.param("Ａｎａ　ｍｏｖｅｄ", "Ana moved", id="width"),
        pytest.param("ﬁnal", "final", id="ligature"),
        pytest.param("cafe\u0301", "café", id="composition"),
        pytest.param("1½", "11⁄2", id="fraction"),
        pytest.param("a\n\t b", "a b", id="lines"),
        pytest.param("a\u00a0b", "a b", id="a blank that does not break"),
        pytest.param("a\u2003\u2028b", "a b", id="wide blank and line separator"),
        pytest.param("  a b\r\n", "a b", id="outer white space"),
        pytest.param("don’t", "don't", id="apostrophe"),
        pytest.param("“Lisbon”", "'Lisbon'", id="double and single"),
        pytest.param("\u0345", "ι", id="iota that case folding makes"),
    ],
)
def test_form_decides_no_comparison(one, other):
    assert fold(one) == fold(other)


@pytest.mark.parametrize("mark", QUOTATION_MARKS)
def test_every_quotation_mark_is_alike(mark):
    assert fold(f"to {mark}Lisbon{mark} in") == fold('to "Lisbon" in')


def test_folding_is_final():
    """A quotation that was folded before is found again, whatever character it holds."""
    characters = (chr(code) for code in range(0x20000))
    changing = [char for char in characters if unicodedata.normalize("NFKC", char.casefold()) != char]
    assert len(changing) > 5000
    assert [char for char in changing if fold(fold(char)) != fold(char)] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lisbon", "Lisboa"),
        ("1911", "1937"),
        ("a b", "ab"),
        ("sold", "so ld"),
        ("a.b", "a,b"),
        ("e", "é"),
        ("well-known", "well known"),
        ('a"b', "ab"),
    ],
)
def test_words_decide(one, other):
    assert fold(one) != fold(other)


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(["\u0300\u0316"], id="marks that alternate"),
        pytest.param(["\u0300", "\u0316"], id="marks out of order"),
        pytest.param(["\ufdfa"], id="a ligature of eighteen letters"),
        pytest.param(["\u0345"], id="iotas below"),
        pytest.param([" \n"], id="white space"),
        pytest.param(["“"], id="quotation marks"),
        pytest.param(["\u1100\u1161"], id="syllables to compose"),
    ],
)
def test_hostile_text_is_folded_about_as_fast_as_any_other(pieces):
    """A quadratic step took a hundred times as long."""
    hostile = "".join(piece * (MAX_CONTEXT // len(pieces) // len(piece)) for piece in pieces)
    ordinary = ("“Ana é de Lisboa”, " * MAX_CONTEXT)[: len(hostile)]
    assert _cpu_s(hostile) < 10 * _cpu_s(ordinary)


def _cpu_s(text):
    def once():
        began = time.process_time()
        fold(text)
        return time.process_time() - began

    return min(once() for _ in range(3))


# --- the pack -----------------------------------------------------------------------------------------------------


def test_a_pack_is_cleaned_on_entry():
    pack = ContextPack("a\x00b", "c\ud800d")
    assert (pack.claim, pack.context) == ("a\ufffdb", "c\ufffdd")


@pytest.mark.parametrize("context", [None, ""])
def test_a_pack_without_a_context(context):
    pack = ContextPack("Tea is a drink.", context)
    assert (pack.context, pack.has_context, pack.is_quotable) == ("", False, False)


@pytest.mark.parametrize(
    ("context", "has_context", "is_quotable"),
    [
        (" \n\t", False, False),
        ("x", True, False),
        ("x" * 23, True, False),
        ("x" * 24, True, True),
        (" \n" + "x" * 23 + "\t ", True, False),
        (" \n" + "x" * 24 + "\t ", True, True),
        ("x" + " " * 22 + "x", True, True),
        ("Notes on a good old tea", True, False),
        ("Notes on a good old teas", True, True),
    ],
)
def test_24_characters_can_be_quoted_outer_white_space_aside(context, has_context, is_quotable):
    pack = ContextPack("Tea is a drink.", context)
    assert (pack.has_context, pack.is_quotable) == (has_context, is_quotable)

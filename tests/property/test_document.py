"""Edits of an open text: what the document says, and where spans are, against edits of one plain string."""

import random
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from neuron_council.rpc.document import Document, Edit, Position, Span, advanced, characters, lines, size

# Few letters, so that edits often leave things as they are, and all that ends a line or counts for more than one.
TEXTS = st.text(alphabet="ab\r\n\x0c\u2028é€😀\ud83d", max_size=12)
ENCODINGS = st.sampled_from(["utf-8", "utf-16", "utf-32"])


def offset(text, position):
    return sum(len(line) for line in lines(text)[: position.line]) + position.column


def positions(text):
    """Every position of TEXT that a client can mean."""
    return [
        Position(number, column)
        for number, line in enumerate(lines(text))
        for column in range(len(line.rstrip("\r\n")) + 1)
    ]


@st.composite
def spans(draw, text):
    start, end = sorted(draw(st.tuples(*[st.sampled_from(positions(text))] * 2)))
    return Span(start, end)


@given(TEXTS)
def test_lines_end_where_the_protocol_has_them_end(text):
    assert "".join(lines(text)) == text
    assert [line.rstrip("\r\n") for line in lines(text)] == text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


@given(st.data())
def test_many_edits_are_those_of_a_plain_string(data):
    plain = data.draw(TEXTS)
    document = Document(plain)
    for _ in range(data.draw(st.integers(1, 4))):
        if data.draw(st.booleans()):
            plain = data.draw(TEXTS)
            document.become(plain)
        else:
            span, new = data.draw(spans(plain)), data.draw(TEXTS)
            plain = plain[: offset(plain, span.start)] + new + plain[offset(plain, span.end) :]
            document.replace(span, new)
        assert document.text == plain
        assert document._lines == lines(plain)


@given(st.data())
def test_a_span_keeps_its_text_or_is_dropped(data):
    plain = data.draw(TEXTS)
    document = Document(plain)
    span = data.draw(spans(plain))
    kept = document.part(span)
    assert kept == plain[offset(plain, span.start) : offset(plain, span.end)]
    if data.draw(st.booleans()):
        edit = document.become(data.draw(TEXTS))
    else:
        edit = document.replace(data.draw(spans(plain)), data.draw(TEXTS))
    followed = edit.follow(span)
    if followed is not None:
        assert document.part(followed) == kept
        before = offset(plain, span.start)
        rest = len(plain) - before
        now = offset(document.text, followed.start)
        assert now in (before, len(document.text) - rest)


@given(st.data())
def test_only_an_edit_inside_drops_a_span(data):
    plain = data.draw(TEXTS)
    document = Document(plain)
    # As marks are: at a CR or LF, an edit beside the span can make another end of the line of its own.
    span, place = document.trimmed(data.draw(spans(plain))), data.draw(spans(plain))
    assume(span.start < span.end)
    edit = document.replace(place, data.draw(TEXTS))
    if edit.follow(span) is None:
        assert span.start < place.end
        assert place.start < span.end


@given(st.data())
def test_the_least_edit_has_nothing_alike_at_its_ends(data):
    plain = data.draw(TEXTS)
    document = Document(plain)
    same = data.draw(spans(plain))
    edit = document.replace(same, document.part(same))
    assert edit.is_void
    assert edit.follow(Span(Position(0, 0), document.end)) == Span(Position(0, 0), document.end)
    assert document.become(plain).is_void
    assert document.text == plain


@given(TEXTS, st.integers(0, 40), st.integers(0, 60), ENCODINGS)
def test_any_place_that_a_client_names_is_one_and_its_own_come_back(text, line, units, encoding):
    document = Document(text)
    position = document.locate(line, units, encoding)
    assert position in positions(text)
    assert document.locate(*document.place(position, encoding), encoding) == position


WIDTHS = {
    "utf-8": {"é": 2, "€": 3, "\u2028": 3, "\ud83d": 3, "😀": 4},
    "utf-16": {"😀": 2},
    "utf-32": {},
}


@given(TEXTS, ENCODINGS)
def test_units_are_those_of_the_encoding(text, encoding):
    assert size(text, encoding) == sum(WIDTHS[encoding].get(char, 1) for char in text)
    for count in range(len(text) + 1):
        assert characters(text, size(text[:count], encoding), encoding) == count


@given(TEXTS, TEXTS)
def test_a_text_ends_where_it_ends(before, text):
    if not (before.endswith("\r") and text.startswith("\n")):
        assert advanced(advanced(Position(0, 0), before), text) == advanced(Position(0, 0), before + text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_long_line_is_measured_in_blocks(encoding):
    line = "".join(random.Random(1).choices("aé€😀", k=20_000))  # noqa: S311 - of letters
    for count in (0, 1, 4095, 4096, 4097, 12_288, 19_999, 20_000):
        assert characters(line, size(line[:count], encoding), encoding) == count
    inside = line.index("😀", 9000)
    assert characters(line, size(line[:inside], encoding) + 1, encoding) == inside


def test_an_insertion_at_either_end_changes_nothing_of_the_span():
    span = Span(Position(0, 2), Position(0, 4))
    assert Edit(Span(Position(0, 4), Position(0, 4)), "x").follow(span) == span
    assert Edit(Span(Position(0, 2), Position(0, 2)), "x\ny").follow(span) == Span(Position(1, 1), Position(1, 3))
    assert Edit(Span(Position(0, 3), Position(0, 3)), "x").follow(span) is None


def test_an_edit_of_a_large_text_costs_what_it_touches():
    document = Document("The quick brown fox é jumps over the lazy dog 😀.\n" * 200_000)
    span = Span(Position(100_000, 4), Position(100_000, 9))
    begun = time.process_time()
    for number in range(1_000):
        place = document.locate(number * 150, 40, "utf-16")
        span = document.replace(Span(place, place), "x\n" if number % 4 else "y").follow(span)
    assert time.process_time() - begun < 2  # walking the whole text takes that for some twenty edits
    assert document.part(span) == "quick"


def test_an_edit_of_a_long_line_costs_what_copying_it_does():
    document = Document("The quick brown fox é jumps. " * 100_000)
    begun = time.process_time()
    for number in range(100):
        place = Position(0, 1_500_000 + number)
        document.replace(Span(place, place), "x")
    assert time.process_time() - begun < 1  # reading the line for its end takes that for some twenty edits
    assert document.part(Span(Position(0, 1_499_999), Position(0, 1_500_101))) == " " + "x" * 100 + "q"

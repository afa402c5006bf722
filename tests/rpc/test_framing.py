"""Frames: any cutting of the stream gives the same bodies, and what is no frame is told at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_council.rpc.framing import MAX_BODY, MAX_HEADER, MAX_SKIPPED, Decoder, FramingError, Oversize, frame


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.data())
def test_any_cutting_gives_the_bodies_back(bodies, data):
    stream = b"".join(map(frame, bodies))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    decoder, got = Decoder(), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        got += decoder.feed(stream[start:end])
    decoder.close()
    assert got == bodies


def test_byte_by_byte():
    decoder = Decoder()
    got = [body for byte in frame(b"one") + frame(b"two") for body in decoder.feed(bytes([byte]))]
    assert got == [b"one", b"two"]


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: 2\r\n",
        b"CONTENT-LENGTH:2\r\n",
        b"Content-Length:  2\t\r\n",
        b"Content-Length: 002\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n",
        b"Content-Length: 2\r\nX-Unknown:\r\n",
    ],
)
def test_forms_of_the_header_that_are_taken(header):
    assert list(Decoder().feed(header + b"\r\n{}")) == [b"{}"]


@pytest.mark.parametrize(
    "stream",
    [
        b"Content-Length: 2\n\n{}",
        b"Content-Length: 2\r\n\n{}",
        b"\r\n",
        b"Content-Type: x\r\n\r\n",
        b"Content-Length: -2\r\n\r\n",
        b"Content-Length: +2\r\n\r\n",
        b"Content-Length: 2.0\r\n\r\n",
        b"Content-Length: 0x2\r\n\r\n",
        b"Content-Length: \xd9\xa2\r\n\r\n",
        b"Content-Length: \r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: %d\r\n\r\n" % (MAX_SKIPPED + 1),
        b"Content-Length: 100000000000000000000000000\r\n\r\n",
        b"hello\r\n",
        b"2.0}Content-Length: 2\r\n",
        b"Content Length: 2\r\n",
        b"x" * (MAX_HEADER + 1),
        b"X-A: b\r\n" * (MAX_HEADER // 8 + 1),
    ],
)
def test_what_is_no_frame_is_told_at_once(stream):
    with pytest.raises(FramingError):
        list(Decoder().feed(stream))


def test_bodies_before_the_fault_are_given_first():
    bodies = Decoder().feed(frame(b"{}") + b"junk\n")
    assert next(bodies) == b"{}"
    with pytest.raises(FramingError):
        next(bodies)


def test_a_body_that_is_too_long_is_told_at_once_and_passed_over_without_being_kept():
    decoder = Decoder()
    assert list(decoder.feed(b"Content-Length: %d\r\n\r\n" % (MAX_BODY + 1))) == [Oversize(MAX_BODY + 1)]
    piece = b"x" * (1 << 20)
    for _ in range(MAX_BODY // len(piece)):
        assert list(decoder.feed(piece)) == []
        assert not decoder._buffer
    assert list(decoder.feed(b"x" + frame(b"{}"))) == [b"{}"]


@pytest.mark.parametrize(
    "start", [b"C", b"Content-Length: 2\r\n", b"Content-Length: 2\r\n\r\n", b"Content-Length: 2\r\n\r\n{"]
)
def test_an_end_inside_a_frame_is_told(start):
    decoder = Decoder()
    assert list(decoder.feed(start)) == []
    with pytest.raises(FramingError):
        decoder.close()


def test_a_length_counts_bytes():
    assert frame("茶".encode()) == b"Content-Length: 3\r\n\r\n\xe8\x8c\xb6"


def test_an_empty_body_is_a_body():
    """It is not JSON, but the stream can be read on."""
    decoder = Decoder()
    assert list(decoder.feed(b"Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}")) == [b"", b"{}"]

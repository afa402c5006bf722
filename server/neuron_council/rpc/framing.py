"""Frames of the base protocol: `Content-Length` headers around bodies. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen

MAX_HEADER = 8 * 1024
"""Bytes of one header block at most."""
MAX_BODY = 64 * 1024 * 1024
"""Bytes of one body at most."""
MAX_SKIPPED = 1024 * 1024 * 1024
"""Bytes up to which a length is believed: a longer body is passed over, what claims even more is no length."""

_FIELD = re.compile(rb"([A-Za-z0-9-]+):[ \t]*(.*?)[ \t]*\r\n", re.DOTALL)
_LENGTH = re.compile(rb"[0-9]{1,20}")


class FramingError(Exception):
    """The stream is no longer one of frames, and where the next one begins cannot be told."""


@frozen
class Oversize:
    """Stands for a body over MAX_BODY, which is passed over; `length` is in bytes."""

    length: int


def frame(body: bytes) -> bytes:
    """BODY with the one header that its reader needs."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Decoder:
    """Cuts a stream, fed in pieces of any size, into bodies."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._header_size = 0
        self._scanned = 0
        self._declared: int | None = None
        self._body: int | None = None
        self._skipping = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | Oversize]:
        """The bodies that CHUNK completes. Raises FramingError, after the bodies before the fault."""
        self._buffer += chunk
        while True:
            if self._skipping:
                passed = min(self._skipping, len(self._buffer))
                del self._buffer[:passed]
                self._skipping -= passed
                if self._skipping:
                    return
            if self._body is None:
                self._read_header()
            if self._body is None:
                return
            if self._body > MAX_BODY:
                yield Oversize(self._body)
                self._skipping, self._body = self._body, None
            elif len(self._buffer) >= self._body:
                body = bytes(self._buffer[: self._body])
                del self._buffer[: self._body]
                self._body = None
                yield body
            else:
                return

    def close(self) -> None:
        """Say that the stream has ended. Raises FramingError where it ended inside a frame."""
        if self._buffer or self._header_size or self._body or self._skipping:
            raise FramingError("the stream ended inside a message")

    def _read_header(self) -> None:
        """Take whole header lines off the buffer; `_body` is set once the block has ended."""
        while (end := self._buffer.find(b"\n", self._scanned)) >= 0:
            line = bytes(self._buffer[: end + 1])
            del self._buffer[: end + 1]
            self._scanned = 0
            self._header_size += len(line)
            if line == b"\r\n":
                self._end_header()
                return
            self._read_field(line)
        self._scanned = len(self._buffer)
        if self._header_size + self._scanned > MAX_HEADER:
            raise FramingError(f"a header of more than {MAX_HEADER} bytes")

    def _read_field(self, line: bytes) -> None:
        if self._header_size > MAX_HEADER:
            raise FramingError(f"a header of more than {MAX_HEADER} bytes")
        if (field := _FIELD.fullmatch(line)) is None:
            raise FramingError("a header line is not `Name: value` ended by CR LF")
        name, value = field.groups()
        if name.lower() != b"content-length":
            return
        if self._declared is not None:
            raise FramingError("Content-Length is given twice")
        if _LENGTH.fullmatch(value) is None or not 0 <= int(value) <= MAX_SKIPPED:
            raise FramingError(f"Content-Length is not a number from 1 to {MAX_SKIPPED}")
        self._declared = int(value)

    def _end_header(self) -> None:
        if self._declared is None:
            raise FramingError("a header has no Content-Length")
        self._body, self._declared, self._header_size = self._declared, None, 0

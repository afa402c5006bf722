"""The process's own standard streams, kept apart from whatever else writes to them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def claim() -> tuple[int, int]:
    """Take stdin and stdout for the wire alone, and return their new descriptors.

    From now on descriptor 0 reads nothing and descriptor 1 is stderr, so that a stray print, a native library or a
    child process cannot reach the wire; the new descriptors are closed on exec. Raises OSError where stdin or stdout
    is closed.
    """
    wire = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed: without one, the next file opened would become it
        os.dup2(null, 1)
        os.dup2(null, 2)
    os.close(null)
    return wire


def say(text: str) -> None:
    """Print TEXT on stderr for the person who started the process; a stderr that is gone is no reason to fail."""
    with suppress(OSError, ValueError, AttributeError):
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - the one place that speaks to a person

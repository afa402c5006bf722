"""What is said in a terminal, and read from one. What a model or a claim says must not steer it."""

from __future__ import annotations

import json
import shutil
import sys
import time
from io import TextIOWrapper
from typing import Any

from neuron_council.evidence.text import clean
from neuron_council.rpc import report
from neuron_council.rpc.stdio import say

STDIN = "-"
"""The argument that stands for stdin."""


def prepare() -> None:
    """Have stdout take every text, whatever the locale."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")


def tell(text: str, *, is_awaited: bool = False) -> None:
    """Print TEXT, which the user asked for; at once where it IS_AWAITED."""
    print(text, flush=is_awaited)  # noqa: T201 - this is a program in a shell


def complain(text: str) -> None:
    """Say on one line of stderr what went wrong or is to be known."""
    say(f"neuron-council: {report.plain(text)}")


def as_json(value: Any, *, indent: int | None = None) -> str:
    """VALUE as JSON, with all that a terminal could obey escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def shortened(text: str, columns: int) -> str:
    """TEXT on one line of COLUMNS at most."""
    return report.shortened(report.plain(text), columns)


def columns() -> int | None:
    """How wide the terminal on stdout is; None where none is there, and nothing need be shortened."""
    return shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None


def moment(at: float) -> str:
    """AT, seconds since the epoch, in local time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def from_stdin() -> bytes:
    """All that stdin holds."""
    return b"" if sys.stdin is None else sys.stdin.buffer.read()


def text_of(argument: str) -> str:
    """ARGUMENT, or what stdin holds where it is `-`; bytes that are no UTF-8 become U+FFFD."""
    return from_stdin().decode("utf-8", "replace").strip() if argument == STDIN else clean(argument)

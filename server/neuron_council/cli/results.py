"""Where a batch writes: stdout, or a file that a later batch goes on with."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from neuron_council.cli.terminal import as_json, tell
from neuron_council.errors import CouncilError

Json = dict[str, Any]

READ_BYTES = 1 << 20


class ResultsError(CouncilError):
    """A file that no results can be added to; the message names it, the reason and the cure."""


class Results(Protocol):
    """What a batch writes to. `known` is what it holds already, the last result of each line."""

    known: Mapping[int, Json]

    def add(self, result: Json) -> None:
        """Write RESULT, whole or not at all as far as a reader can tell. Raises OSError."""

    def close(self) -> None:
        """Nothing will be added any more."""


class Stdout:
    """Results for whoever reads stdout."""

    def __init__(self) -> None:
        self.known: Mapping[int, Json] = {}

    def add(self, result: Json) -> None:
        """See Results."""
        tell(as_json(result), is_awaited=True)

    def close(self) -> None:
        """See Results."""


class ResultFile:
    """A file of results that is only ever appended to, by one batch at a time."""

    def __init__(self, path: Path) -> None:
        """Open PATH, or make it, the user's alone; repair a last line that was cut off.

        Raises ResultsError where another batch writes to it or where it holds something else, which is then left as it
        is; OSError where it cannot be opened.
        """
        self._path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            self._lock()
            self.known: Mapping[int, Json] = self._read()
        except BaseException:
            os.close(self._descriptor)
            raise

    def add(self, result: Json) -> None:
        """See Results."""
        data = f"{as_json(result)}\n".encode(errors="replace")
        while data:
            data = data[os.write(self._descriptor, data) :]

    def close(self) -> None:
        """See Results."""
        os.close(self._descriptor)

    def _lock(self) -> None:
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            raise ResultsError(f"{self._path}: it is no file that can be gone on with. Leave --output out for stdout.")
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResultsError(
                f"{self._path}: another batch is writing to it. Wait for it, or name another file."
            ) from None

    def _read(self) -> dict[int, Json]:
        held = b"".join(iter(lambda: os.read(self._descriptor, READ_BYTES), b""))
        *lines, rest = held.split(b"\n")
        known: dict[int, Json] = {}
        for number, line in enumerate(lines, 1):
            if line.strip():
                result = _result(line)
                if result is None:
                    raise self._foreign(f"line {number} is no result of a batch")
                known[result["line"]] = result
        if rest.strip():
            self._repair(rest, known, len(held) - len(rest))
        return known

    def _repair(self, rest: bytes, known: dict[int, Json], at: int) -> None:
        """End the last line, or take it away where it is half of one."""
        if result := _result(rest):
            known[result["line"]] = result
            os.write(self._descriptor, b"\n")
        elif known or rest.startswith(_BEGINNING) or _BEGINNING.startswith(rest):
            os.ftruncate(self._descriptor, at)
        else:
            raise self._foreign("it holds something else")

    def _foreign(self, why: str) -> ResultsError:
        return ResultsError(f"{self._path}: {why}, so nothing is added to it. Name another file.")


_BEGINNING = b'{"line": '


def _result(line: bytes) -> Json | None:
    """The result on LINE, or None where it is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and type(value.get("line")) is int else None

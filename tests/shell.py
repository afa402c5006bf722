"""The program in a shell, run inside the test's process."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from attrs import field, frozen, mutable

from neuron_council import cli
from neuron_council.ledger.ledger import FILE, Ledger


@frozen
class Said:
    """What a command did: its exit code and what it wrote."""

    code: int
    out: str
    err: str


class Terminal(io.StringIO):
    """A stream that passes for a terminal."""

    def isatty(self) -> bool:
        return True


@mutable
class Shell:
    """Runs the program for one home. `stderr` may be a Terminal, and then `err` stays empty."""

    home: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    stderr: Terminal | None = field(default=None)

    def __call__(self, *arguments: str, stdin: bytes | Terminal = b"") -> Said:
        given = stdin if isinstance(stdin, Terminal) else io.TextIOWrapper(io.BytesIO(stdin))
        with self.monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", given)
            patch.setattr(sys, "stdout", out := io.TextIOWrapper(io.BytesIO()))
            if self.stderr is not None:
                patch.setattr(sys, "stderr", self.stderr)
            try:
                code = cli.main(arguments)
            except SystemExit as left:
                code = int(left.code or 0)
            out.flush()
        return Said(code, out.buffer.getvalue().decode(), self.capsys.readouterr().err)

    @property
    def path(self) -> Path:
        """The ledger's file."""
        return self.home / FILE

    def keep(self, *verdicts) -> None:
        """Store VERDICTS."""
        ledger = Ledger(self.path)
        for verdict in verdicts:
            ledger.add(verdict, about={})
        ledger.close()

"""A look at the ledger's file that changes nothing: it makes none, migrates none, and sets none aside."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from attrs import frozen

from neuron_council.ledger.database import BESIDE
from neuron_council.ledger.schema import MIGRATIONS

CHECK_S = 5.0
"""Seconds that SQLite's quick check may take; a ledger of 100,000 verdicts takes some."""
OFTEN = 5
"""Tries that lost a backend which was there from which on a claim is told of."""
STEPS = 10_000
"""Steps of SQLite's machine between two looks at the clock."""


@frozen
class Inspection:
    """What a ledger holds; None where it cannot be read. `fault` says what is wrong with it, `is_whole` that every page
    was checked and found well. `dropped` is the id of a claim in the queue that lost its backend OFTEN, the most often
    of all.
    """

    verdicts: int | None = None
    pending: int | None = None
    dropped: str | None = None
    is_whole: bool = False
    fault: str | None = None


def inspect(path: Path, *, limit_s: float = CHECK_S) -> Inspection:
    """Look at the ledger at PATH, which exists; its pages are checked for LIMIT_S seconds at most."""
    # Nobody has it open where there is no write-ahead log, and then SQLite need not make one to read it.
    how = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as connection:
            return _inspect(connection, limit_s)
    except sqlite3.Error as error:
        return Inspection(fault=f"it cannot be read: {error}")


def set_aside(path: Path) -> tuple[Path, ...]:
    """The corrupt ledgers that were set aside from PATH, oldest first."""
    return tuple(sorted(each for each in path.parent.glob(f"{path.name}.corrupt-*") if not each.name.endswith(BESIDE)))


def _inspect(connection: sqlite3.Connection, limit_s: float) -> Inspection:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(MIGRATIONS):
        return Inspection(fault=f"a newer neuron-council wrote it (format {version}, known is {len(MIGRATIONS)})")
    if version == 0:
        return Inspection(0, 0, is_whole=True)
    dropped = _dropped(connection) if version > 1 else None
    verdicts = int(connection.execute("SELECT count(*) FROM verdict").fetchone()[0])
    pending = int(connection.execute("SELECT count(DISTINCT pack) FROM pending").fetchone()[0])
    until = time.monotonic() + limit_s
    connection.set_progress_handler(lambda: time.monotonic() > until, STEPS)
    try:
        found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.OperationalError:
        if time.monotonic() > until:
            return Inspection(verdicts, pending, dropped)
        raise
    fault = None if found == "ok" else f"it is corrupt: {found}"
    return Inspection(verdicts, pending, dropped, is_whole=fault is None, fault=fault)


def _dropped(connection: sqlite3.Connection) -> str | None:
    row = connection.execute(
        "SELECT verdict.id FROM pending JOIN verdict ON verdict.seq = pending.verdict WHERE dropped >= ? "
        "ORDER BY dropped DESC, pending.verdict LIMIT 1",
        (OFTEN,),
    ).fetchone()
    return None if row is None else str(row[0])

"""The ledger's file: its owner's alone, migrated, shared by several processes, set aside where it is corrupt."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from neuron_council.errors import CorruptLedgerError, LedgerError
from neuron_council.ledger.schema import MIGRATIONS

log = logging.getLogger(__name__)

BUSY_MS = 2_000
"""Milliseconds to wait for another process that writes; a write takes some of them."""
BESIDE = ("-wal", "-shm")
"""Ends of the names of the files that SQLite keeps beside the ledger's."""

_CORRUPT = ("malformed", "not a database", "file is encrypted")


class Database:
    """One connection to the ledger, used from one thread. It opens itself, and again where the file was replaced."""

    def __init__(self, path: Path) -> None:
        """PATH need not exist; nothing is opened yet."""
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None

    @contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction, committed at the end of the block and rolled back by an exception.

        Raises LedgerError where the file cannot be opened, read or written; a corrupt file is set aside first, so that
        the next transaction has a new one.
        """
        try:
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            try:
                yield connection
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise self._fault(error) from error
        except OSError as error:
            raise LedgerError(f"The ledger {self.path} cannot be used: {error.strerror or error}.") from error

    def purge(self) -> None:
        """Leave no deleted text in the write-ahead log. Raises LedgerError where another process holds on to it."""
        connection = self._open()
        until = time.monotonic() + BUSY_MS / 1000
        while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > until:
                raise LedgerError(
                    f"The ledger {self.path} is being read by another process, so deleted text may still stand in its "
                    "write-ahead log. Ask again."
                )
            time.sleep(0.02)

    def harden(self) -> None:
        """Have the disk hold what was committed, so that a power failure loses nothing of it."""
        with suppress(OSError):
            descriptor = os.open(self.path.with_name(f"{self.path.name}-wal"), os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def close(self) -> None:
        """Close the connection; the next transaction opens another."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = self._inode = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._inode == _inode(self.path):
            return self._connection
        self.close()
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.parent.chmod(0o700)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)
        connection = sqlite3.connect(self.path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            # A crash of the process loses nothing; `harden` guards against that of the machine, after the answer.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA journal_size_limit = 4194304")
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._inode = connection, _inode(self.path)
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Bring the file to this version, or raise LedgerError where a newer one wrote it."""
        if _version(connection) == len(MIGRATIONS):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = _version(connection)  # another process may have been faster
            self._refuse_newer(version)
            for statement in (line for migration in MIGRATIONS[version:] for line in migration):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _refuse_newer(self, version: int) -> None:
        if version > len(MIGRATIONS):
            raise LedgerError(
                f"The ledger {self.path} was written by a newer neuron-council (format {version}, known is "
                f"{len(MIGRATIONS)}). Update neuron-council."
            )

    def _fault(self, error: sqlite3.DatabaseError) -> LedgerError:
        reason = str(error)
        if not any(word in reason for word in _CORRUPT):
            return LedgerError(f"The ledger {self.path} cannot be written: {reason}.")
        self.close()
        aside = self._set_aside()
        log.error("the ledger is corrupt and was set aside as %s", aside.name)
        return CorruptLedgerError(
            f"The ledger was corrupt ({reason}). It was set aside as {aside}, and a new one is begun."
        )

    def _set_aside(self) -> Path:
        """Move the file, with what SQLite put beside it, to a name that nothing has."""
        stamp = time.strftime("%Y%m%dT%H%M%S")
        names = (self.path.with_name(f"{self.path.name}.corrupt-{stamp}{f'-{n}' if n else ''}") for n in range(1000))
        aside = next(name for name in names if not name.exists())
        for end in ("", *BESIDE):
            with suppress(FileNotFoundError):
                self.path.with_name(self.path.name + end).rename(aside.with_name(aside.name + end))
        return aside


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino

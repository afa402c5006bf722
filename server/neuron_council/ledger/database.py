"""The ledger's file: its owner's alone, migrated, shared by several processes, set aside where it is corrupt."""

from __future__ import annotations

import json
import logging
import mmap
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from neuron_council.errors import CorruptLedgerError, LedgerError
from neuron_council.ledger.schema import MIGRATIONS

log = logging.getLogger(__name__)

BUSY_MS = 1_000
"""Milliseconds to wait for another process that writes; a write takes some of them."""
BLOCKED_MS = 20
"""Milliseconds to wait while the last wait was in vain: calls queue up, and each would wait as long."""
PIECE = 32
"""Bytes by which a text is looked for in files that were set aside."""
BESIDE = ("-wal", "-shm")
"""Ends of the names of the files that SQLite keeps beside the ledger's."""

_CORRUPT_WORDS = ("database disk image is malformed", "file is not a database")
_CORRUPT = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class Database:
    """One connection to the ledger, used from one thread. It opens itself, and again where the file was replaced."""

    def __init__(self, path: Path) -> None:
        """PATH need not exist; nothing is opened yet."""
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None
        self._log_inode: tuple[int, int] | None = None
        self._is_blocked = False

    @contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction, committed at the end of the block and rolled back by an exception.

        Raises LedgerError where the file cannot be opened, read or written; a corrupt file is set aside first, so that
        the next transaction has a new one.
        """
        try:
            connection = self._open()
            connection.execute(f"PRAGMA busy_timeout = {BLOCKED_MS if self._is_blocked else BUSY_MS}")
            connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            self._is_blocked = False
            self._log_inode = self._log_inode or _inode(self._beside("-wal"))
        except (sqlite3.Error, OSError) as error:
            raise self._fault(error) from error

    def purge(self) -> None:
        """Leave no deleted text in the write-ahead log. Raises LedgerError where another process holds on to it."""
        try:
            connection = self._open()
            until = time.monotonic() + BUSY_MS / 1000
            while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() > until:
                    raise LedgerError(
                        f"The ledger {self.path} is being read by another process, so deleted text may still stand in "
                        "its write-ahead log. Ask again."
                    )
                time.sleep(0.02)
        except (sqlite3.Error, OSError) as error:
            raise self._fault(error) from error

    def set_aside(self) -> tuple[Path, ...]:
        """The corrupt files that were set aside, with what SQLite had put beside them."""
        return tuple(sorted(self.path.parent.glob(f"{self.path.name}.corrupt-*")))

    def drop_copies(self, texts: Iterable[str]) -> None:
        """Delete the corrupt files that were set aside and hold a piece of TEXTS. Raises LedgerError.

        Blanking the texts there would leave what a page's end cuts off.
        """
        forms = {form.encode() for text in texts for form in (text, json.dumps(text, ensure_ascii=False)[1:-1])}
        pieces = {form[at : at + PIECE] for form in forms for at in range(0, max(len(form) - PIECE, 0) + 1, PIECE // 2)}
        for file in self.set_aside():
            try:
                if _holds(file, pieces):
                    file.unlink()
                    log.warning("%s held forgotten text and was deleted", file.name)
            except OSError as error:
                raise LedgerError(f"{file} cannot be searched or deleted: {error.strerror}. Delete it.") from error

    def harden(self) -> None:
        """Have the disk hold what was committed, so that a power failure loses nothing of it."""
        with suppress(OSError):
            descriptor = os.open(self._beside("-wal"), os.O_RDONLY | os.O_CLOEXEC)
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
        for folder in (self.path.parent.parent, self.path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.parent.chmod(0o700)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)
        self._drop_stale_log()
        self._inode = _inode(self.path)
        connection = sqlite3.connect(
            self.path,
            timeout=(BLOCKED_MS if self._is_blocked else BUSY_MS) / 1000,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.row_factory = sqlite3.Row
        # Rotten bytes are for the JSON's reader to refuse; SQLite's own refusal would quote them.
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        try:
            self._refuse_newer(_version(connection))
            _use_log(connection)
            # A crash of the process loses nothing; `harden` guards against that of the machine, after the answer.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA journal_size_limit = 4194304")
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _drop_stale_log(self) -> None:
        """Remove the write-ahead log of the file that was open before, where another file, a backup, took its place.

        SQLite would play it into the new file. A log with another inode is the new file's own.
        """
        if self._log_inode is not None and self._log_inode == _inode(self._beside("-wal")):
            for end in BESIDE:
                self._beside(end).unlink(missing_ok=True)
        self._log_inode = None

    def _beside(self, end: str) -> Path:
        return self.path.with_name(self.path.name + end)

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

    def _fault(self, error: sqlite3.Error | OSError) -> LedgerError:
        """What ERROR means to the caller. A corrupt file has been set aside when this returns."""
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        self._is_blocked = "locked" in reason
        if not isinstance(error, sqlite3.Error) or not _is_corruption(error):
            return LedgerError(f"The ledger {self.path} cannot be used: {reason}.")
        opened = self._inode
        self.close()
        if opened != _inode(self.path):  # another process was faster
            return CorruptLedgerError(f"The ledger was corrupt ({reason}). A new one is begun.")
        try:
            aside = self._move_aside()
        except OSError as refused:
            return LedgerError(
                f"The ledger {self.path} is corrupt ({reason}) and cannot be set aside: {refused.strerror}. "
                "Move it away."
            )
        log.error("the ledger is corrupt and was set aside as %s", aside.name)
        return CorruptLedgerError(
            f"The ledger was corrupt ({reason}). It was set aside as {aside}, and a new one is begun."
        )

    def _move_aside(self) -> Path:
        """Move the file, with what SQLite put beside it, to a name that nothing has."""
        stamp = time.strftime("%Y%m%dT%H%M%S")
        names = (self.path.with_name(f"{self.path.name}.corrupt-{stamp}{f'-{n}' if n else ''}") for n in range(1000))
        aside = next(name for name in names if not name.exists())
        for end in ("", *BESIDE):
            with suppress(FileNotFoundError):
                self._beside(end).rename(aside.with_name(aside.name + end))
        return aside


def _holds(file: Path, pieces: Iterable[bytes]) -> bool:
    if not file.stat().st_size:
        return False
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return any(data.find(piece) >= 0 for piece in pieces)


def _is_corruption(error: sqlite3.Error) -> bool:
    """Whether ERROR is SQLite's word for a corrupt file; a message could hold that word as a quotation."""
    return getattr(error, "sqlite_errorcode", None) in _CORRUPT or str(error) in _CORRUPT_WORDS


def _use_log(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log. SQLite does not wait by itself for another process that does so at that moment."""
    until = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            if mode != "wal":
                log.warning("the ledger's file system knows no write-ahead log; two servers may wait for each other")
            return


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino

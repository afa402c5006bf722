"""The ledger's file: its modes, its migrations, several who use it at once, and a file that goes away or is replaced.

What a fault of disk or file does to verdicts is in faults/test_ledger_faults.py.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from neuron_council.errors import CorruptLedgerError, LedgerError
from neuron_council.ledger import database as databases
from neuron_council.ledger.database import Database
from neuron_council.ledger.ledger import FILE, Ledger
from neuron_council.ledger.schema import MIGRATIONS
from verdicts import ABOUT, judged, unavailable

NEWEST = len(MIGRATIONS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / FILE


@pytest.fixture
def open_database(path: Path) -> Iterator[Callable[[], Database]]:
    """Opens the file once more, as another process would."""
    opened: list[Database] = []

    def make() -> Database:
        opened.append(Database(path))
        return opened[-1]

    yield make
    for database in opened:
        database.close()


def count(database: Database) -> int:
    with database.transaction() as db:
        return int(db.execute("SELECT count(*) FROM tombstone").fetchone()[0])


def bury(database: Database, name: str) -> None:
    with database.transaction(writes=True) as db:
        db.execute("INSERT INTO tombstone VALUES (?, 0)", (name,))


def version(path: Path) -> int:
    db = sqlite3.connect(path)
    try:
        return int(db.execute("PRAGMA user_version").fetchone()[0])
    finally:
        db.close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_nothing_is_there_before_it_is_used(path: Path) -> None:
    Database(path).close()
    assert not path.parent.exists()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_everything_is_its_owner_s_alone(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        database = Database(path)
        bury(database, "a")
        assert {file.name for file in path.parent.iterdir()} == {f"ledger.db{end}" for end in ("", "-wal", "-shm")}
        assert {mode(file) for file in path.parent.iterdir()} == {0o600}
        assert mode(path.parent) == 0o700
        assert mode(path.parent.parent) == 0o700
        database.close()
    finally:
        os.umask(before)


def test_what_others_could_read_is_closed_to_them(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.touch()
    path.chmod(0o644)
    path.parent.chmod(0o755)
    database = Database(path)
    bury(database, "a")
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    assert {mode(file) for file in path.parent.iterdir()} == {0o600}
    database.close()


def test_it_writes_ahead_deletes_thoroughly_and_keeps_references(open_database: Callable[[], Database]) -> None:
    with open_database().transaction() as db:
        pragmas = {
            name: db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "secure_delete", "foreign_keys")
        }
    assert pragmas == {"journal_mode": "wal", "secure_delete": 1, "foreign_keys": 1}


# Transactions


def test_an_exception_takes_everything_back_and_passes(open_database: Callable[[], Database]) -> None:
    database = open_database()
    bury(database, "a")
    with pytest.raises(ZeroDivisionError), database.transaction(writes=True) as db:  # noqa: PT012 - one transaction
        db.execute("INSERT INTO tombstone VALUES ('b', 0)")
        raise ZeroDivisionError
    assert count(database) == 1
    bury(database, "b")
    assert count(database) == 2


def test_what_sqlite_refuses_is_an_error_of_ours_that_names_the_file(
    open_database: Callable[[], Database], path: Path
) -> None:
    database = open_database()
    bury(database, "a")
    with pytest.raises(LedgerError, match=str(path)) as caught:
        bury(database, "a")
    assert not isinstance(caught.value, CorruptLedgerError)
    assert count(database) == 1


def test_a_writer_waits_for_a_writer(open_database: Callable[[], Database]) -> None:
    one, two = open_database(), open_database()
    inside = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with one.transaction(writes=True) as db:
            db.execute("INSERT INTO tombstone VALUES ('a', 0)")
            waiting = pool.submit(lambda: (inside.set(), bury(two, "b")))
            inside.wait(5)
            assert count(open_database()) == 0  # a reader waits for nobody
        waiting.result(10)
    assert count(one) == count(two) == 2


def test_a_writer_who_never_ends_is_not_waited_for_for_ever(
    open_database: Callable[[], Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "BUSY_MS", 50)
    one, two = open_database(), open_database()
    assert count(two) == 0
    with one.transaction(writes=True) as db:
        db.execute("INSERT INTO tombstone VALUES ('a', 0)")
        with pytest.raises(LedgerError, match="locked"):
            bury(two, "b")
    bury(two, "b")
    assert count(one) == 2


def test_many_begin_a_new_ledger_at_once(path: Path) -> None:
    """Two editors that are started together; nobody is turned away with `database is locked`."""
    for turn in range(10):
        at = path.with_name(f"{turn}.db")
        barrier = threading.Barrier(4)

        def begin(number: int, at: Path = at, barrier: threading.Barrier = barrier) -> None:
            database = Database(at)
            barrier.wait(10)
            bury(database, str(number))
            database.close()

        with ThreadPoolExecutor(4) as pool:
            for each in [pool.submit(begin, number) for number in range(4)]:
                each.result(20)
        database = Database(at)
        assert count(database) == 4
        database.close()


# Versions


def test_a_new_file_has_the_newest_version(open_database: Callable[[], Database], path: Path) -> None:
    bury(open_database(), "a")
    assert version(path) == NEWEST


def test_a_file_without_a_byte_is_new(open_database: Callable[[], Database], path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.touch()
    bury(open_database(), "a")
    assert version(path) == NEWEST


@pytest.mark.parametrize("old", range(NEWEST))
def test_an_older_file_is_brought_up_to_date(path: Path, old: int) -> None:
    path.parent.mkdir(parents=True)
    db = sqlite3.connect(path)
    for statement in (line for migration in MIGRATIONS[:old] for line in migration):
        db.execute(statement)
    db.execute(f"PRAGMA user_version = {old}")
    db.commit()
    db.close()
    ledger = Ledger(path)
    verdict = judged("Tea is a drink.")
    ledger.add(verdict, about=ABOUT)
    assert ledger.show(verdict.id).verdict == verdict
    ledger.close()
    assert version(path) == NEWEST


def test_what_an_older_file_had_superseded_is_known(path: Path) -> None:
    """Format 1 told it of the new verdict alone, and only of the first that it superseded."""
    old, twin, waits, new = (
        *(unavailable("Tea is a drink.") for _ in range(2)),
        unavailable("Ale is."),
        judged("Tea is a drink."),
    )
    ledger = Ledger(path)
    for verdict in (judged("Tea is a drink."), old, twin, waits, new, judged("Tea is a drink.")):
        ledger.add(verdict, about=ABOUT)
    ledger.close()
    with sqlite3.connect(path) as db:
        for column in (
            "verdict DROP COLUMN superseded_by",
            "pending DROP COLUMN dropped",
            "pending DROP COLUMN is_owed",
        ):
            db.execute(f"ALTER TABLE {column}")
        db.execute("ALTER TABLE announcement DROP COLUMN until")
        db.execute("PRAGMA user_version = 1")
    db.close()
    ledger = Ledger(path)
    known = {entry.id: entry.superseded_by for entry in ledger.list().entries if entry.superseded_by}
    assert known == {old.id: new.id, twin.id: new.id}
    assert [entry.id for entry in ledger.list(status="unavailable").entries] == [waits.id]
    assert [told.old for told in ledger.announcements()[0]] == sorted([old.id, twin.id])
    ledger.close()


def test_a_further_migration_keeps_what_is_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = judged("Tea is a drink.")
    ledger = Ledger(path)
    ledger.add(verdict, about=ABOUT)
    ledger.close()
    monkeypatch.setattr(databases, "MIGRATIONS", (*MIGRATIONS, ("ALTER TABLE tombstone ADD COLUMN why TEXT",)))
    ledger = Ledger(path)
    assert ledger.show(verdict.id).verdict == verdict
    ledger.close()
    assert version(path) == NEWEST + 1


def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(path)
    ledger.add(judged("Tea is a drink."), about=ABOUT)
    ledger.close()
    faulty = ("CREATE TABLE extra (a)", "CREATE TABLE verdict (a)")
    monkeypatch.setattr(databases, "MIGRATIONS", (*MIGRATIONS, faulty))
    with pytest.raises(LedgerError):
        Ledger(path).list()
    monkeypatch.undo()
    assert version(path) == NEWEST
    ledger = Ledger(path)
    assert len(ledger.list().entries) == 1
    ledger.close()


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_newer_file_is_left_alone_to_the_byte(path: Path, journal: str) -> None:
    path.parent.mkdir(parents=True)
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA journal_mode = {journal}")
    db.execute("CREATE TABLE verdict (other)")
    db.execute("PRAGMA user_version = 99")
    db.commit()
    db.close()
    before = path.read_bytes()
    ledger = Ledger(path)
    for work in (ledger.list, lambda: ledger.add(judged("Tea is a drink."), about=ABOUT), ledger.pending):
        with pytest.raises(LedgerError, match=r"newer neuron-council .*99.*Update") as caught:
            work()
        assert not isinstance(caught.value, CorruptLedgerError)
    ledger.close()
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["ledger.db"]


# A file that goes away


@pytest.mark.parametrize("removed", [("",), ("", "-wal", "-shm")], ids=["the file alone", "all three"])
def test_after_the_file_was_deleted_there_is_a_new_one(
    open_database: Callable[[], Database], path: Path, removed: tuple[str, ...]
) -> None:
    one, two = open_database(), open_database()
    bury(one, "a")
    assert count(two) == 1
    for end in removed:
        path.with_name(path.name + end).unlink()
    for number, database in enumerate((one, two, one, two), 1):
        bury(database, str(number))
        assert count(database) == number
    assert version(path) == NEWEST


def test_after_the_folder_was_deleted_there_is_a_new_one(open_database: Callable[[], Database], path: Path) -> None:
    database = open_database()
    bury(database, "a")
    shutil.rmtree(path.parent)
    bury(database, "b")
    assert (count(database), mode(path), mode(path.parent)) == (1, 0o600, 0o700)


def test_another_file_in_its_place_is_the_ledger_from_now_on(
    open_database: Callable[[], Database], path: Path, tmp_path: Path
) -> None:
    backup = Database(tmp_path / "backup.db")
    for name in "abc":
        bury(backup, name)
    backup.close()
    database = open_database()
    bury(database, "x")
    (tmp_path / "backup.db").rename(path)
    assert count(database) == 3
    bury(database, "y")
    assert count(database) == 4
    database.close()
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert {name for (name,) in db.execute("SELECT id FROM tombstone")} == {"a", "b", "c", "y"}
    db.close()


# A corrupt file, as two see it


def corrupt() -> sqlite3.DatabaseError:
    """What sqlite3 raises for a torn page."""
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def test_a_new_file_is_not_set_aside_for_the_old_one_s_fault(open_database: Callable[[], Database], path: Path) -> None:
    """Two processes have the corrupt file open; the one that comes later must not take the other's new file for it."""
    one, two = open_database(), open_database()
    assert count(one) == count(two) == 0
    with pytest.raises(CorruptLedgerError), two.transaction():  # noqa: PT012 - what happens meanwhile, and what is seen then
        with pytest.raises(CorruptLedgerError), one.transaction():
            raise corrupt()
        bury(one, "kept")
        raise corrupt()
    assert count(two) == count(one) == 1
    assert len(list(path.parent.glob("ledger.db.corrupt-*[0-9]"))) == 1


def test_where_it_cannot_be_set_aside_it_is_an_error_of_ours(
    open_database: Callable[[], Database], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"garbage " * 1000)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(LedgerError, match=str(path)):
        count(open_database())
    assert path.read_bytes() == b"garbage " * 1000


def test_each_corrupt_file_is_kept(open_database: Callable[[], Database], path: Path) -> None:
    path.parent.mkdir(parents=True)
    for turn in range(3):
        path.write_bytes(b"garbage %d " % turn * 1000)
        with pytest.raises(CorruptLedgerError, match=r"set aside as .*corrupt"):
            count(open_database())
    kept = {file.read_bytes()[:9] for file in path.parent.glob("*.corrupt-*")}
    assert kept == {b"garbage 0", b"garbage 1", b"garbage 2"}


def test_hardening_what_is_not_there_is_no_error(open_database: Callable[[], Database]) -> None:
    database = open_database()
    database.harden()
    bury(database, "a")
    database.harden()
    database.close()
    database.harden()


def test_a_commit_that_fails_is_rolled_back(
    open_database: Callable[[], Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise every later transaction would meet the one that was left open."""
    database = open_database()
    bury(database, "a")
    connection = database._open()

    class Refusing:
        def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
            if statement == "COMMIT":
                raise sqlite3.OperationalError("database is locked")
            return connection.execute(statement, *values)

    with monkeypatch.context() as patch:
        patch.setattr(database, "_open", Refusing)
        with pytest.raises(LedgerError, match="locked"):
            bury(database, "b")
    assert not connection.in_transaction
    bury(database, "c")
    assert count(database) == 2

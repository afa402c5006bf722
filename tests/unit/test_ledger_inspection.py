"""A look at the ledger's file, which changes nothing."""

import sqlite3

from neuron_council.ledger.inspection import Inspection, inspect, set_aside
from neuron_council.ledger.ledger import Ledger
from neuron_council.ledger.schema import MIGRATIONS
from verdicts import judged, unavailable


def test_a_whole_ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    for verdict in (judged("Tea."), unavailable("Ale."), unavailable("Ale.")):
        ledger.add(verdict, about={})
    assert inspect(tmp_path / "ledger.db") == Inspection(3, 1, is_whole=True)  # while it is open elsewhere
    ledger.close()
    assert inspect(tmp_path / "ledger.db") == Inspection(3, 1, is_whole=True)


def test_a_claim_that_loses_its_backend_each_time_is_named(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.add(lost := unavailable("Tea."), about={})
    for number in range(5):
        assert inspect(tmp_path / "ledger.db").dropped is None, number
        ledger.release(ledger.lease("me", 60), "me", again_in_s=0, was_dropped=True)
    ledger.add(unavailable("Ale."), about={})
    ledger.close()
    assert inspect(tmp_path / "ledger.db") == Inspection(2, 2, lost.id, is_whole=True)


def test_a_ledger_of_an_older_format_is_read_as_it_is(tmp_path):
    path = tmp_path / "ledger.db"
    with sqlite3.connect(path) as db:
        for statement in MIGRATIONS[0]:
            db.execute(statement)
        db.execute("PRAGMA user_version = 1")
    db.close()
    before = path.read_bytes()
    assert inspect(path) == Inspection(0, 0, is_whole=True)
    assert path.read_bytes() == before


def test_there_may_be_no_time_to_check_it(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    for number in range(300):
        ledger.add(judged(f"Tea {number}."), about={})
    ledger.close()
    assert inspect(tmp_path / "ledger.db", limit_s=-1) == Inspection(300, 0)


def test_a_corrupt_ledger_stays_where_it_is(tmp_path):
    path = tmp_path / "ledger.db"
    path.write_bytes(b"no database at all" * 100)
    assert "not a database" in inspect(path).fault
    assert [each.name for each in tmp_path.iterdir()] == ["ledger.db"]


def test_a_damaged_page_is_found(tmp_path):
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    for number in range(40):
        ledger.add(judged(f"Tea {number}."), about={})
    ledger.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    found = inspect(path)
    assert found.fault
    assert not found.is_whole


def test_a_newer_and_an_empty_one(tmp_path):
    path = tmp_path / "ledger.db"
    path.touch()
    assert inspect(path) == Inspection(0, 0, is_whole=True)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    assert "newer" in inspect(path).fault


def test_what_was_set_aside(tmp_path):
    for end in ("", "-wal", "-shm", ".corrupt-2", ".corrupt-1", ".corrupt-1-wal", ".corrupt-1-shm"):
        (tmp_path / f"ledger.db{end}").touch()
    assert [each.name for each in set_aside(tmp_path / "ledger.db")] == ["ledger.db.corrupt-1", "ledger.db.corrupt-2"]

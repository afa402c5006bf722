"""What disk, file and other processes do to a ledger, and that no verdict is lost or unsaid for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clock import now
from conftest import Convene
from neuron_council.errors import CorruptLedgerError, CouncilError, LedgerError, UnknownVerdictError
from neuron_council.evidence.pack import ContextPack
from neuron_council.ledger import database as databases
from neuron_council.ledger.ledger import FILE, Ledger
from neuron_council.replay import replay_all
from support import PACK, Stub, refusing_url
from verdicts import ABOUT, judged, unavailable
from wire_harness import Wire

SERVE = (sys.executable, "-m", "neuron_council", "serve")
TESTS = Path(__file__).parents[1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    ledger = Ledger(path)
    yield ledger
    ledger.close()


def filled(path: Path, count: int = 6) -> list[str]:
    """A closed ledger of COUNT verdicts on `Claim N is one.`; their ids."""
    ledger = Ledger(path)
    verdicts = [judged(f"Claim {number} is one.", "The notes say what they say. " * 99) for number in range(count)]
    for verdict in verdicts:
        ledger.add(verdict, about=ABOUT)
    ledger.close()
    return [verdict.id for verdict in verdicts]


def content(path: Path) -> bytes:
    return path.read_bytes()


def asides(path: Path) -> list[Path]:
    return [file for file in path.parent.glob(f"{path.name}.corrupt-*") if not file.name.endswith(("-wal", "-shm"))]


async def kept(council: Convene, claim: str) -> list[str]:
    return [entry.id for entry in (await council.list(text=claim)).entries]


# A home that cannot be written


@contextlib.contextmanager
def sealed(folder: Path) -> Iterator[None]:
    """FOLDER takes no new file and loses none, for root as well."""
    if os.geteuid() != 0:
        folder.chmod(0o500)
        yield
        folder.chmod(0o700)
        return
    if (
        not shutil.which("chattr")
        or subprocess.run(["chattr", "+i", folder], capture_output=True, check=False).returncode
    ):
        pytest.skip("root's files cannot be sealed here")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", folder], check=True)


async def test_a_home_that_cannot_be_written_stops_no_verdict(convene: Convene, tmp_path: Path) -> None:
    council = await convene()
    with sealed(tmp_path):
        verdict = await council.verify(PACK)
        away = await council.verify(ContextPack("Rain is wet."))
    assert verdict.outcome.tags == ("verified",)
    for each in (verdict, away):
        (warning,) = each.warnings
        assert str(tmp_path / FILE) in warning
    assert (await council.verify(PACK)).warnings == ()


async def test_a_file_in_the_folder_s_place_stops_no_verdict(convene: Convene, tmp_path: Path) -> None:
    (tmp_path / "council").write_text("mine")
    council = await convene()
    verdict = await council.verify(PACK)
    assert verdict.outcome.tags == ("verified",)
    assert len(verdict.warnings) == 1
    assert (tmp_path / "council").read_text() == "mine"
    with pytest.raises(LedgerError):
        await council.list()


async def test_unavailable_is_answered_in_time_without_a_ledger(convene: Convene, tmp_path: Path) -> None:
    (tmp_path / "council").write_text("mine")
    council = await convene(refusing_url())
    began = now()
    verdict = await council.verify(PACK)
    assert now() - began < 1.5
    assert verdict.outcome.status == "unavailable"
    assert any(str(tmp_path / FILE) in warning for warning in verdict.warnings)


async def test_what_cannot_be_counted_is_unknown(convene: Convene, tmp_path: Path) -> None:
    (tmp_path / "council").write_text("mine")
    council = await convene()
    assert (await council.health()).pending is None


def test_a_full_disk_stops_no_verdict_and_takes_none_back(stub: Stub, tmp_path: Path) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))

    env = {"OLLAMA_HOST": stub.url}
    stored, unstored = {}, []
    with Wire(tmp_path, SERVE, env=env, preexec_fn=limited) as wire:
        for number in range(60):
            given = {"claim": f"Claim {number} is one.", "context": "The notes say what they say. " * 300}
            verdict = wire.ask(number + 1, "council/verify", given)["result"]
            assert verdict["status"] == "emitted"
            if verdict["warnings"]:
                unstored.append(verdict)
                if len(unstored) == 3:
                    break
            else:
                stored[verdict["id"]] = verdict
        assert wire.leave() == 0
        assert wire.stderr == b""
    assert len(stored) > 5
    assert len(unstored) == 3
    assert all(str(tmp_path / FILE) in verdict["warnings"][0] for verdict in unstored)
    with Wire(tmp_path, SERVE, env=env) as wire:  # there is room again
        for number, (ident, verdict) in enumerate(stored.items(), 1):
            shown = wire.ask(number, "council/show", {"id": ident})["result"]
            beside = dict.fromkeys(("review", "supersedes", "superseded_by", "waiting"))
            assert shown == {**verdict, "context": given["context"], **beside}
        for number, verdict in enumerate(unstored, 1):
            assert wire.ask(-number, "council/show", {"id": verdict["id"]})["error"]["code"] == -32001
        after = wire.ask("after", "council/verify", {"claim": "There is room again."})["result"]
        assert after["warnings"] == []


async def test_a_ledger_that_somebody_holds_locked_stops_no_verdict(
    convene: Convene, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "BUSY_MS", 100)
    filled(path)
    council = await convene()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    verdict = await council.verify(PACK)
    assert verdict.outcome.tags == ("verified",)
    assert "locked" in verdict.warnings[0]
    holder.execute("ROLLBACK")
    holder.close()
    assert (await council.verify(PACK)).warnings == ()
    assert asides(path) == []


# A corrupt file


def garbage(path: Path) -> None:
    path.write_bytes(b"This was never a database. " * 500)


def garbage_header(path: Path) -> None:
    path.write_bytes(b"\xa5" * 100 + path.read_bytes()[100:])


def torn(path: Path) -> None:
    """The first page of each table and index is zeros."""
    data = bytearray(path.read_bytes())
    data[4096 : 4096 * 12] = bytes(4096 * 11)
    path.write_bytes(data)


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096 + 1000)


DAMAGES = [garbage, garbage_header, torn, truncated]


@pytest.mark.parametrize("has_started", [False, True], ids=["", "started"])
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_corrupt_file_is_set_aside_and_the_verdict_says_so(
    convene: Convene, path: Path, damage: Callable[[Path], None], *, has_started: bool
) -> None:
    """Whoever meets the fault first, a read, a write or the background: the next verdict tells the person."""
    filled(path)
    damage(path)
    before = content(path)
    council = await convene(warm=has_started)
    if has_started:
        await asyncio.sleep(0.2)  # the background has looked
    verdict = await council.verify(PACK)
    assert verdict.outcome.tags == ("verified",)
    (aside,) = asides(path)
    (warning,) = verdict.warnings
    assert str(aside) in warning
    assert "corrupt" in warning
    assert content(aside) == before
    assert (await council.show(verdict.id)).verdict.pack == PACK
    assert (await council.verify(ContextPack("Rain is wet."))).warnings == ()  # it is said once
    assert len(asides(path)) == 1


async def test_a_file_that_goes_bad_while_it_is_open_is_set_aside(convene: Convene, path: Path) -> None:
    council = await convene()
    await council.verify(PACK)
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    torn(path)
    before = content(path)
    other = await council.verify(ContextPack("Rain is wet."))
    assert other.outcome.tags == ("verified",)
    for aside in asides(path):
        assert content(aside) == before
    assert await kept(council, "Rain") == [other.id]


async def test_a_file_without_a_byte_is_new(convene: Convene, path: Path) -> None:
    filled(path, 1)
    os.truncate(path, 0)
    council = await convene()
    verdict = await council.verify(PACK)
    assert verdict.warnings == ()
    assert await kept(council, "") == [verdict.id]
    assert asides(path) == []


def works(ledger: Ledger, ids: list[str]) -> list[Callable[[], object]]:
    """All that is done with a ledger."""
    return [
        ledger.list,
        lambda: ledger.list(tag="verified", text="claim"),
        *(lambda ident=ident: ledger.show(ident) for ident in ids),  # type: ignore[misc]  # the default is a str
        lambda: ledger.answer(str(uuid.uuid4()), ContextPack("Tea.")),
        lambda: ledger.cached("k", 1e9),
        ledger.pending,
        ledger.announcements,
        lambda: ledger.lease("me", 1),
        lambda: ledger.hasten(None),
        lambda: replay_all(ledger),
        lambda: ledger.add(judged("Tea is a drink."), about=ABOUT),
        lambda: ledger.review(ids[0], "accept", None),
        lambda: ledger.acknowledge(ids),
        lambda: ledger.forget(ids[1]),
    ]


@pytest.mark.parametrize("fill", [b"\xa5", b"x", b"\0"])
def test_whatever_page_is_torn_the_ledger_says_so_in_its_own_words(path: Path, tmp_path: Path, fill: bytes) -> None:
    """Only errors of ours; what was there is kept as it was where it is set aside; and the next verdict is stored."""
    ids = filled(path, 3)
    whole = path.read_bytes()
    pages = len(whole) // 4096
    assert pages > 15
    for page in range(pages):
        home = tmp_path / str(page)
        copy = home / FILE
        copy.parent.mkdir(parents=True)
        damaged = bytearray(whole)
        damaged[page * 4096 : (page + 1) * 4096] = fill * 4096
        copy.write_bytes(damaged)
        ledger = Ledger(copy)
        for number, work in enumerate(works(ledger, ids)):
            try:
                work()
            except CorruptLedgerError:
                (aside,) = asides(copy)
                if number < 13:  # nothing was written before
                    assert aside.read_bytes()[4096:] == bytes(damaged)[4096:]
                break
            except CouncilError:
                pass
        verdict = judged("Rain is wet.")
        with contextlib.suppress(CorruptLedgerError):
            ledger.add(verdict, about=ABOUT)
        if ledger.answer(verdict.id, verdict.pack) is None:
            ledger.add(verdict, about=ABOUT)
        assert ledger.show(verdict.id).verdict == verdict
        ledger.close()


@pytest.mark.parametrize("damage", ["evidence = '{'", "decision = '[]'", "evidence = CAST(x'ff' || evidence AS TEXT)"])
async def test_a_row_that_cannot_be_read_is_no_end_of_the_rest(convene: Convene, path: Path, damage: str) -> None:
    council = await convene()
    old = await council.verify(PACK)
    other = await council.verify(ContextPack("Rain is wet."))
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute(f"UPDATE verdict SET {damage} WHERE id = ?", (old.id,))  # noqa: S608 - a word of the test
        db.commit()
    again = await council.verify(PACK)
    assert (again.outcome.tags, again.cached, again.warnings) == (("verified",), False, ())
    with pytest.raises(LedgerError) as caught:
        await council.show(old.id)
    assert old.id in str(caught.value)
    assert "members" not in str(caught.value)  # nothing that stands in the ledger is quoted
    assert (await council.show(other.id)).verdict == other
    found = await council.replay()
    assert (found.checked, [each.id for each in found.differing]) == (3, [old.id])
    await council.forget(old.id)
    assert await kept(council, "") == [other.id]


# A newer version


async def test_a_newer_ledger_is_left_alone_and_the_verdict_says_so(convene: Convene, path: Path) -> None:
    filled(path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = content(path)
    council = await convene()
    verdict = await council.verify(PACK)
    assert verdict.outcome.tags == ("verified",)
    assert "newer" in verdict.warnings[0]
    assert content(path) == before
    assert asides(path) == []


# More than one process

WRITER = """
import sys
sys.path[:0] = [{tests!r}]
from pathlib import Path
from neuron_council.ledger.ledger import Kept, Ledger
from verdicts import ABOUT, judged, unavailable
name, home, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
ledger = Ledger(home)
for number in range(count):
    verdict = judged(f"{{name}} says {{number}}.", "The notes say what they say. " * 150)
    assert ledger.cached("k", 60) is None
    assert ledger.add(verdict, about=ABOUT) == Kept(verdict)
    print(verdict.id, flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def writer(path: Path, name: str, count: int) -> Iterator[subprocess.Popen[str]]:
    """Another process that adds COUNT verdicts, prints their ids, and stays until its stdin ends."""
    command = [sys.executable, "-c", WRITER.format(tests=str(TESTS)), name, str(path), str(count)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_two_processes_lose_nothing_and_never_find_it_locked(path: Path, ledger: Ledger) -> None:
    with writer(path, "one", 100) as one, writer(path, "two", 100) as two:
        printed = [process.communicate(timeout=30) for process in (one, two)]
        assert [(process.returncode, errors) for process, (_, errors) in zip((one, two), printed, strict=True)] == [
            (0, "")
        ] * 2
    ids = {line for out, _ in printed for line in out.split()}
    assert len(ids) == 200
    assert {entry.id for entry in ledger.list(limit=1000).entries} == ids
    found = replay_all(ledger)
    assert (found.checked, found.identical) == (200, 200)


def test_what_a_killed_process_wrote_is_there(path: Path, ledger: Ledger) -> None:
    with writer(path, "one", 5) as process:
        assert process.stdout is not None
        ids = [process.stdout.readline().strip() for _ in range(5)]
        process.kill()
        process.wait(10)
        assert path.with_name("ledger.db-wal").stat().st_size > 0
        assert {entry.id for entry in ledger.list().entries} == set(ids)
        for ident in ids:
            assert ledger.show(ident).verdict.id == ident


# Forgetting, to the byte

CLAIM = 'Die Möwe „Quokka“ sagt: "Tee\tist ein Trank", 茶.'
CONTEXT = 'Notizen der Möwe „Wombat“:\n"Tee\\Chá" — 茶. ' * 300
SAID = 'Der Dingo meint: "ja",\nund die Möwe auch. ' * 20
NOTE = 'Der Kakapo sagt: "nein".'
ANIMALS = ("Quokka", "Wombat", "Dingo", "Kakapo")
FRAGMENTS = ("Möwe", 'sagt: "Tee', "Tee\\Chá", 'meint: "ja"', 'sagt: "nein"')


def forms(text: str) -> set[bytes]:
    """TEXT as bytes: as it is, and as JSON has it with and without other letters."""
    written = [text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]]
    return {form.encode() for form in written} | {text.encode("utf-16-le"), text.encode("utf-16-be")}


def traces(home: Path) -> set[str]:
    """The words of ANIMALS and FRAGMENTS that some file under HOME holds."""
    files = [file.read_bytes() for file in home.rglob("*") if file.is_file()]
    words = (*ANIMALS, *FRAGMENTS)
    return {word for word in words if any(form in data for form in forms(word) for data in files)}


@pytest.fixture
def told(ledger: Ledger) -> tuple[str, list[str]]:
    """A verdict full of animals, with a note, among others; its id and theirs."""
    others = [judged(f"Claim {number} is one.", "The notes say what they say. " * 99) for number in range(8)]
    verdict = judged(CLAIM, CONTEXT, votes="ppc", said=SAID, warnings=(SAID[:40],))
    for each in (*others[:4], verdict, *others[4:]):
        ledger.add(each, about=ABOUT)
    ledger.review(verdict.id, "accept", NOTE + " " + NOTE)
    ledger.review(verdict.id, "reject", NOTE)
    return verdict.id, [other.id for other in others]


def test_before_it_is_forgotten_it_is_found(tmp_path: Path, told: tuple[str, list[str]]) -> None:
    """Else the tests below would prove nothing."""
    assert told
    assert traces(tmp_path) == {*ANIMALS, *FRAGMENTS}


@pytest.mark.parametrize("is_in_wal", [True, False])
def test_forgotten_text_is_in_no_file(
    ledger: Ledger, path: Path, tmp_path: Path, told: tuple[str, list[str]], *, is_in_wal: bool
) -> None:
    ident, others = told
    if not is_in_wal:
        ledger.close()
        assert not path.with_name("ledger.db-wal").exists()
    ledger.forget(ident)
    assert traces(tmp_path) == set()
    for other in others:
        assert ledger.show(other).verdict.id == other
    assert replay_all(ledger).identical == len(others)
    ledger.close()
    assert traces(tmp_path) == set()
    assert ident.encode() in path.read_bytes()  # the tombstone


def test_forgotten_text_is_in_no_file_with_others_at_it(
    ledger: Ledger, path: Path, tmp_path: Path, told: tuple[str, list[str]]
) -> None:
    with writer(path, "one", 20) as other:
        assert other.stdout is not None
        assert other.stdout.readline()
        ledger.forget(told[0])
        assert traces(tmp_path) == set()
        for _ in range(19):
            assert other.stdout.readline()
        assert traces(tmp_path) == set()


def test_a_reader_is_waited_for(ledger: Ledger, path: Path, tmp_path: Path, told: tuple[str, list[str]]) -> None:
    reader = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM verdict").fetchone() == (9,)
    timer = threading.Timer(0.4, lambda: reader.execute("COMMIT"))
    timer.start()
    ledger.forget(told[0])
    assert traces(tmp_path) == set()
    timer.join()
    reader.close()


def test_a_reader_who_does_not_end_is_told_of_and_asking_again_cures_it(
    ledger: Ledger, path: Path, tmp_path: Path, told: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "BUSY_MS", 100)
    ledger.close()  # so that the new connection waits no longer
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM verdict").fetchone() == (9,)
    with pytest.raises(LedgerError, match="again"):
        ledger.forget(told[0])
    with pytest.raises(UnknownVerdictError):
        ledger.show(told[0])
    reader.execute("COMMIT")
    reader.close()
    ledger.forget(told[0])
    assert traces(tmp_path) == set()


def test_forgetting_again_is_no_error(ledger: Ledger, told: tuple[str, list[str]]) -> None:
    ledger.forget(told[0])
    ledger.forget(told[0])
    assert len(ledger.list().entries) == 8


def test_what_the_client_keeps_under_the_ids_goes_too(
    ledger: Ledger, path: Path, tmp_path: Path, told: tuple[str, list[str]]
) -> None:
    ident, others = told
    for folder in ("unsent", "pending", "held"):
        for name in (ident, others[0]):
            file = path.parent / folder / f"{name}.eld"
            file.parent.mkdir(exist_ok=True)
            file.write_text(CLAIM if name == ident else "Somebody else's.")
    ledger.forget(ident)
    assert traces(tmp_path) == set()
    kept = [file.name for folder in ("unsent", "pending", "held") for file in (path.parent / folder).iterdir()]
    assert kept == [f"{others[0]}.eld"] * 3


def test_a_copy_that_was_set_aside_goes_with_what_it_holds(path: Path, tmp_path: Path) -> None:
    """Its pages cut texts anywhere, so nothing less than the whole file is sure."""
    old = Ledger(path)
    for verdict in (judged(CLAIM, CONTEXT), judged("Rain is wet.", "The notes say that rain is wet.")):
        old.add(verdict, about=ABOUT)
    old.close()
    garbage_header(path)
    ledger = Ledger(path)
    with pytest.raises(CorruptLedgerError):
        ledger.pending()
    assert traces(tmp_path) >= {"Quokka", "Wombat"}
    again, other = judged(CLAIM, CONTEXT), judged("Tea is a plant of the hills.")
    ledger.add(again, about=ABOUT)
    ledger.add(other, about=ABOUT)
    ledger.forget(other.id)
    assert len(asides(path)) == 1
    ledger.forget(again.id)
    ledger.close()
    assert asides(path) == []
    assert traces(tmp_path) == set()


def test_a_note_that_was_replaced_goes_too(ledger: Ledger, tmp_path: Path) -> None:
    verdict = judged("Tea is a drink.", votes="ppc")
    ledger.add(verdict, about=ABOUT)
    for animal in ANIMALS:
        ledger.review(verdict.id, "accept", f"{animal} says so. " * 200)
    ledger.forget(verdict.id)
    assert traces(tmp_path) == set()


async def test_both_verdicts_of_a_reevaluated_claim_go(stub: Stub, convene: Convene, tmp_path: Path) -> None:
    away = await convene(refusing_url())
    old = await away.verify(ContextPack(CLAIM, CONTEXT))
    await away.close()
    council = await convene()
    await until_settled(council)
    (new,) = [entry for entry in (await council.list()).entries if entry.id != old.id]
    assert traces(tmp_path) >= {"Quokka", "Wombat"}
    await council.forget(old.id)
    for ident in (old.id, new.id):
        with pytest.raises(UnknownVerdictError):
            await council.show(ident)
    assert traces(tmp_path) == set()
    assert stub.votes()


async def until_settled(council: Convene) -> None:
    async with asyncio.timeout(10):
        while (await council.health()).pending:  # noqa: ASYNC110 - the ledger tells nobody
            await asyncio.sleep(0.02)


def test_a_queued_claim_leaves_nothing(ledger: Ledger, tmp_path: Path) -> None:
    verdict = unavailable(CLAIM, CONTEXT)
    ledger.add(verdict, about=ABOUT)
    ledger.lease("me", 15)
    ledger.forget(verdict.id)
    assert traces(tmp_path) == set()


def test_the_whole_server_leaves_nothing(stub: Stub, tmp_path: Path) -> None:
    """Logs and what else it writes included, while it runs and after."""
    stub.script(
        models={"dolphin3:8b": {"ballot": "confabulation"}}, default={"rationale": SAID[:300], "argument": SAID[:300]}
    )
    with Wire(tmp_path, SERVE, env={"OLLAMA_HOST": stub.url}) as wire:
        verdict = wire.ask(1, "council/verify", {"claim": CLAIM, "context": CONTEXT})["result"]
        assert "result" in wire.ask(2, "council/review", {"id": verdict["id"], "decision": "reject", "note": NOTE})
        assert traces(tmp_path) >= set(ANIMALS)
        assert wire.ask(3, "council/forget", {"id": verdict["id"]})["result"] == {"forgotten": 1}
        assert traces(tmp_path) == set()
        assert wire.ask(4, "council/show", {"id": verdict["id"]})["error"]["code"] == -32001
        again = wire.ask(5, "council/verify", {"claim": CLAIM, "context": CONTEXT, "id": verdict["id"]})
        assert again["error"]["code"] == -32001
        assert wire.ask(6, "council/list", {"text": "Quokka"})["result"]["verdicts"] == []
        assert wire.ask(7, "council/replay", {})["result"]["checked"] == 0
        stub.reset()
        anew = wire.ask(8, "council/verify", {"claim": "Rain is wet."})["result"]
        assert not anew["cached"]
        assert wire.leave() == 0
        assert wire.stderr == b""
    assert traces(tmp_path) == set()

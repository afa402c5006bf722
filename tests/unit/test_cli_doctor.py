"""`neuron-council doctor`: it finds what is broken, names the cure, and changes nothing."""

import json
import os
import sqlite3

import pytest

from neuron_council.cli import checks
from neuron_council.ledger.ledger import Ledger
from support import refusing_url
from verdicts import judged, unavailable


@pytest.fixture
def emacs(shell, tmp_path):
    """Puts an Emacs that says a version on PATH, or none."""
    folder = tmp_path / "bin"
    folder.mkdir()
    shell.monkeypatch.setenv("PATH", str(folder))

    def install(said="GNU Emacs 30.1"):
        program = folder / "emacs"
        program.write_text(f"#!/bin/sh\necho '{said}'\n")
        program.chmod(0o755)

    return install


@pytest.fixture
def healthy(shell, stub, emacs):
    """A home with a verdict, an Ollama with the default board, and an Emacs."""
    shell.monkeypatch.setenv("OLLAMA_HOST", stub.url)
    emacs()
    shell.keep(judged("Tea is a secret."))


def faults(said):
    """What is to be mended, by name."""
    found = json.loads(said.out)
    assert all(set(check) == {"area", "name", "state", "says", "cure"} for check in found["checks"])
    assert all(check["cure"] is None for check in found["checks"] if check["state"] == "ok")
    faulty = in_state(found, "error")
    assert found["healthy"] is not bool(faulty)
    assert said.code == bool(faulty)
    assert all(check["cure"] for check in faulty.values())
    return faulty


def in_state(found, state):
    """The checks in STATE, by name."""
    return {check["name"]: check for check in found["checks"] if check["state"] == state}


def snapshot(home):
    return {path: path.stat().st_mtime_ns for path in home.rglob("*")}


@pytest.mark.usefixtures("healthy")
def test_a_healthy_council(shell, stub):
    before = snapshot(shell.home)
    said = shell("doctor")
    assert (said.code, said.err) == (0, "")
    assert said.out.endswith("\nNothing to mend, 1 warning.\n")
    for text in (
        f"{stub.url}: answers, version 0.40.12",
        "neuron (neuron:latest): installed, not resident",
        "mode 0600",
        "verdicts: 1",
        "integrity: whole",
        "Emacs: 30.1",
        "protocol: 1",
    ):
        assert text in said.out
    assert "secret" not in said.out
    assert snapshot(shell.home) == before
    assert not stub.calls("/api/chat")


@pytest.mark.usefixtures("healthy")
def test_what_is_resident(shell, stub):
    stub.script(resident={"neuron:latest": 8192})
    said = shell("doctor").out
    assert "neuron (neuron:latest): installed, resident" in said
    assert "dolphin (dolphin3:8b): installed, not resident" in said


def test_an_empty_home_is_no_fault_and_stays_empty(shell, stub, emacs):
    emacs()
    shell.monkeypatch.setenv("OLLAMA_HOST", stub.url)
    assert shell("doctor").code == 0
    assert not shell.home.exists()


@pytest.mark.usefixtures("healthy")
def test_models_to_install_and_a_backend_to_start(shell, stub):
    stub.script(
        installed=["neuron:latest", "neuron-ft:latest"],
        digests=dict.fromkeys(("neuron:latest", "neuron-ft:latest"), "a"),
    )
    found = faults(shell("doctor", "--json"))
    assert set(found) == {"neuron-ft", "dolphin (dolphin3:8b)"}
    assert "same weights" in found["neuron-ft"]["says"]
    assert "ollama pull dolphin3:8b" in found["dolphin (dolphin3:8b)"]["cure"]
    shell.monkeypatch.setenv("OLLAMA_HOST", nobody := refusing_url())
    found = faults(shell("doctor", "--json"))
    assert set(found) == {nobody}
    assert "ollama serve" in found[nobody]["cure"]


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize("text", ["[[[", "[council]\nmax_loops = 9\n", "[nonsense]\n", "\xff"])
def test_a_broken_configuration_hides_nothing_else(shell, stub, text):
    (shell.home / "council.toml").write_text(text, "latin-1")
    found = faults(shell("doctor", "--json"))
    assert set(found) == {"settings"}
    assert "council.toml" in found["settings"]["says"]
    assert "init --force" in found["settings"]["cure"]
    assert stub.calls("/api/tags")


@pytest.mark.usefixtures("healthy")
def test_broken_variables(shell):
    shell.monkeypatch.setenv("NEURON_COUNCIL_MAX_LOOPS", "many")
    shell.monkeypatch.setenv("OLLAMA_HOST", "ftp://x")
    assert "settings" in faults(shell("doctor", "--json"))
    shell.monkeypatch.delenv("NEURON_COUNCIL_MAX_LOOPS")
    shell.monkeypatch.delenv("OLLAMA_HOST")
    shell.monkeypatch.setenv("NEURON_COUNCIL_NONSENSE", "1")
    assert "variable" in faults(shell("doctor", "--json"))


@pytest.mark.usefixtures("healthy")
def test_a_corrupt_ledger_is_found_and_left(shell):
    held = b"no database at all" * 100
    shell.path.write_bytes(held)
    aside = shell.path.with_name("ledger.db.corrupt-20260101T000000")
    aside.write_bytes(held)
    found = faults(shell("doctor", "--json"))
    assert set(found) == {"integrity", "set aside"}
    assert "not a database" in found["integrity"]["says"]
    assert str(aside) in found["set aside"]["says"]
    assert shell.path.read_bytes() == held


@pytest.mark.usefixtures("healthy")
def test_a_newer_ledger(shell):
    with sqlite3.connect(shell.path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    assert faults(shell("doctor", "--json"))["integrity"]["cure"] == "Update neuron-council."


@pytest.mark.usefixtures("healthy")
def test_files_that_others_may_read(shell):
    shell.path.chmod(0o644)
    found = faults(shell("doctor", "--json"))
    assert found["file"]["cure"] == f"chmod 600 {shell.path}"


@pytest.mark.usefixtures("healthy")
def test_what_was_copied_by_hand_and_is_open_to_others(shell):
    assert set(in_state(json.loads(shell("doctor", "--json").out), "warning")) == {"server"}
    board = shell.home / "council.toml"
    board.touch(0o640)
    shell.home.chmod(0o750)
    shell.path.parent.chmod(0o701)
    said = shell("doctor", "--json")
    assert not faults(said)
    found = in_state(json.loads(said.out), "warning")
    assert {name: check["cure"] for name, check in found.items() if name != "server"} == {
        "home": f"chmod 700 {shell.home}",
        "file": f"chmod 600 {board}",
        "folder": f"chmod 700 {shell.path.parent}",
    }
    assert "mode 0640" in found["file"]["says"]
    assert shell("doctor").out.endswith("\nNothing to mend, 4 warnings.\n")
    for path, mode in ((shell.home, 0o700), (shell.path.parent, 0o700), (board, 0o600)):
        path.chmod(mode)
    assert set(in_state(json.loads(shell("doctor", "--json").out), "warning")) == {"server"}


@pytest.mark.usefixtures("healthy")
def test_a_claim_that_loses_its_backend_each_time_is_told(shell):
    shell.keep(lost := unavailable("Tea is a drink."))
    ledger = Ledger(shell.path)
    for _ in range(5):
        ledger.release(ledger.lease("me", 60), "me", again_in_s=0, was_dropped=True)
    ledger.close()
    said = shell("doctor")
    assert f"tries: {lost.id} loses a backend that was there again and again" in said.out
    assert f"neuron-council forget {lost.id}." in said.out


@pytest.mark.usefixtures("healthy")
def test_pending_claims_are_told(shell):
    shell.keep(unavailable("Ale."))
    said = shell("doctor")
    assert said.code == 0
    assert "pending: 1 claims nobody could judge" in said.out
    assert "neuron-council reevaluate" in said.out


def test_a_home_that_is_no_folder(shell, stub, emacs):
    emacs()
    shell.monkeypatch.setenv("OLLAMA_HOST", stub.url)
    shell.home.write_text("a file")
    assert "home" in faults(shell("doctor", "--json"))


@pytest.mark.usefixtures("healthy")
def test_a_full_disk(shell, monkeypatch):
    monkeypatch.setattr(checks, "MIN_FREE", 1 << 80)
    assert "left on its disk" in faults(shell("doctor", "--json"))["home"]["says"]


@pytest.mark.parametrize(
    ("version", "word"),
    [(None, "no program"), ("GNU Emacs 27.2", "27.2 is too old"), ("XEmacs", "does not tell its version")],
)
def test_an_emacs_that_is_missing_or_too_old(shell, stub, emacs, version, word):
    shell.monkeypatch.setenv("OLLAMA_HOST", stub.url)
    if version:
        emacs(version)
    found = faults(shell("doctor", "--json"))
    assert set(found) == {"Emacs"}
    assert word in found["Emacs"]["says"]


@pytest.mark.usefixtures("healthy")
def test_a_check_that_fails_is_a_finding(shell, monkeypatch):
    def fail(*_):
        raise RuntimeError("a\nfault")

    monkeypatch.setattr(checks, "_folder", fail)
    found = faults(shell("doctor", "--json"))
    assert {"configuration", "ledger", "log"} == set(found)
    assert "RuntimeError" in found["ledger"]["says"]
    assert "3 things to mend, 1 warning." in shell("doctor").out


def test_a_backend_of_another_kind(shell, emacs):
    emacs()
    url = refusing_url()
    board = "".join(
        f'[[member]]\nid = "m{n}"\nmodel = "x{n}"\nrole = "{role}"\nbackend = "{backend}"\n{line}\n'
        for n, (role, backend, line) in enumerate(
            [("member", "openai", f'base_url = "{url}"'), ("member", "embedded", ""), ("contrarian", "embedded", "")]
        )
    )
    shell.home.mkdir()
    (shell.home / "council.toml").write_text(board)
    found = faults(shell("doctor", "--json"))
    assert "Start the server" in found[url]["cure"]
    assert "GGUF" in found["m1 (x1)"]["cure"]
    assert os.fspath(shell.home) in shell("doctor").out


@pytest.mark.usefixtures("healthy")
def test_what_emacs_keeps_beside_the_ledger_is_counted(shell):
    for name, count in (("unsent", 2), ("pending", 3), ("held", 1)):
        (shell.path.parent / name).mkdir()
        for number in range(count):
            (shell.path.parent / name / f"{number}.eld").touch()
    said = shell("doctor")
    assert said.code == 0
    assert "unsent: 2 claims wait in Emacs" in said.out
    assert "pending: 3 claims wait in Emacs" in said.out
    assert "held: 1 claims await your decision" in said.out

"""`neuron-council batch`: many claims, a few at a time, interrupted and resumed."""

import asyncio
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from neuron_council.cli import batch
from neuron_council.cli.bar import Bar
from neuron_council.cli.results import ResultFile, ResultsError
from neuron_council.errors import TakenIdError
from shell import Terminal
from verdicts import judged, unavailable

IDENT = "12345678-1234-4234-8234-123456789abc"


def jsonl(*lines) -> bytes:
    return b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)


def written(path):
    """The results in PATH, every line of it whole."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def council(monkeypatch):
    """A council without models: claims that begin with "away" are unavailable, "taken" is refused, "crash" crashes."""
    seen = SimpleNamespace(calls=[], at_a_time=0, most=0, events=[], is_away=True)

    class Council:
        def __init__(self, settings) -> None:
            seen.settings = settings

        async def warm_up(self) -> None:
            seen.events.append("warm")

        async def close(self) -> None:
            seen.events.append("close")

        async def verify(self, pack, *, id, fresh, is_urgent):  # noqa: A002
            seen.events.append("verify")
            seen.calls.append((pack.claim, pack.context, id, fresh, is_urgent))
            seen.at_a_time += 1
            seen.most = max(seen.most, seen.at_a_time)
            await asyncio.sleep(0)
            seen.at_a_time -= 1
            word = pack.claim.split()[0].strip(".")
            if word == "taken":
                raise TakenIdError("It belongs to another claim.")
            if word == "crash":
                raise RuntimeError(pack.claim)
            give = unavailable if word == "away" and seen.is_away else judged
            return give(pack, **({"id": id} if id else {}))

    monkeypatch.setitem(sys.modules, "neuron_council.council", SimpleNamespace(Council=Council))
    return seen


def test_every_line_gets_its_result(shell, council):
    given = jsonl(
        {"claim": "Tea is a drink.", "context": "Notes."}, {"claim": "Ale is a drink.", "id": IDENT, "fresh": True}
    )
    said = shell("batch", "-", stdin=given)
    assert (said.code, said.err) == (0, "")
    first, second = map(json.loads, said.out.splitlines())
    assert (first["line"], first["claim"], first["status"], len(first["votes"])) == (1, "Tea is a drink.", "emitted", 3)
    assert (second["line"], second["id"]) == (2, IDENT)
    assert council.calls == [
        ("Tea is a drink.", "Notes.", None, False, False),
        ("Ale is a drink.", "", IDENT, True, False),
    ]


def test_it_warms_up_first_and_asks_a_few_at_a_time(shell, council):
    assert shell("batch", "-", stdin=jsonl(*({"claim": f"Tea {number}."} for number in range(20)))).code == 0
    assert council.most == 4
    assert (council.events[0], council.events[-1], council.events.count("close")) == ("warm", "close", 1)


def test_lines_at_fault_are_no_fault_of_the_rest(shell, council):
    lines = [
        b'\xef\xbb\xbf{"claim": "Tea."}',
        b"not json, but a secret",
        b"",
        b'["a", "list"]',
        b'{"claim": "\xff"}',
        b'{"claim": 5}',
        b'{"claim": "x", "id": "7"}',
        b"[" * 100_000,
        b'{"claim": ' + b"9" * 5000 + b"}",
        b'{"claim": "taken"}',
        b'{"claim": "crash a secret"}',
        b'{"claim": "away"}\r',
    ]
    said = shell("batch", "-", stdin=jsonl(*lines)[:-1])
    assert said.code == 3
    assert said.err == (
        "neuron-council: 10 of 11 claims have no verdict: 9 at fault, 1 unavailable; their lines say why\n"
    )
    results = {result["line"]: result for result in map(json.loads, said.out.splitlines())}
    assert sorted(results) == [1, 2, *range(4, 13)]
    assert (results[1]["status"], results[12]["status"]) == ("emitted", "unavailable")
    codes = [results[number]["error"]["code"] for number in range(4, 12)]
    assert codes == [-32602, -32700, -32602, -32602, -32700, -32700, -32602, -32603]
    assert "secret" not in "".join(results[number]["error"]["message"] for number in (2, 11))
    assert results[7]["error"]["message"].startswith("id: ")
    assert [call[0] for call in council.calls] == ["Tea.", "taken", "crash a secret", "away"]


def test_keys_that_mean_nothing_here_are_named(shell, council):
    private = "Nobody may know that tea is a drink, least of all from here"
    lines = [{"claim": "Tea.", "contxt": "Notes."}, {"text": "Ale."}, {"claim": "Gin.", "contxt": "x"}, {private: 1}]
    said = shell("batch", "-", stdin=jsonl(*lines))
    assert said.code == 3
    known = "known are claim, context, id, fresh"
    assert said.err.splitlines()[:3] == [
        f"neuron-council: the key contxt is passed over in 2 lines, the first is 1; {known}",
        f"neuron-council: the key text is passed over in line 2; {known}",
        f"neuron-council: the key (no name) is passed over in line 4; {known}",
    ]
    assert "Nobody" not in said.err + said.out
    assert [call[0] for call in council.calls] == ["Tea.", "Gin."]


def test_a_summary_is_short(shell, council):  # noqa: ARG001 - without the fixture, models would be asked
    said = shell("batch", "-", "--summary", stdin=jsonl({"claim": "Tea."}))
    assert list(json.loads(said.out)) == ["line", "digest", *batch.SUMMARY]


def test_what_is_answered_is_not_judged_again(shell, council, tmp_path):
    out, given = tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    given.write_bytes(
        jsonl({"claim": "Tea."}, {"claim": "away", "id": IDENT}, b"broken", {"claim": "Ale.", "context": "a"})
    )
    assert shell("batch", str(given), "--output", str(out)).code == 3
    assert out.stat().st_mode & 0o777 == 0o600
    before = out.read_bytes()
    assert len(before.splitlines()) == 4
    council.calls.clear()
    council.is_away = False
    given.write_bytes(
        jsonl({"claim": "Tea."}, {"claim": "away", "id": IDENT}, b"broken", {"claim": "Ale.", "context": "b"})
    )
    assert shell("batch", str(given), "--output", str(out)).code == 3
    # The id stays that of the verdict that says unavailable; the new one supersedes it.
    assert council.calls == [("away", "", None, False, False), ("Ale.", "b", None, False, False)]
    assert out.read_bytes().startswith(before)
    assert [(result["line"], result["status"]) for result in written(out)[4:]] == [(2, "emitted"), (4, "emitted")]
    council.calls.clear()
    given.write_bytes(jsonl({"claim": "Tea."}, {"claim": "away", "id": IDENT}))
    assert shell("batch", str(given), "--output", str(out)).code == 0
    assert council.calls == []


@pytest.mark.parametrize("cut", [1, 9, 40, -2])
def test_a_half_written_line_is_taken_away(shell, council, tmp_path, cut):
    out, given = tmp_path / "out.jsonl", jsonl({"claim": "Tea."}, {"claim": "Ale."})
    shell("batch", "-", "--output", str(out), stdin=given)
    first, second = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(first + second[:cut])
    council.calls.clear()
    assert shell("batch", "-", "--output", str(out), stdin=given).code == 0
    assert [call[0] for call in council.calls] == ["Ale."]
    assert [result["line"] for result in written(out)] == [1, 2]
    # Also where it is the only one.
    out.write_bytes(first[:cut])
    assert shell("batch", "-", "--output", str(out), stdin=given).code == 0
    assert sorted(result["line"] for result in written(out)) == [1, 2]


def test_a_last_line_that_only_lacks_its_end_is_kept(shell, council, tmp_path):
    out, given = tmp_path / "out.jsonl", jsonl({"claim": "Tea."})
    shell("batch", "-", "--output", str(out), stdin=given)
    whole = out.read_bytes()
    out.write_bytes(whole[:-1])
    council.calls.clear()
    assert shell("batch", "-", "--output", str(out), stdin=given).code == 0
    assert (council.calls, out.read_bytes()) == ([], whole)


@pytest.mark.parametrize("held", [b"my notes\n", b"my notes", b'{"claim": "Tea."}\n', b'{"line": 1}\nmy notes\n'])
def test_a_file_of_something_else_is_left_alone(shell, council, tmp_path, held):
    out = tmp_path / "notes.txt"
    out.write_bytes(held)
    said = shell("batch", "-", "--output", str(out), stdin=jsonl({"claim": "Tea."}))
    assert (said.code, said.out, council.calls) == (5, "", [])
    assert str(out) in said.err
    assert out.read_bytes() == held


def test_one_batch_at_a_time_writes_to_a_file(tmp_path):
    first = ResultFile(tmp_path / "out.jsonl")
    with pytest.raises(ResultsError, match="another batch"):
        ResultFile(tmp_path / "out.jsonl")
    first.close()
    ResultFile(tmp_path / "out.jsonl").close()


def test_results_go_to_a_regular_file(shell, council):
    assert shell("batch", "-", "--output", os.devnull, stdin=jsonl({"claim": "Tea."})).code == 5
    assert council.calls == []


def test_files_that_cannot_be_used(shell, council, tmp_path):
    said = shell("batch", str(tmp_path / "none.jsonl"))
    assert (said.code, said.out, council.events) == (5, "", [])
    assert "none.jsonl" in said.err
    said = shell("batch", "-", "--output", str(tmp_path / "none" / "out.jsonl"), stdin=jsonl({"claim": "Tea."}))
    assert (said.code, council.events) == (5, [])


def test_a_full_disk_ends_it_on_one_line(shell, council, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ResultFile, "add", full)
    said = shell(
        "batch", "-", "--output", str(tmp_path / "o"), stdin=jsonl(*({"claim": f"Tea {n}."} for n in range(9)))
    )
    assert said.code == 5
    assert said.err == "neuron-council: No space left on device\n"
    assert council.events[-1] == "close"
    assert len(council.calls) < 9


def test_a_bar_on_a_terminal_alone(shell, council):  # noqa: ARG001
    given = jsonl({"claim": "Tea."}, {"claim": "Ale."})
    assert shell("batch", "-", stdin=given).err == ""
    shell.stderr = Terminal()
    said = shell("batch", "-", stdin=given)
    assert len(said.out.splitlines()) == 2
    drawn = shell.stderr.getvalue()
    assert "loading the models" in drawn
    assert "1/2  50 %  ETA 0:00" in drawn
    assert drawn.endswith("\r\x1b[K")


def test_the_time_that_is_left():
    now = [100.0]
    bar = Bar(50, Terminal(), clock=lambda: now[0])
    now[0] = 1000.0  # loading models is no part of the rate
    bar.begin()
    assert bar.text() == f"[{'.' * 24}] 0/50   0 %  ETA -:--"
    now[0] += 4.0
    bar.advance()
    bar.advance()
    assert bar.text().endswith("2/50   4 %  ETA 1:36")
    now[0] += 3600.0
    assert bar.text().endswith("ETA 24:01:36")


def test_interrupted_and_resumed_with_real_processes(shell, stub, tmp_path):
    stub.script(default={"delay": 0.05})
    given, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    given.write_bytes(jsonl(*({"claim": f"Tea number {number} is a drink."} for number in range(30))))
    shell.monkeypatch.setenv("OLLAMA_HOST", stub.url)
    command = [sys.executable, "-m", "neuron_council", "batch", str(given), "--output", str(out), "--summary"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        give_up = time.monotonic() + 20
        while not out.exists() or out.read_bytes().count(b"\n") < 5:
            assert time.monotonic() < give_up
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said, complaint = process.communicate(timeout=20)
    assert (process.returncode, said) == (130, b"")
    assert complaint.decode() == (
        f"neuron-council: interrupted; {out} is whole. Go on with: "
        f"neuron-council batch {given} --output {out} --summary\n"
    )
    before = written(out)
    assert 5 <= len(before) < 30
    stub.script()
    assert shell("batch", str(given), "--output", str(out), "--summary").code == 0
    assert written(out)[: len(before)] == before
    assert sorted(result["line"] for result in written(out)) == list(range(1, 31))
    assert {result["status"] for result in written(out)} == {"emitted"}
    assert len(stub.votes("neuron:latest")) <= 30 - len(before)
    with out.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody holds on to it


def test_a_backend_that_is_away_loses_nothing(shell, stub, tmp_path):
    given, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    given.write_bytes(jsonl({"claim": "Tea is a drink."}, {"claim": "Ale is a drink."}))
    shell.monkeypatch.setenv("OLLAMA_HOST", stub.url)
    stub.kill()
    said = shell("batch", str(given), "--output", str(out))
    assert said.code == 3
    assert "2 unavailable" in said.err
    assert shell("reevaluate").out.startswith("queued: 2.")
    stub.start()
    assert shell("batch", str(given), "--output", str(out)).code == 0
    assert [(each["line"], each["status"]) for each in written(out)[2:]] in (
        [(1, "emitted"), (2, "emitted")],
        [(2, "emitted"), (1, "emitted")],
    )
    assert shell("reevaluate").out.startswith("queued: 0.")

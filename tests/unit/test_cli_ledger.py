"""The commands that read the ledger, or write a person's decision into it; none of them convenes a council."""

import json
import sqlite3
import sys
from datetime import datetime

import pytest

from neuron_council.ledger.ledger import Ledger
from shell import Terminal
from verdicts import judged, unavailable

NOWHERE = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(autouse=True)
def no_council(monkeypatch):
    """A command that imported the council would convene it."""
    monkeypatch.setitem(sys.modules, "neuron_council.council", None)


def test_a_list_is_newest_first_and_on_one_line_each(shell):
    shell.keep(good := judged("Tea is\na drink.\x1b[2J"), bad := judged("Tea is a metal.", votes="ccc"))
    said = shell("list")
    assert (said.code, said.err) == (0, "")
    first, second = said.out.splitlines()
    assert first.startswith(bad.id)
    assert first.endswith("0.30  unverified,council-flagged  Tea is a metal.")
    assert second.startswith(good.id)
    assert second.endswith("0.85  verified  Tea is a drink.^[[2J")


def test_a_list_is_filtered_and_paged(shell):
    shell.keep(*(judged(f"Tea number {number}.") for number in range(3)), judged("Ale.", votes="ccc"))
    assert len(shell("list", "--tag", "verified").out.splitlines()) == 3
    assert len(shell("list", "--text", "ale").out.splitlines()) == 1
    assert shell("list", "--status", "unavailable").out == ""
    page = json.loads(shell("list", "--json", "--limit", "3").out)
    assert [each["claim"] for each in page["verdicts"]] == ["Ale.", "Tea number 2.", "Tea number 1."]
    said = shell("list", "--limit", "3")
    assert f"--cursor {page['next_cursor']}" in said.err
    assert shell("list", "--cursor", page["next_cursor"]).out.endswith("Tea number 0.\n")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("flagged", "no verdict has the tag flagged; the nearest is council-flagged;"),
        ("verifed", "the nearest is verified;"),
        ("council-parkd", "the nearest is council-parked;"),
        ("zebra", "they are verified, council-split, unverified, council-flagged, council-unavailable,"),
        ("Tea\x1b[2J", "Tea^[[2J;"),
    ],
)
def test_a_tag_that_no_verdict_has(shell, given, said):
    shell.keep(judged("Tea is a drink.", votes="ccc"))
    answer = shell("list", "--tag", given)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


@pytest.mark.parametrize("votes", ["ppp", "ppc", "ccc", "puc"])
def test_every_tag_that_a_verdict_has_can_be_listed(shell, votes):
    verdict = judged("Tea is a drink.", votes=votes)
    shell.keep(verdict)
    for tag in verdict.outcome.tags:
        assert verdict.id in shell("list", "--tag", tag).out


def test_a_list_is_bounded_in_time(shell):
    shell.keep(judged("Tea."), judged("Ale."))
    with sqlite3.connect(shell.path) as db:
        for claim, at in (("Tea.", "2026-11-02T18:30"), ("Ale.", "2026-11-03T07:00")):
            db.execute("UPDATE verdict SET at = ? WHERE claim = ?", (datetime.fromisoformat(at).timestamp(), claim))
    db.close()
    for arguments, claims in (
        (["--since", "2026-11-03"], ["Ale."]),
        (["--until", "2026-11-02T18:30"], ["Tea."]),
        (["--since", "2026-11-02", "--until", "2026-11-02T18:29"], []),
        (["--since", "2026-11-02", "--until", "2026-11-04"], ["Ale.", "Tea."]),
    ):
        assert [each["claim"] for each in json.loads(shell("list", "--json", *arguments).out)["verdicts"]] == claims


@pytest.mark.parametrize(
    "arguments",
    [
        ["--since", "soon"],
        ["--until", "9999-99-99"],
        ["--limit", "0"],
        ["--limit", "1001"],
        ["--limit", "x"],
        ["--status", "odd"],
    ],
)
def test_a_list_of_nonsense(shell, arguments):
    said = shell("list", *arguments)
    assert (said.code, said.out) == (2, "")
    assert arguments[0] in said.err


def test_a_verdict_is_shown(shell):
    shell.keep(split := judged("Tea is a drink.", "Notes say: tea is a drink.", votes="ppc"))
    assert shell("show", split.id).out.endswith(f"\n\nto decide it: neuron-council review {split.id} accept|reject\n")
    assert shell("review", split.id, "accept", "--note", "Of course.").code == 0
    said = shell("show", split.id)
    assert said.code == 0
    for text in (split.id, "claim: Tea is a drink.", "context: Notes say", "accepted by a person", "Of course."):
        assert text in said.out
    assert "2/3 council members" in said.out
    assert "to decide it" not in said.out
    shown = json.loads(shell("show", "--json", split.id).out)
    assert (shown["id"], shown["review"]["note"]) == (split.id, "Of course.")


@pytest.mark.parametrize(
    "command",
    [["show", NOWHERE], ["replay", NOWHERE], ["review", NOWHERE, "accept"], ["forget", "--yes", NOWHERE],
     ["reevaluate", NOWHERE]],
)  # fmt: skip
def test_no_such_verdict(shell, command):
    said = shell(*command)
    assert (said.code, said.out) == (1, "")
    assert said.err == f"neuron-council: No verdict has the id {NOWHERE}, or it was forgotten.\n"


def test_a_replay_finds_what_would_differ(shell):
    shell.keep(same := judged("Tea is a drink."), other := judged("Ale is a drink."))
    said = shell("replay")
    assert (said.code, said.out) == (0, "checked 2, identical 2, differing 0\n")
    with sqlite3.connect(shell.path) as db:
        db.execute("UPDATE verdict SET confidence = 0.3 WHERE id = ?", (other.id,))
    db.close()
    said = shell("replay")
    assert said.code == 1
    assert said.out == f"{other.id}: confidence was 0.3, is 0.85.\nchecked 2, identical 1, differing 1\n"
    assert shell("replay", same.id).code == 0
    assert json.loads(shell("replay", "--json", other.id).out)["differing"] == [other.id]


def test_a_review(shell):
    shell.keep(sure := judged("Tea is a drink."), split := judged("Ale is a drink.", votes="ppc"))
    said = shell("review", split.id, "reject")
    assert said.code == 0
    assert said.out.startswith("Ale is a drink.\nrejected by a person, ")
    assert "council-split,rejected" in shell("list", "--text", "Ale").out
    assert json.loads(shell("review", "--json", split.id, "accept").out)["review"]["decision"] == "accept"
    assert shell("review", sure.id, "accept").code == 1
    assert shell("review", split.id, "perhaps").code == 2
    assert shell("review", split.id, "accept", "--note", "x" * 8001).code == 2
    assert shell("show", split.id).out.count("accepted by a person") == 1


def test_forgetting_asks_on_a_terminal(shell):
    shell.keep(kept := judged("Tea is a secret."))
    shell.stderr = Terminal()
    assert shell("forget", kept.id, stdin=Terminal("no\n")).code == 1
    assert "Tea is a secret." in shell.stderr.getvalue()
    assert shell("show", kept.id).code == 0
    assert shell("forget", kept.id, stdin=Terminal("yes\n")).code == 0
    assert shell("show", kept.id).code == 1


def test_forgetting_without_a_terminal_wants_yes(shell):
    shell.keep(kept := judged("Tea is a secret."))
    said = shell("forget", kept.id, stdin=b"yes\n")
    assert said.code == 2
    assert "--yes" in said.err
    assert shell("show", kept.id).code == 0
    assert shell("forget", "--yes", kept.id).out == f"forgotten: {kept.id}\n"
    assert shell("show", kept.id).code == 1
    assert not [file for file in shell.home.rglob("*") if file.is_file() and b"secret" in file.read_bytes()]


def test_forgetting_again_is_no_fault_and_does_not_ask(shell):
    shell.keep(kept := judged("Tea is a secret."))
    assert shell("forget", "--yes", kept.id).code == 0
    assert shell("forget", kept.id).code == 0


def test_what_nobody_could_judge_is_due_at_once(shell):
    shell.keep(waiting := unavailable("Tea is a drink."), unavailable("Ale is a drink."))
    ledger = Ledger(shell.path)
    for _ in range(2):
        ledger.release(ledger.lease("me", 60), "me", again_in_s=300)
    assert ledger.lease("me", 60) is None
    assert shell("reevaluate", waiting.id).out.startswith("queued: 1.")
    assert ledger.lease("me", 60).ids == (waiting.id,)
    assert shell("reevaluate").out.startswith("queued: 2.")
    ledger.close()


def test_what_was_judged_later_says_by_what(shell):
    shell.keep(old := unavailable("Tea is a drink."), unavailable("Ale is a drink."), new := judged("Tea is a drink."))
    assert [line.split()[-1] for line in shell("list", "--status", "unavailable").out.splitlines()] == ["drink."]
    assert "Ale" in shell("list", "--tag", "council-unavailable").out
    (line,) = [line for line in shell("list").out.splitlines() if line.startswith(old.id)]
    assert "  council-unavailable,superseded  " in line
    said = shell("show", old.id).out
    assert f"\nsuperseded by: {new.id}\n" in said
    assert "a server judges it" not in said
    assert f"\nsupersedes: {old.id}\n" in shell("show", new.id).out
    assert json.loads(shell("show", "--json", old.id).out)["superseded_by"] == new.id


def test_what_is_tried_in_vain_says_how_often_and_when_again(shell):
    shell.keep(waiting := unavailable("Tea is a drink."))
    assert "in vain" not in shell("show", waiting.id).out
    ledger = Ledger(shell.path)
    ledger.release(ledger.lease("me", 60), "me", again_in_s=0)
    ledger.release(ledger.lease("me", 60), "me", again_in_s=300, was_dropped=True)
    ledger.close()
    said = shell("show", waiting.id).out
    assert "\ntried again in vain: 2, the next time from " in said
    assert f"neuron-council reevaluate {waiting.id}" in said
    assert "could not be reached then: 1;" in said
    assert said.endswith("neuron-council doctor\n")
    assert json.loads(shell("show", "--json", waiting.id).out)["waiting"]["attempts"] == 2


def test_a_corrupt_ledger_is_one_line(shell):
    shell.path.parent.mkdir(parents=True)
    shell.path.write_bytes(b"no database at all" * 100)
    said = shell("list")
    assert (said.code, said.out) == (5, "")
    assert said.err.count("\n") == 1
    assert "set aside" in said.err


def test_a_home_that_is_no_folder(shell):
    shell.home.write_text("a file")
    said = shell("list")
    assert (said.code, said.out) == (5, "")
    assert str(shell.home) in said.err


A_ID, B_ID, C_ID = (f"{head}-e29b-41d4-a716-446655440000" for head in ("550e8400", "550e84ff", "550f0000"))


@pytest.fixture
def three(shell):
    """Three verdicts whose ids begin alike, the last of nobody."""
    shell.keep(
        judged("Tea is a drink.", votes="ppc", id=A_ID),
        judged("Ale is a drink.", votes="ppc", id=B_ID),
        unavailable("Gin is a drink.", id=C_ID),
    )


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("given", ["550e840", "550E8400", "550e8400-E29b", A_ID.upper()])
def test_the_beginning_of_an_id_will_do(shell, given):
    assert shell("show", given).out.startswith(A_ID)
    assert shell("review", given, "accept").out.startswith("Tea is a drink.")
    assert shell("replay", given).out.startswith("checked 1, ")
    assert shell("forget", "--yes", given).out == f"forgotten: {A_ID}\n"
    assert [shell("show", each).code for each in (A_ID, B_ID, C_ID)] == [1, 0, 0]


@pytest.mark.usefixtures("three")
def test_what_is_due_at_once_by_the_beginning_of_its_id(shell):
    assert shell("reevaluate", "550f").out.startswith("queued: 1.")
    assert shell("reevaluate", "550e84ff").out.startswith("queued: 0.")


COMMANDS = [["show"], ["review"], ["replay"], ["forget", "--yes"], ["reevaluate"]]


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("550e", f"Several ids begin with 550e: {A_ID}, {B_ID}. Give more digits."),
        ("550-", "550- is too short: give 4 digits of the id or more."),
        ("550e9", "No verdict has an id that begins with 550e9, or it was forgotten."),
        ("tea_%", "No verdict has the id tea_%, or it was forgotten."),
        (f"{A_ID}0", f"No verdict has the id {A_ID}0, or it was forgotten."),
    ],
)
def test_the_beginning_of_no_id_or_of_several(shell, command, given, words):
    said = shell(*command, given, *(["reject"] if command == ["review"] else []))
    assert (said.code, said.out, said.err) == (1, "", f"neuron-council: {words}\n")
    assert [shell("show", each).code for each in (A_ID, B_ID, C_ID)] == [0, 0, 0]


def test_many_ids_that_begin_alike_are_not_all_listed(shell):
    shell.keep(*(judged(f"Tea {n}.", id=f"550e8400-e29b-41d4-a716-44665544000{n}") for n in range(9)))
    said = shell("show", "550e")
    assert said.err.count("550e8400-") == 8
    assert "and more." in said.err

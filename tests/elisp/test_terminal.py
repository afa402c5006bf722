"""Real keys in a terminal, and what the screen shows then; see terminal.py for both."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from terminal import Terminal
from test_ert import EMACSEN

pytestmark = pytest.mark.parametrize("emacs", EMACSEN)

Opened = Callable[..., AbstractContextManager[Terminal]]

PARKED = {
    "status": "parked",
    "tier": "T4",
    "tags": ["council-split", "council-parked"],
    "confidence": 0.65,
    "council_votes": ["plausible", "plausible", "uncertain"],
    "summary": "2/3 council members agree this is plausible.",
}
FLAGGED = {
    "status": "rejected",
    "tier": None,
    "tags": ["unverified", "council-flagged"],
    "confidence": 0.3,
    "council_votes": ["confabulation", "plausible", "confabulation"],
    "summary": "1/3 council members agree this is plausible.",
}
SPLIT = {"tags": ["council-split"], "confidence": 0.65, "summary": "2/3 council members agree this is plausible."}
VOTES = ["neuron: plausible (1/3)", "neuron-ft: plausible (2/3)"]
# What a model may write: colours, a title for the terminal, a bell, text that turns round, what looks like a button, a
# word wider than any window, wide characters, emoji of several parts, marks that stack up, and what is not seen.
HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J\x1b[H \u202eevil\u202c \x9b7m \x7f tab\there\r\nnew line\n\n"
    "[Accept] [Re-verify] \\[kill-emacs] %s %b * TODO x "
    + "x" * 250
    + " "
    + "漢字かな" * 12
    + " 👩‍👩‍👧 👍🏽 ❤️ e\u0301 "
    "z\u0336a\u0336 \u200bhidden\u2060 שלום"
)


class Gate:
    """A gate of the scripted server, which lets votes and verdicts through one by one."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.touch()

    def let(self, count: int = 1) -> None:
        with self.file.open("a") as file:
            file.write("." * count)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path / "gate")


@pytest.fixture
def terminal(emacs: str, tmp_path: Path) -> Opened:
    """Opens an Emacs whose server follows a script, and sees to it that it can be left."""
    if not shutil.which("tmux"):
        complaint = "there is no tmux: install it (Debian: apt-get install tmux)"
        if os.environ.get("CI"):
            pytest.fail(complaint)
        pytest.skip(complaint)

    @contextmanager
    def opened(setup: str = "", columns: int = 120, lines: int = 40, **script: Any) -> Iterator[Terminal]:
        screen = Terminal(emacs, tmp_path, script, setup, columns, lines)
        try:
            screen.until("Emacs", lambda: "ready" in screen.results())
            yield screen
            screen.leave()
        finally:
            screen.kill()

    return opened


def kept(screen: Terminal, where: str = "unsent") -> list[Path]:
    """The claims, or the memories, that Emacs still keeps in a folder of its home."""
    return list(screen.folder.glob(f"home/council/{where}/*"))


def stored(screen: Terminal) -> list[str]:
    """What the store function was called with."""
    return [line for line in screen.results() if line.startswith("(stored")]


def cancelled(screen: Terminal, n: int = 0) -> bool:
    """Whether the server was told to cancel its Nth request to verify, and nothing else."""
    screen.until("the cancellation", lambda: screen.seen("window/workDoneProgress/cancel"))
    tokens = [message["params"]["token"] for message in screen.seen("window/workDoneProgress/cancel")]
    return tokens == [screen.seen("council/verify")[n]["params"]["workDoneToken"]]


# Waits that are quit


def test_quit_during_a_capture_stores_nothing(terminal: Opened) -> None:
    with terminal(verify=[{"delay": 100}, {}]) as screen:
        screen.press("C-c c")
        screen.until("the request", lambda: screen.seen("council/verify"))
        pressed = time.monotonic()
        screen.press("C-g")
        screen.until("the quit", lambda: "quit" in screen.results())
        assert time.monotonic() - pressed < 60  # the answer takes 100 s
        assert cancelled(screen)
        screen.press("C-c c")
        screen.until("the second capture", lambda: stored(screen))
        # The server has survived the quit, and only the second memory is stored.
        assert len(screen.seen("initialize")) == 1
        assert len(stored(screen)) == 1
        assert not kept(screen)


def test_quit_while_the_server_starts(terminal: Opened) -> None:
    with terminal(initialize="silent") as screen:
        screen.press("C-c c")
        screen.until("the start", lambda: screen.seen("initialize"))
        screen.press("C-g")
        screen.until("the quit", lambda: "quit" in screen.results())
        assert not stored(screen)
        assert not kept(screen)


def test_quit_during_a_wait_in_a_timer(terminal: Opened) -> None:
    with terminal(verify=[{"delay": 100}]) as screen:
        screen.press("C-c t")
        screen.until("the request", lambda: screen.seen("council/verify"))
        screen.press("C-g")
        screen.until("the quit", lambda: "quit" in screen.results())
        assert cancelled(screen)


def test_typing_goes_on_after_a_quit(terminal: Opened, gate: Gate) -> None:
    with terminal(verify=[{"notes": VOTES, "gate": str(gate.file)}]) as screen:
        screen.type("Before. ")
        screen.shows("Before.")
        screen.press("C-c v")
        gate.let()
        screen.looks_like("waiting")
        screen.press("C-g")
        assert cancelled(screen)
        screen.looks_like("quit")
        screen.type("After.")
        gate.let(2)
        screen.looks_like("quit-then-typing")


def test_keys_pressed_during_a_wait_are_not_lost(terminal: Opened, gate: Gate) -> None:
    with terminal(verify=[{"gate": str(gate.file)}]) as screen:
        screen.press("C-c v")
        screen.until("the request", lambda: screen.seen("council/verify"))
        screen.type("typed meanwhile")
        gate.let()
        screen.until("the verdict", lambda: "emitted" in screen.results())
        screen.looks_like("typed-during-a-wait")


# Text that is judged


def test_region(terminal: Opened, gate: Gate) -> None:
    with terminal(verify=[{"notes": VOTES, "gate": str(gate.file)}]) as screen:
        screen.type("The tower is in Paris.")
        screen.press("Enter")
        screen.type("It was built in 1889.")
        screen.press("M-< C-Space C-e C-c n r")
        screen.looks_like("region-convening")
        gate.let()
        screen.looks_like("region-first-vote")
        gate.let()
        screen.looks_like("region-second-vote")
        gate.let()
        screen.looks_like("region-judged")
        assert 4 in screen.styles("The tower is in Paris.")
        assert 4 not in screen.styles("It was built in 1889.")
        (asked,) = screen.seen("council/verify")
        assert asked["params"]["claim"] == "The tower is in Paris."

        screen.press("C-a C-c Enter C-x 1")
        screen.looks_like("report")
        screen.press("M-n M-n Tab")
        screen.looks_like("report-folded")
        screen.press("Tab q")
        screen.looks_like("region-again")

        screen.press("M-f")
        screen.type("s")
        screen.looks_like("region-edited")
        assert 4 not in screen.styles("Thes tower is in Paris.")


def test_return_on_judged_text_that_is_read_only(terminal: Opened) -> None:
    with terminal() as screen:
        screen.type("The tower is in Paris.")
        screen.press("C-c n r")
        screen.shows("council: 0.85 verified")
        screen.press("C-x C-q C-a Enter")
        screen.shows("EMITTED (T3), confidence 0.85")


def test_buffer(terminal: Opened) -> None:
    judged: list[dict[str, Any]] = [{}, FLAGGED, SPLIT, PARKED, {}]
    with terminal(verify=[{"verdict": verdict} for verdict in judged]) as screen:
        for claim in (
            "tower is in Paris",
            "tower is made of gold",
            "tower was painted",
            "tower leans",
            "tower is tall",
        ):
            screen.type(f"- The {claim}.")
            screen.press("Enter")
        screen.press("C-c n b")
        screen.looks_like("buffer-judged")
        screen.press("M-g n")
        screen.looks_like("buffer-first")
        screen.press("M-g n")
        screen.looks_like("buffer-second")
        screen.press("M-g n")
        screen.looks_like("buffer-no-more")
        screen.press("M-g p")
        screen.looks_like("buffer-first-again")
        # What is marked, flagged or not, is walked by other keys.
        screen.press("C-c n n")
        screen.looks_like("buffer-next-mark")
        screen.press("C-c n c")
        screen.looks_like("buffer-cleared")


def test_typing_while_verdicts_arrive(terminal: Opened, gate: Gate) -> None:
    claims = "".join(f"Claim number {n} is a claim.\n" for n in range(50))
    setup = f"(insert {json.dumps(claims)})"
    typed = "".join(f"{n} is typed while verdicts arrive; " for n in range(40))
    with terminal(setup, verify=[{"gate": str(gate.file), "notes": VOTES}]) as screen:
        screen.press("C-c n b")
        screen.shows("Have the council judge 50 claims")
        screen.press("y")
        screen.until("the first claims", lambda: len(screen.seen("council/verify")) == 4)
        screen.press("M->")
        gate.let(3)
        for start in range(0, len(typed), 20):
            screen.type(typed[start : start + 20])
        screen.shows("Claim number 49 is a claim. [0.85]")
        screen.press("C-c b")
        (text,) = screen.until("the text", lambda: [line for line in screen.results() if line.startswith("(text")])
        assert text == f"(text {json.dumps(claims + typed)})"
        assert len(screen.seen("council/verify")) == 50


def test_verify_by_name(terminal: Opened) -> None:
    with terminal() as screen:
        screen.command("council-verify")
        screen.shows("Claim:")
        screen.type("The tower is in Paris.")
        screen.press("Enter")
        screen.shows("Context")
        screen.press("Enter")
        screen.shows("EMITTED (T3), confidence 0.85")
        assert screen.seen("council/verify")[0]["params"]["claim"] == "The tower is in Paris."
        assert "context" not in screen.seen("council/verify")[0]["params"]


# What a person decides

HOLD = "(setq neuron-council-parked-policy 'hold)"


def test_review_of_a_parked_claim(terminal: Opened) -> None:
    with terminal(HOLD, ledger=14, verify=[{"verdict": PARKED}]) as screen:
        screen.press("C-c c")
        screen.until("the capture", lambda: "nil" in screen.results())
        assert not stored(screen)
        assert len(kept(screen, "held")) == 1
        screen.press("C-c n l")
        screen.shows("Claim 0")
        screen.press("C-x 1 M-< n C-a")
        screen.looks_like("list")
        screen.press("Enter C-x 1")
        screen.looks_like("report-parked")
        screen.press("a")
        screen.until("the memory", lambda: stored(screen))
        screen.looks_like("report-accepted")
        screen.press("q")
        screen.looks_like("list-accepted")
        assert "human-accepted" in stored(screen)[0]
        assert not kept(screen, "held")

        # One that comes in is listed without a key, and can be turned down.
        screen.press("C-c c")
        screen.looks_like("list-another")
        screen.press("M-< n C-a C-u r")
        screen.shows("Drop what is held for, and reject this verdict? (y or n)")
        screen.press("n")
        screen.shows("Nothing was done")
        assert len(kept(screen, "held")) == 1
        screen.press("C-u r y")
        screen.shows("Note:")
        screen.type("I know better")
        screen.press("Enter")
        screen.looks_like("list-rejected")
        assert len(stored(screen)) == 1
        assert not kept(screen, "held")
        accepted, rejected = (message["params"] for message in screen.seen("council/review"))
        assert (accepted["decision"], rejected["decision"]) == ("accept", "reject")
        assert rejected["note"] == "I know better"


def test_many_are_forgotten_at_once(terminal: Opened) -> None:
    with terminal(ledger=14) as screen:
        screen.press("C-c n l")
        screen.shows("Claim 0")
        screen.press("C-x 1 M-< n n n d m d C-a")
        screen.looks_like("list-marked")
        screen.press("x")
        screen.shows("Forget 2 claims, with all verdicts and what is kept with them? (yes or no)")
        screen.type("no")
        screen.press("Enter")
        screen.shows("Nothing was forgotten")
        assert not screen.seen("council/forget")
        screen.press("x")
        screen.type("yes")
        screen.press("Enter")
        screen.looks_like("list-forgotten")
        assert [message["params"]["id"][-2:] for message in screen.seen("council/forget")] == ["13", "11"]
        # The mark of the third one has stayed.
        screen.press("U")
        screen.looks_like("list-unmarked")


def test_filters(terminal: Opened) -> None:
    with terminal(ledger=14) as screen:
        screen.press("C-c n l")
        screen.shows("Claim 0")
        screen.press("C-x 1 / p")
        screen.looks_like("list-parked")
        screen.press("/ /")
        screen.shows("Claim 13")


def test_menu(terminal: Opened) -> None:
    with terminal(HOLD) as screen:
        screen.type("The tower is in Paris.")
        screen.press("C-c n m")
        screen.looks_like("menu", loosely=True)
        screen.press("P")
        screen.shows("parked: Store it with its tags")
        screen.press("C-g")
        screen.shows_no("Memory policy")
        screen.type(" It is tall.")
        screen.looks_like("menu-left")
        screen.press("C-c n m")
        screen.shows("Memory policy")
        screen.press("r")
        screen.shows("0.85 verified]")


# Memories


def test_progress_of_a_wait_is_in_the_echo_area(terminal: Opened) -> None:
    with terminal(verify=[{"notes": ["neuron: plausible (1/3)"], "delay": 100}]) as screen:
        screen.press("C-c c")
        screen.shows("Council: neuron: plausible (1/3)")


def test_guard(terminal: Opened, gate: Gate) -> None:
    with terminal(verify=[{"notes": VOTES, "gate": str(gate.file)}, {}]) as screen:
        screen.press("C-c n t C-c s")
        gate.let()
        screen.looks_like("guard-waits")
        screen.press("C-g")
        screen.until("the quit", lambda: "quit" in screen.results())
        assert cancelled(screen)
        assert not stored(screen)
        screen.press("C-c s")
        screen.until("the memory", lambda: stored(screen))
        assert ':text "A memory" :kind fact :council-confidence 0.85 :council-tags ("verified")' in stored(screen)[0]
        screen.press("C-c n t C-c s")
        screen.until("the unguarded memory", lambda: len(stored(screen)) == 2)
        assert stored(screen)[1] == '(stored :text "A memory" :kind fact)'
        assert len(screen.seen("council/verify")) == 2


def test_memories_in_an_org_file(terminal: Opened) -> None:
    with terminal(
        "(setq neuron-council-store-function 'neuron-council-org-store)", verify=[{}, {"verdict": FLAGGED}]
    ) as screen:
        for claim, context in (("The tower is in Paris.", "A guide book"), ("* It is made of gold :x:", "")):
            screen.press("C-c n w")
            screen.shows("Remember:")
            screen.type(claim)
            screen.press("Enter")
            screen.shows("Context (empty for none):")
            screen.type(context)
            screen.press("Enter")
            file = screen.folder / "memories.org"
            screen.until("the memory", lambda claim=claim, file=file: file.exists() and claim[2:] in file.read_text())
        screen.press("C-x C-f C-a C-k")
        screen.type(str(screen.folder / "memories.org"))
        screen.press("Enter")
        screen.looks_like("org-memories")


ORG_CAPTURE = """
(setq org-capture-templates '(("m" "Memory" entry (file "%s") "* %%?" :council t)))
(neuron-council-org-capture-mode)
(global-set-key (kbd "C-c o") #'org-capture)
"""


def test_org_capture(terminal: Opened, gate: Gate, tmp_path: Path) -> None:
    file = tmp_path / "captured.org"
    file.touch()
    script = [{"notes": VOTES, "gate": str(gate.file)}, {"verdict": FLAGGED}]
    with terminal(ORG_CAPTURE % file, verify=script) as screen:
        screen.press("C-c o m")
        screen.shows("CAPTURE-captured.org")
        screen.type("The tower is made of gold.")
        screen.shows("gold.")
        screen.press("C-c C-c")
        gate.let()
        screen.looks_like("org-capture-waits")
        # A quit leaves what was written where it was.
        screen.press("C-g")
        assert cancelled(screen)
        screen.looks_like("org-capture-quit")
        assert not file.read_text()
        screen.press("C-c C-c")
        screen.until("the entry", file.read_text)
        assert ":COUNCIL_TAGS: unverified council-flagged" in file.read_text()
        screen.shows_no("CAPTURE-captured.org")


# Texts of models


def test_hostile_text(terminal: Opened, gate: Gate) -> None:
    vote = {"member": "neuron", "model": "neuron:latest", "role": "member", "vote": "plausible", "rationale": HOSTILE}
    failure = {"kind": "unparsable", "message": HOSTILE}
    challenge = {"member": "dolphin", "refuted": True, "argument": HOSTILE, "quote": HOSTILE, "failure": None}
    finding = {"oracle": "unrefuted", "hard": False, "proven": False, "evidence": HOSTILE}
    verdict = {
        **PARKED,
        "summary": HOSTILE,
        "warnings": [HOSTILE],
        "votes": [vote, {**vote, "member": "dolphin", "failure": failure}],
        "report": {
            "challenge": challenge,
            "lenses": [{"lens": "domain", "status": "unverified", "findings": [finding]}],
            "dissent": [{**vote, "vote": "uncertain"}],
        },
    }
    step = {"notes": [HOSTILE], "gate": str(gate.file), "verdict": verdict}
    with terminal(ledger=[{"id": "id", "claim": HOSTILE}], verify=[step]) as screen:
        screen.type("The tower is in Paris.")
        screen.press("C-c n r")
        gate.let()
        screen.looks_like("hostile-vote")
        gate.let()
        screen.looks_like("hostile-judged")
        screen.press("C-a C-c Enter C-x 1")
        screen.looks_like("hostile-report")
        screen.press("C-v")
        screen.looks_like("hostile-report-below")
        screen.press("C-v")
        screen.looks_like("hostile-report-end")
        screen.press("q C-c n l C-x 1")
        screen.looks_like("hostile-list")


def test_narrow_terminal(terminal: Opened) -> None:
    # How much of a long mode line is seen is not the same in every version.
    setup = f"{HOLD} (setq neuron-council-show-waiting nil)"
    with terminal(setup, columns=80, lines=24, ledger=3, verify=[{"verdict": PARKED}]) as screen:
        screen.press("C-c c")
        screen.until("the capture", lambda: "nil" in screen.results())
        screen.press("C-c n l")
        screen.shows("Claim 0")
        screen.press("C-x 1 M-< n C-a")
        screen.looks_like("narrow-list")
        screen.press("Enter C-x 1")
        screen.looks_like("narrow-report")


def test_doctor(terminal: Opened) -> None:
    with terminal() as screen:
        screen.press("C-c n d C-x 1")
        screen.shows("Neuron Council: what stands and what is to be mended\nNothing to mend")
        for area in ("Emacs", "Package", "Program", "Server", "Home", "Memories"):
            assert f"\n\n{area}\n  ok       " in screen.screen()
        assert "  ok       policies: flagged: tag, parked: tag\n" in screen.screen()
        screen.press("n")
        screen.shows("No further problem")
        screen.press("q")
        screen.shows_no("what is to be mended")
        # It has started no server.
        assert not screen.seen("initialize")


def test_doctor_of_a_set_up_with_faults(terminal: Opened) -> None:
    faults = """
    (setq neuron-council-server-command '("/nowhere/neuron-council" "serve")
          neuron-council-store-function 'engram-write)
    """
    with terminal(faults) as screen:
        screen.press("C-c n d C-x 1")
        screen.shows("1 thing to mend, 1 warning")
        screen.press("n")
        screen.until("the first fault", lambda: re.match(r"  ERROR    .*/nowhere/neuron-council", screen.line()))
        assert "\n           -> Mend the option [customize]\n" in screen.screen()
        screen.press("M-> p")
        screen.until("the second fault", lambda: re.match(r"  warning  .*engram-write is not defined", screen.line()))

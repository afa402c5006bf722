"""Emacs in a terminal: keys that are pressed while it waits, and what the screen shows then.

Emacs runs in a tmux of its own, which draws a screen as a person sees it. It loads the client and the scripted server
of fake_server.py, and writes what a key did to a file.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_ert import EMACSEN, HERE

PATIENCE_S = 20  # a loaded machine; nothing waits so long when it works
pytestmark = [pytest.mark.timeout(120), pytest.mark.parametrize("emacs", EMACSEN)]

KEYS = """
(defvar results "%(results)s")
(defun note (value) (write-region (concat (prin1-to-string value) "\\n") nil results t 'silent))
(defmacro on-key (key &rest body)
  `(global-set-key (kbd ,key) (lambda () (interactive) ,@body)))
(setq neuron-council-server-command '(%(command)s)
      neuron-council-store-function (lambda (&rest _) (note 'stored)))
(on-key "C-c c" (note (condition-case nil (capture-memory-with-council "A claim" nil) (quit 'quit))))
(on-key "C-c t" (run-at-time 0.05 nil
                             (lambda () (note (condition-case nil (council-verify "A claim") (quit 'quit))))))
(on-key "C-c r" (erase-buffer) (insert "The claim.") (set-mark 1) (council-verify-region 1 (point-max)))
(on-key "C-c b" (note (with-current-buffer (window-buffer) (list (buffer-name) (buffer-string)))))
(note 'ready)
"""


class Terminal:
    """An Emacs on a screen of 120 columns and 40 lines."""

    def __init__(self, emacs: str, folder: Path, script: dict[str, Any]) -> None:
        self.results_file = folder / "results"
        self.results_file.touch()
        self.log_file = folder / "log"
        self.log_file.touch()
        command = [sys.executable, "-I", str(HERE / "fake_server.py"), str(self.log_file), json.dumps(script)]
        keys = folder / "keys.el"
        quoted = " ".join('"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"' for part in command)
        keys.write_text(KEYS % {"results": self.results_file, "command": quoted})
        # A socket's name may not be long, and a test's folder is.
        self.socket = f"council-{os.getpid()}-{time.monotonic_ns()}"
        self.tmux(
            "-f", os.devnull, "new-session", "-d", "-x", "120", "-y", "40",
            "-e", f"NEURON_HOME={folder / 'home'}", "-e", "LC_ALL=C.UTF-8", "-e", "TERM=screen-256color",
            emacs, "-Q", "-nw", "-L", str(HERE.parents[1] / "elisp"), "-l", "neuron-council", "-l", str(keys),
        )  # fmt: skip

    def tmux(self, *arguments: str) -> str:
        run = subprocess.run(["tmux", "-L", self.socket, *arguments], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        return run.stdout

    def press(self, *keys: str) -> None:
        """Presses KEYS, by the names that tmux has for them, such as C-g, M-x and Enter."""
        self.tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)

    def command(self, name: str) -> None:
        self.press("M-x")
        self.type(name)
        self.press("Enter")

    def until(self, what: str, value: Callable[[], Any]) -> Any:
        """The first true VALUE; fails with the screen when there is none in time."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := value()):
            assert time.monotonic() < deadline, f"waited in vain for {what}; {self.results()}\n{self.screen()}"
            time.sleep(0.02)
        return found

    def results(self) -> list[str]:
        return self.results_file.read_text().splitlines()

    def screen(self) -> str:
        """What the screen shows now, without colours."""
        return self.tmux("capture-pane", "-p")

    def shows(self, text: str) -> None:
        """Waits until the screen shows TEXT."""
        self.until(f"{text!r} on the screen", lambda: text in self.screen())

    def seen(self, method: str) -> list[dict[str, Any]]:
        """The messages of METHOD that the server has read."""
        whole = self.log_file.read_text().rpartition("\n")[0]
        return [message for line in whole.splitlines() if (message := json.loads(line)).get("method") == method]

    def tried(self, *arguments: str) -> bool:
        """Whether tmux could do it; when Emacs has left there is no server any more."""
        command = ["tmux", "-L", self.socket, *arguments]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def close(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        try:
            self.tried("send-keys", "C-g")
            # C-g throws away what was typed with it, so leaving is asked for until Emacs has heard it.
            while self.tried("has-session"):
                assert time.monotonic() < deadline, f"Emacs cannot be left\n{self.screen()}"
                time.sleep(0.2)
                self.tried("send-keys", "C-x", "C-c")
        finally:
            self.tried("kill-server")


@pytest.fixture
def terminal(emacs: str, tmp_path: Path) -> Callable[..., Any]:
    """Opens an Emacs whose server follows a script, and sees to it that it can be left."""
    if not shutil.which("tmux"):
        complaint = "there is no tmux: install it (Debian: apt-get install tmux)"
        if os.environ.get("CI"):
            pytest.fail(complaint)
        pytest.skip(complaint)

    @contextmanager
    def opened(**script: Any) -> Iterator[Terminal]:
        screen = Terminal(emacs, tmp_path, script)
        try:
            screen.until("Emacs", lambda: "ready" in screen.results())
            yield screen
        finally:
            screen.close()

    return opened


def kept(screen: Terminal) -> list[Path]:
    """The claims that Emacs still keeps for a server."""
    return list(screen.results_file.parent.glob("home/council/unsent/*"))


def cancelled(screen: Terminal, n: int = 0) -> bool:
    """Whether the server was told to cancel its Nth request to verify, and nothing else."""
    screen.until("the cancellation", lambda: screen.seen("window/workDoneProgress/cancel"))
    tokens = [message["params"]["token"] for message in screen.seen("window/workDoneProgress/cancel")]
    return tokens == [screen.seen("council/verify")[n]["params"]["workDoneToken"]]


def test_quit_during_a_capture_stores_nothing(terminal: Callable[..., Any]) -> None:
    with terminal(verify=[{"delay": 100}, {}]) as screen:
        screen.press("C-c", "c")
        screen.until("the request", lambda: screen.seen("council/verify"))
        pressed = time.monotonic()
        screen.press("C-g")
        screen.until("the quit", lambda: "quit" in screen.results())
        assert time.monotonic() - pressed < 3
        assert cancelled(screen)
        screen.press("C-c", "c")
        screen.until("the second capture", lambda: len(screen.results()) > 2)
        # The server has survived the quit, and only the second memory is stored.
        assert len(screen.seen("initialize")) == 1
        assert screen.results().count("stored") == 1
        assert not kept(screen)


def test_quit_while_the_server_starts(terminal: Callable[..., Any]) -> None:
    with terminal(initialize="silent") as screen:
        screen.press("C-c", "c")
        screen.until("the start", lambda: screen.seen("initialize"))
        screen.press("C-g")
        screen.until("the quit", lambda: "quit" in screen.results())
        assert "stored" not in screen.results()
        assert not kept(screen)


def test_quit_during_a_wait_in_a_timer(terminal: Callable[..., Any]) -> None:
    with terminal(verify=[{"delay": 100}]) as screen:
        screen.press("C-c", "t")
        screen.until("the request", lambda: screen.seen("council/verify"))
        screen.press("C-g")
        screen.until("the quit", lambda: "quit" in screen.results())
        assert cancelled(screen)


def test_progress_of_a_wait_is_in_the_echo_area(terminal: Callable[..., Any]) -> None:
    with terminal(verify=[{"notes": ["neuron: plausible (1/3)"], "delay": 100}]) as screen:
        screen.press("C-c", "c")
        screen.shows("Council: neuron: plausible (1/3)")


def test_verdict_of_the_region(terminal: Callable[..., Any]) -> None:
    with terminal(verify=[{"notes": ["neuron: plausible (1/3)"], "delay": 1}]) as screen:
        screen.press("C-c", "r")
        screen.shows("neuron: plausible (1/3)")
        screen.shows("3/3 council members agree")
        screen.command("neuron-council-show-verdict")
        screen.shows("EMITTED (T3), confidence 0.85")


def test_verify_by_name(terminal: Callable[..., Any]) -> None:
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


def test_review_of_a_parked_claim(terminal: Callable[..., Any]) -> None:
    parked = {"status": "parked", "tags": ["council-split", "council-parked"], "confidence": 0.65}
    with terminal(ledger=0, verify=[{"verdict": parked}]) as screen:
        for form in ("(setq neuron-council-parked-policy 'hold)", "(require 'neuron-council-list)"):
            screen.press("M-:")
            screen.type(form)
            screen.press("Enter")
        screen.press("C-c", "c")
        screen.until("the capture", lambda: "nil" in screen.results())
        screen.command("neuron-council")
        row = "parked, split      0.65 3/3   you: held   A claim"
        screen.shows(row)
        screen.shows(" 1 await you · 1 split · 1 in all")
        screen.shows("When         Verdict            Conf Votes Decision    Claim")
        screen.press("r")
        screen.shows("Drop what is held for, and reject this verdict? (y or n)")
        screen.press("n")
        screen.shows("Nothing was done")
        screen.press("C-u", "a")
        screen.shows("Note:")
        screen.type("I know it")
        screen.press("Enter")
        screen.shows(row.replace("you: held", "accepted "))
        assert "stored" in screen.results()
        (review,) = screen.seen("council/review")
        assert (review["params"]["decision"], review["params"]["note"]) == ("accept", "I know it")
        screen.press("?")
        screen.shows("Memory policy")
        screen.shows("server 0.1.0 runs")
        screen.press("P")
        screen.shows("parked: Store it with its tags")

"""Emacs in a terminal: keys that are pressed while it waits, and what the screen shows meanwhile.

Emacs runs on a pseudo-terminal of its own, as its controlling one, since C-g reaches a busy Emacs as a signal. It loads
the client and the scripted server of fake_server.py, and writes what a key did to a file.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
;; Emacs draws only what has changed; a test can read whole lines alone.
(run-at-time 0 0.3 #'redraw-display)
(note 'ready)
"""


class Terminal:
    """An Emacs on a pseudo-terminal."""

    def __init__(self, emacs: str, folder: Path, script: dict[str, Any]) -> None:
        self.results_file = folder / "results"
        self.results_file.touch()
        self.log_file = folder / "log"
        self.log_file.touch()
        command = [sys.executable, "-I", str(HERE / "fake_server.py"), str(self.log_file), json.dumps(script)]
        keys = folder / "keys.el"
        quoted = " ".join('"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"' for part in command)
        keys.write_text(KEYS % {"results": self.results_file, "command": quoted})
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", emacs, "-Q", "-nw", "-L", HERE.parents[1] / "elisp",
             "-l", "neuron-council", "-l", keys],
            stdin=slave, stdout=slave, stderr=slave,
            env={**os.environ, "TERM": "xterm", "NEURON_HOME": str(folder / "home")},
        )  # fmt: skip
        os.close(slave)
        self.output = b""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        while True:
            try:
                self.output += os.read(self.master, 65536)
            except OSError:  # the other side is closed
                return

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def until(self, what: str, value: Callable[[], Any]) -> Any:
        """The first true VALUE; fails with the screen when there is none in time."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := value()):
            assert time.monotonic() < deadline, f"waited in vain for {what}; {self.results()} {self.screen()[-800:]}"
            time.sleep(0.02)
        return found

    def results(self) -> list[str]:
        return self.results_file.read_text().splitlines()

    def screen(self) -> str:
        """All that was ever drawn, without its escape sequences."""
        return re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>78M])", "", self.output.decode(errors="replace"))

    def seen(self, method: str) -> list[dict[str, Any]]:
        """The messages of METHOD that the server has read."""
        whole = self.log_file.read_text().rpartition("\n")[0]
        return [message for line in whole.splitlines() if (message := json.loads(line)).get("method") == method]

    def close(self) -> None:
        self.press("\x07")
        deadline = time.monotonic() + PATIENCE_S
        try:
            # C-g throws away what was typed with it, so leaving is asked for until Emacs has heard it.
            while self.process.poll() is None:
                assert time.monotonic() < deadline, f"Emacs cannot be left; {self.screen()[-800:]}"
                self.press("\x18\x03")
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(timeout=0.5)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            os.close(self.master)


@pytest.fixture
def terminal(emacs: str, tmp_path: Path) -> Callable[..., Any]:
    """Opens an Emacs whose server follows a script, and sees to it that it can be left."""

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
        screen.press("\x03c")
        screen.until("the request", lambda: screen.seen("council/verify"))
        pressed = time.monotonic()
        screen.press("\x07")
        screen.until("the quit", lambda: "quit" in screen.results())
        assert time.monotonic() - pressed < 3
        assert cancelled(screen)
        screen.press("\x03c")
        screen.until("the second capture", lambda: len(screen.results()) > 2)
        # The server has survived the quit, and only the second memory is stored.
        assert len(screen.seen("initialize")) == 1
        assert screen.results().count("stored") == 1
        assert not kept(screen)


def test_quit_while_the_server_starts(terminal: Callable[..., Any]) -> None:
    with terminal(initialize="silent") as screen:
        screen.press("\x03c")
        screen.until("the start", lambda: screen.seen("initialize"))
        screen.press("\x07")
        screen.until("the quit", lambda: "quit" in screen.results())
        assert "stored" not in screen.results()
        assert not kept(screen)


def test_quit_during_a_wait_in_a_timer(terminal: Callable[..., Any]) -> None:
    with terminal(verify=[{"delay": 100}]) as screen:
        screen.press("\x03t")
        screen.until("the request", lambda: screen.seen("council/verify"))
        screen.press("\x07")
        screen.until("the quit", lambda: "quit" in screen.results())
        assert cancelled(screen)


def test_progress_of_a_wait_is_in_the_echo_area(terminal: Callable[..., Any]) -> None:
    with terminal(verify=[{"notes": ["neuron: plausible (1/3)"], "delay": 100}]) as screen:
        screen.press("\x03c")
        # What the line shares with the one before, "Council: ", is not drawn again.
        screen.until("the progress", lambda: "plausible (1/3)" in screen.screen())


def test_verdict_of_the_region(terminal: Callable[..., Any]) -> None:
    with terminal(verify=[{"notes": ["neuron: plausible (1/3)"], "delay": 1}]) as screen:
        screen.press("\x03r")
        screen.until("the progress", lambda: "[council: neuron: plausible (1/3)]" in screen.screen())
        screen.until("the verdict", lambda: "3/3 council members agree" in screen.screen())
        screen.press("\x1bxneuron-council-show-verdict\r")
        screen.press("\x03b")
        screen.until("the buffer", lambda: any("*neuron-council*" in result for result in screen.results()))
        assert "EMITTED (T3), confidence 0.85" in "\n".join(screen.results())


def test_verify_by_name(terminal: Callable[..., Any]) -> None:
    with terminal() as screen:
        screen.press("\x1bxcouncil-verify\r")
        screen.until("the prompt", lambda: "Claim:" in screen.screen())
        screen.press("The tower is in Paris.\r")
        screen.until("the prompt", lambda: "Context" in screen.screen())
        screen.press("\r")
        screen.until("the verdict", lambda: "EMITTED (T3), confidence 0.85" in screen.screen())
        assert screen.seen("council/verify")[0]["params"]["claim"] == "The tower is in Paris."
        assert "context" not in screen.seen("council/verify")[0]["params"]

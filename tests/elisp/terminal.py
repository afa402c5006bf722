"""An Emacs in a terminal of its own, and what its screen shows.

tmux draws the screen as a person sees it. The file screens/NAME.txt has the whole of one, and the cursor in its last
line; it serves every Emacs, since what differs between runs and versions is taken out of both. With
NEURON_COUNCIL_WRITE_SCREENS set, the tests write these files anew: look at the difference before it is committed.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCREENS = HERE / "screens"
WRITE = bool(os.environ.get("NEURON_COUNCIL_WRITE_SCREENS"))
PATIENCE_S = 60  # a loaded machine; nothing waits so long when it works
SETTLED_S = 1.5  # a screen that is to be written down has not changed for so long

KEYS = """
(defvar results "%(results)s")
(setq print-escape-newlines t)
(defun note (value) (write-region (concat (prin1-to-string value) "\\n") nil results t 'silent))
(defmacro on-key (key &rest body)
  `(global-set-key (kbd ,key) (lambda () (interactive) ,@body)))
(defun store (&rest arguments) (note (cons 'stored arguments)))
(setq neuron-council-server-command '(%(command)s)
      neuron-council-store-function #'store
      neuron-council-org-file "%(folder)s/memories.org"
      inhibit-startup-screen t)
(menu-bar-mode -1)
(global-set-key (kbd "C-c n") neuron-council-command-map)
(on-key "C-c c" (note (condition-case nil (capture-memory-with-council "A claim" nil :kind 'fact) (quit 'quit))))
(on-key "C-c t" (run-at-time 0.05 nil
                             (lambda () (note (condition-case nil (council-verify "A claim") (quit 'quit))))))
(on-key "C-c s" (note (condition-case nil (store :text "A memory" :kind 'fact) (quit 'quit))))
(on-key "C-c v" (note (intern (plist-get (council-verify "A claim") :status))))
(on-key "C-c b" (note (list 'text (buffer-substring-no-properties (point-min) (point-max)))))
(switch-to-buffer "notes")
(text-mode)
%(setup)s
(note 'ready)
"""

# The mode line: what precedes the name of the buffer, the position and the dashes at the end are not the council's.
MODE_LINE = re.compile(
    r"-[-U:@1*%]+ *F\d+ +(?P<name>\S+(?: \S+)*?) {2,}(?:All|Top|Bot|\d+%) +(?:L\d+ +)?"
    r"\((?P<modes>[^)]*)\)(?P<rest>.*?)-*$"
)
VARYING = [
    (re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"), "01234567-89ab-4cde-8fff-0123456789ab"),
    (re.compile(r"\b\d\d:\d\d\b"), "hh:mm"),
]


def normal(line: str) -> str:
    """LINE of a screen without what differs between runs and versions, as wide as before but for the mode line."""
    if found := MODE_LINE.match(line):
        line = f"== {found['name']} ({found['modes']}){found['rest'].rstrip()}"
    for pattern, word in VARYING:
        line = pattern.sub(word, line)
    return line.rstrip()


def settled(look: Callable[[], str]) -> str:
    """What LOOK returns, once it has not changed for a while."""
    picture, since = look(), time.monotonic()
    while time.monotonic() - since < SETTLED_S:
        time.sleep(0.02)
        if (now := look()) != picture:
            picture, since = now, time.monotonic()
    return picture


class Terminal:
    """An Emacs on a screen of COLUMNS and LINES, with a scripted server; SETUP is Lisp that it runs first."""

    def __init__(
        self, emacs: str, folder: Path, script: dict[str, Any], setup: str = "", columns: int = 120, lines: int = 40
    ) -> None:
        self.folder = folder
        self.results_file = folder / "results"
        self.results_file.touch()
        self.log_file = folder / "log"
        self.log_file.touch()
        command = [sys.executable, "-I", str(HERE / "fake_server.py"), str(self.log_file), json.dumps(script)]
        keys = folder / "keys.el"
        quoted = " ".join('"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"' for part in command)
        keys.write_text(
            KEYS % {"results": self.results_file, "command": quoted, "folder": folder, "setup": setup},
        )
        # A socket's name may not be long, and a test's folder is.
        self.socket = f"council-{os.getpid()}-{time.monotonic_ns()}"
        self.tmux(
            "-f", os.devnull, "new-session", "-d", "-x", str(columns), "-y", str(lines),
            "-e", f"NEURON_HOME={folder / 'home'}", "-e", "LC_ALL=C.UTF-8", "-e", "TERM=screen-256color",
            "-e", "TZ=UTC",
            emacs, "-Q", "-nw", "-L", str(HERE.parents[1] / "elisp"), "-l", "neuron-council", "-l", str(keys),
        )  # fmt: skip

    def tmux(self, *arguments: str) -> str:
        run = subprocess.run(
            ["tmux", "-u", "-L", self.socket, *arguments],
            capture_output=True, text=True, encoding="utf-8", check=False, env={**os.environ, "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        return run.stdout

    def press(self, keys: str) -> None:
        """Presses KEYS, by the names that tmux has for them, such as C-g, M-x and Enter; spaces part them."""
        self.tmux("send-keys", *keys.split())

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-l", "--", text)

    def command(self, name: str) -> None:
        self.press("M-x")
        self.type(name)
        self.press("Enter")

    def until(self, what: str, value: Callable[[], Any], why: Callable[[], str] | None = None) -> Any:
        """The first true VALUE; fails with WHY, else with the screen, when there is none in time."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := value()):
            if time.monotonic() > deadline:
                raise AssertionError(f"waited in vain for {what}; {self.results()}\n{(why or self.screen)()}")
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

    def shows_no(self, text: str) -> None:
        """Waits until the screen does not show TEXT any more."""
        self.until(f"{text!r} to leave the screen", lambda: text not in self.screen())

    def picture(self, *, loosely: bool = False) -> str:
        """The whole screen and the cursor, without what differs between runs and versions.

        LOOSELY, columns do not count: three spaces stand for more.
        """
        *lines, cursor = self.tmux(
            "capture-pane", "-p", ";", "display-message", "-p", "cursor in line #{cursor_y}, column #{cursor_x}"
        ).splitlines()
        picture = "\n".join([*(normal(line) for line in lines), f"-- {cursor}", ""])
        return re.sub(r"(?<=\S) {4,}(?=\S)", "   ", picture) if loosely else picture

    def line(self) -> str:
        """The line of the screen that the cursor is in."""
        *lines, cursor = self.tmux("capture-pane", "-p", ";", "display-message", "-p", "#{cursor_y}").splitlines()
        return lines[int(cursor)]

    def looks_like(self, name: str, *, loosely: bool = False) -> None:
        """Waits until the screen is that of the file NAME; fails with what differs."""
        file = SCREENS / f"{name}.txt"

        def look() -> str:
            return self.picture(loosely=loosely)

        def difference() -> str:
            lines = wanted.splitlines(), look().splitlines()
            return "\n".join(difflib.unified_diff(*lines, f"screens/{name}.txt", "the screen", lineterm="", n=2))

        if WRITE:
            file.write_text(settled(look), encoding="utf-8")
        wanted = file.read_text(encoding="utf-8")
        self.until(f"the screen {name}", lambda: look() == wanted, difference)

    def styles(self, text: str) -> set[int]:
        """The numbers of the rendition (4 is underlined, 7 inverse) in which the screen shows TEXT."""
        line = next(
            line
            for line in self.tmux("capture-pane", "-p", "-e").splitlines()
            if text in re.sub(r"\x1b\[[\d;]*m", "", line)
        )
        styles: set[int] = set()
        plain = ""
        for piece in re.split(r"(\x1b\[[\d;]*m)", line):
            if piece.startswith("\x1b["):
                for code in piece[2:-1].split(";"):
                    styles = set() if code in ("", "0") else styles | {int(code)}
            elif (plain := plain + piece) and text in plain:
                break
        return styles

    def seen(self, method: str) -> list[dict[str, Any]]:
        """The messages of METHOD that the server has read."""
        whole = self.log_file.read_text().rpartition("\n")[0]
        return [message for line in whole.splitlines() if (message := json.loads(line)).get("method") == method]

    def tried(self, *arguments: str) -> bool:
        """Whether tmux could do it; when Emacs has left there is no server any more."""
        command = ["tmux", "-L", self.socket, *arguments]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def leave(self) -> None:
        """Leaves Emacs as a person does; fails where it cannot be left."""
        deadline = time.monotonic() + PATIENCE_S
        self.tried("send-keys", "C-g")
        # C-g throws away what was typed with it, so leaving is asked for until Emacs has heard it.
        while self.tried("has-session"):
            assert time.monotonic() < deadline, f"Emacs cannot be left\n{self.screen()}"
            time.sleep(0.2)
            self.tried("send-keys", "C-x", "C-c")

    def kill(self) -> None:
        """Ends the terminal, and Emacs if it has not been left."""
        self.tried("kill-server")

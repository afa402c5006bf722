"""The eglot that comes with Emacs, with the server as a language server; see eglot-tests.el."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from test_ert import EMACSEN, HERE, ert


def has_eglot(emacs: str) -> bool:
    look = '(kill-emacs (if (locate-library "eglot") 0 1))'
    return subprocess.run([emacs, "-Q", "--batch", "--eval", look], check=False).returncode == 0


@pytest.mark.parametrize("emacs", EMACSEN)
def test_eglot(emacs: str, tmp_path: Path) -> None:
    if not has_eglot(emacs):
        pytest.skip(f"{emacs} comes without eglot; Emacs 29 and later have it")
    run = ert(emacs, HERE / "eglot-tests.el", tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"^[1-9]\d* passed, 0 failed$", run.stdout, re.MULTILINE), run.stdout

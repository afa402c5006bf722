"""Every ERT file on every Emacs found, compiled with warnings as errors."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INSTALL = "there is no Emacs: install it (Debian: apt-get install emacs-nox), or name one in NEURON_COUNCIL_EMACS"


def emacsen() -> list[str]:
    """The programs of all the Emacsen found, as the script of that name prints them."""
    return subprocess.run([HERE / "emacsen"], capture_output=True, text=True, check=False).stdout.split()


EMACSEN = emacsen()


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for the compiled client of each Emacs."""
    return {emacs: tmp_path_factory.mktemp("compiled") for emacs in EMACSEN}


def test_there_is_an_emacs() -> None:
    assert EMACSEN, INSTALL


@pytest.mark.timeout(150)
@pytest.mark.parametrize("emacs", EMACSEN)
@pytest.mark.parametrize("file", sorted(HERE.glob("*-test.el")), ids=lambda file: file.stem)
def test_ert(emacs: str, file: Path, compiled: dict[str, Path]) -> None:
    # Here the server is installed, so that a test that misses it has failed.
    environment = {**os.environ, "NEURON_COUNCIL_STRICT": "1"}
    run = subprocess.run(
        [HERE / "run", "-c", compiled[emacs], emacs, file],
        capture_output=True,
        text=True,
        errors="replace",
        env=environment,
        check=False,
    )
    last = run.stdout.rstrip().rpartition("\n")[2]
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.fullmatch(r"[1-9]\d* passed, 0 failed", last), run.stdout

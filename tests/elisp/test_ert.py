"""Every ERT file on every Emacs found, compiled with warnings as errors."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).parent
Case = tuple[str, Path]
Run = subprocess.CompletedProcess[str]
INSTALL = "there is no Emacs: install it (Debian: apt-get install emacs-nox), or name one in NEURON_COUNCIL_EMACS"


def emacsen() -> list[str]:
    """The programs of all the Emacsen found, as the script of that name prints them."""
    return subprocess.run([HERE / "emacsen"], capture_output=True, text=True, check=False).stdout.split()


EMACSEN = emacsen()


def ert(emacs: str, file: Path, compiled: Path) -> Run:
    """Runs FILE in EMACS with the client as compiled in the folder COMPILED, by the first run that comes."""
    return subprocess.run(
        [HERE / "run", "-c", compiled, emacs, file],
        capture_output=True,
        text=True,
        errors="replace",
        # Here the server is installed, so that a test that misses it has failed.
        env={**os.environ, "NEURON_COUNCIL_STRICT": "1"},
        check=False,
    )


@pytest.fixture(scope="session")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Case, Future[Run]]]:
    """The runs of all the tests of the session, two at a time since they mostly wait for a server."""
    folders = {emacs: tmp_path_factory.mktemp("compiled") for emacs in EMACSEN}
    cases = [
        (str(item.callspec.params["emacs"]), Path(str(item.callspec.params["file"])))
        for item in request.session.items
        if isinstance(item, pytest.Function) and "runs" in item.fixturenames
    ]
    with ThreadPoolExecutor(max_workers=2) as pool:
        yield {(emacs, file): pool.submit(ert, emacs, file, folders[emacs]) for emacs, file in cases}
        pool.shutdown(cancel_futures=True)


def test_there_is_an_emacs() -> None:
    assert EMACSEN, INSTALL


@pytest.mark.timeout(900)
@pytest.mark.parametrize("emacs", EMACSEN)
@pytest.mark.parametrize("file", sorted(HERE.glob("*-test.el")), ids=lambda file: file.stem)
def test_ert(emacs: str, file: Path, runs: dict[Case, Future[Run]]) -> None:
    run = runs[emacs, file].result()
    last = run.stdout.rstrip().rpartition("\n")[2]
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.fullmatch(r"[1-9]\d* passed, 0 failed", last), run.stdout

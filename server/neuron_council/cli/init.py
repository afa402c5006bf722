"""`init`: a council.toml from the models that are installed."""

from __future__ import annotations

import json
import os
import secrets
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_council.cli import exits
from neuron_council.cli.terminal import complain, tell
from neuron_council.rpc.report import plain

if TYPE_CHECKING:
    import argparse

    from neuron_council.cli.selection import Candidate, Choice
    from neuron_council.evidence.failure import Failure

HEAD = """\
# Who judges a claim; written by `neuron-council init` from the models that were installed.
# What can be set beside, and what each key means, stands in the documentation.
"""


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("init", help="write council.toml from the models that are installed in Ollama")
    parser.add_argument("--base-url", metavar="URL", help="where Ollama is (default: OLLAMA_HOST, else this machine)")
    parser.add_argument("--force", action="store_true", help="write it anew; the old file is kept as council.toml.old")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Choose, write, and say why. Raises ConfigError and OSError."""
    import asyncio

    from neuron_council import config
    from neuron_council.cli.selection import candidates, choose
    from neuron_council.evidence.failure import Failure
    from neuron_council.maker.host import DEFAULT_PORT, base_url

    path = config.home(os.environ) / config.FILE_NAME
    if os.path.lexists(path) and not arguments.force:
        complain(f"{path} is there already and was left as it is; --force writes it anew")
        return exits.NO
    try:
        url = base_url(arguments.base_url or os.environ.get("OLLAMA_HOST", ""))
    except ValueError as error:
        complain(f"{'--base-url' if arguments.base_url else 'OLLAMA_HOST'}: {error}")
        return exits.USAGE
    rows = asyncio.run(_installed(url, os.environ))
    if isinstance(rows, Failure):
        complain(_no_ollama(rows, url))
        return exits.UNAVAILABLE
    models = candidates(rows)
    choice = choose(models, _memory(url))
    if choice is None:
        complain(_too_few(models, url))
        return exits.NO
    is_default = url == f"http://127.0.0.1:{DEFAULT_PORT}"
    kept = _write(path, render(choice, None if is_default else url))
    tell(f"{path} is written{f'; the old one is {kept}' if kept else ''}.")
    tell(_reasons(choice, len(rows), len(models)))
    return exits.DONE


async def _installed(url: str, environ: Mapping[str, str]) -> list[dict[str, Any]] | Failure:
    """The rows of `/api/tags`, with capabilities where the server tells them in any way; or why there are none."""
    import asyncio

    from neuron_council.evidence.failure import Err, Failure, FailureKind
    from neuron_council.maker.ollama import CONTROL_S, SHOW_S, OllamaBackend

    key = environ.get("OLLAMA_API_KEY", "").strip() if url.startswith("https://") else ""
    backend = OllamaBackend(url, keep_alive=0, num_ctx=0, connections=4, api_key=key or None)
    line = backend.line()
    try:
        async with asyncio.timeout(CONTROL_S + SHOW_S):
            answer = await line.get("/api/tags")
        if isinstance(answer, Err):
            return answer.failure
        given = answer.value.get("models")
        rows = [row for row in given if isinstance(row, dict)] if isinstance(given, list) else []
        for row in rows:
            if not isinstance(row.get("capabilities"), list) and isinstance(row.get("name"), str):
                async with asyncio.timeout(SHOW_S):
                    shown = await line.post("/api/show", {"model": row["name"]})
                if not isinstance(shown, Err):
                    row.update({name: shown.value.get(name) for name in ("capabilities", "remote_host")})
    except TimeoutError:
        return Failure(FailureKind.TIMEOUT, f"{url} does not answer. Look at Ollama's own log, or start it anew.")
    else:
        return rows
    finally:
        await line.close()
        await backend.close()


def render(choice: Choice, url: str | None) -> str:
    """The file: the board of CHOICE at URL, None being the default."""
    from neuron_council.cli.selection import ids

    parts = [HEAD]
    if url is not None:
        parts.append(f"[ollama]\nbase_url = {_quoted(url)}\n")
    for number, (name, model) in enumerate(zip(ids(choice), choice.models, strict=True), 1):
        role = "contrarian" if number == len(choice.models) else "member"
        parts.append(
            f'[[member]]\nid = {_quoted(name)}\nmodel = {_quoted(model.name)}\nrole = "{role}"\nbackend = "ollama"\n'
        )
    return "\n".join(parts)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _write(path: Path, text: str) -> Path | None:
    """Write TEXT to PATH, for its owner alone, in one step; where the file that was there is kept. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(
            os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w", encoding="utf-8"
        ) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        kept = _keep(path) if os.path.lexists(path) else None
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    return kept


def _keep(path: Path) -> Path:
    """Move what is at PATH to a name that nothing has; a file, not a link to one, becomes its owner's alone."""
    if path.is_file() and not path.is_symlink():
        path.chmod(0o600)
    number = 1
    while os.path.lexists(kept := path.with_name(f"{path.name}.old{'' if number == 1 else f'-{number}'}")):
        number += 1
    path.rename(kept)
    return kept


def _memory(url: str) -> int | None:
    """Bytes of memory where Ollama runs, as far as that can be told."""
    from neuron_council.maker.host import is_loopback

    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if is_loopback(url) else None
    except (ValueError, OSError):
        return None


def _no_ollama(failure: Failure, url: str) -> str:
    """What to do where FAILURE is all that URL answers."""
    from neuron_council.evidence.failure import FailureKind

    why = failure.message
    if failure.kind in (FailureKind.UNREACHABLE, FailureKind.TIMEOUT):
        why = f"no Ollama answers at {url}. Start it with `ollama serve`, then run neuron-council init again."
    return (
        f"{why} Where it is elsewhere: neuron-council init --base-url URL. "
        "Models of another server can be named in council.toml by hand; the documentation has examples"
    )


def _too_few(models: list[Candidate], url: str) -> str:
    from neuron_council.cli.selection import SEATS, suggestions

    have = ", ".join(model.name for model in models) or "none"
    pulls = " && ".join(f"ollama pull {name}" for name in suggestions(models))
    return (
        f"{SEATS} models that chat are needed at {url}, there are {len(models)} ({have}). Install more, such as: "
        f"{pulls} - then run neuron-council init again"
    )


def _reasons(choice: Choice, installed: int, fit: int) -> str:
    from neuron_council.cli.selection import SEATS, suggestions

    lines = [f"Of {installed} installed models {fit} can judge; these were chosen:"]
    for number, model in enumerate(choice.models, 1):
        role = "contrarian" if number == len(choice.models) else "member"
        size = f"{model.size / 10**9:.1f} GB" if model.size else "of unknown size"
        lines.append(f"  {plain(model.name)}: {role}, family {plain(model.family) or 'unknown'}, {size}")
    if choice.families == SEATS:
        lines.append("Three families, so that one's blind spot is not the others'.")
    else:
        words = {1: "All are of one family and err alike", 2: "Two are of one family; the contrarian is of another"}
        pull = suggestions(list(choice.models))[0]
        lines.append(
            f"{words[choice.families]}. For a third: ollama pull {pull}, then neuron-council init --force."
            if choice.families == SEATS - 1
            else f"{words[choice.families]}. Better: ollama pull {pull}, then neuron-council init --force."
        )
    if choice.size:
        lines.append(f"Together they take {choice.size / 10**9:.1f} GB of memory, besides their windows.")
    return "\n".join(textwrap.fill(line, 100, subsequent_indent="  ") for line in lines)

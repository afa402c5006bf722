"""The configuration: `$NEURON_HOME/council.toml`, then NEURON_COUNCIL_ variables, then `initializationOptions`.

Every fault is one ConfigError that names where it stands, the key, the reason, and what would be accepted.
"""

from __future__ import annotations

import math
import re
import stat
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from attrs import evolve, frozen

from neuron_council.errors import ConfigError
from neuron_council.evidence.debate import Role
from neuron_council.maker.board import DEFAULT_SPECS, BackendName, Connections, MemberSpec, order
from neuron_council.maker.embedded import check_options
from neuron_council.maker.host import base_url

VARIABLE_PREFIX = "NEURON_COUNCIL_"
FILE_NAME = "council.toml"

_MAX_SECONDS = 7 * 86_400
_DURATION = re.compile(r"-?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+|-?0")
_PASSWORD = re.compile(r":[^@/]*@")
_NUMERAL = re.compile(r"[+-]?[0-9.]{1,40}(?:[eE][+-]?[0-9]{1,3})?")
_ID = re.compile(r"[\w.-]{1,64}")


@frozen
class CouncilSettings:
    """The table `[council]`; what ends in `_s` is in seconds. The defaults are DESIGN's."""

    member_timeout_s: float = 10.0
    load_wait_s: float = 20.0
    deadline_s: float = 60.0
    max_loops: int = 3
    cache_ttl_s: float = 86_400.0
    max_parallel_per_model: int = 1


@frozen
class OllamaSettings:
    """The table `[ollama]`; `keep_alive` is a duration with a unit, or seconds."""

    base_url: str | None = None
    keep_alive: str | int = "30m"
    num_ctx: int = 8192


@frozen
class Settings:
    """Everything that was configured. `members` are in voting order, `warnings` are sentences for stderr."""

    home: Path
    council: CouncilSettings
    connections: Connections
    members: tuple[MemberSpec, ...]
    warnings: tuple[str, ...] = ()


def home(environ: Mapping[str, str]) -> Path:
    """NEURON_HOME of ENVIRON, or `~/.neuron`."""
    named = environ.get("NEURON_HOME") or "~/.neuron"
    return Path(named).expanduser().absolute()


def load(home: Path, environ: Mapping[str, str], options: object = None) -> Settings:
    """The settings of the file in HOME, overridden by ENVIRON, overridden by OPTIONS (the same tables and keys).

    A file that does not exist says nothing. Raises ConfigError.
    """
    try:
        return _load(home, environ, options)
    except RecursionError:
        raise ConfigError(f"{home / FILE_NAME} or initializationOptions: values are nested too deeply.") from None


def _load(home: Path, environ: Mapping[str, str], options: object) -> Settings:
    sources = [_read_file(home / FILE_NAME), *_read_variables(environ), _read_options(options)]
    council, ollama, members = CouncilSettings(), OllamaSettings(), order(DEFAULT_SPECS, "default board")
    keys: dict[str, str] = {}
    for source in sources:
        council = evolve(council, **source.table("council", _COUNCIL))
        ollama = evolve(ollama, **source.table("ollama", _OLLAMA))
        if specs := source.members(environ, keys):
            members = order(specs, source.name)
    url = ollama.base_url or _ollama_host(environ)
    if url.startswith("https://") and (key := environ.get("OLLAMA_API_KEY", "").strip()):
        keys[url] = key
    connections = Connections(
        ollama_url=url,
        keep_alive=ollama.keep_alive,
        num_ctx=ollama.num_ctx,
        member_timeout_s=council.member_timeout_s,
        max_parallel=council.max_parallel_per_model,
        api_keys=keys,
    )
    return Settings(home, council, connections, members, _unknown_variables(environ))


@frozen
class _Source:
    """One place that configures: its name for messages, how a key is written there, and its tables."""

    name: str
    tables: Mapping[str, Any]

    def table(self, name: str, readers: Mapping[str, _Reader]) -> dict[str, Any]:
        """The values that table NAME sets, checked."""
        values = self.tables.get(name)
        if values is None:
            return {}
        if not isinstance(values, Mapping):
            raise ConfigError(f"{self.name}: {name} must be a table.")
        return self._read(values, readers, f"[{name}]")

    def members(self, environ: Mapping[str, str], keys: dict[str, str]) -> list[MemberSpec]:
        """The members in their order; KEYS gains the API keys that they name."""
        entries = self.tables.get("member")
        if entries is None:
            return []
        if not isinstance(entries, list | tuple) or not entries:
            raise ConfigError(f"{self.name}: member must be a list of tables, [[member]].")
        return [self._member(number, entry, environ, keys) for number, entry in enumerate(entries, 1)]

    def _member(self, number: int, entry: object, environ: Mapping[str, str], keys: dict[str, str]) -> MemberSpec:
        where = f"[[member]] number {number}"
        if not isinstance(entry, Mapping):
            raise ConfigError(f"{self.name}: {where} must be a table.")
        if isinstance(entry.get("id"), str):
            where = f"[[member]] id {entry['id'][:64]!r}"
        values = self._read(entry, _MEMBER, where)
        for key in ("id", "model", "role"):
            if key not in values:
                raise ConfigError(f"{self.name}: {where}: {key} is missing.")
        options = dict(values.get("options", {}))
        persona = options.pop("persona", "")
        if not isinstance(persona, str):
            raise ConfigError(f"{self.name}: {where}: options.persona must be a text.")
        key_variable = options.pop("api_key_env", None)
        spec = MemberSpec(**{**values, "options": options, "persona": persona.strip()})
        if spec.backend == "openai" and spec.base_url is None:
            raise ConfigError(f'{self.name}: {where}: base_url is missing; "openai" has no default address.')
        if spec.backend == "ollama" and spec.model.casefold().endswith((":cloud", "-cloud")):
            raise ConfigError(
                f"{self.name}: {where}: model {spec.model!r} runs in the cloud, so claims would leave this machine. "
                "Name a local model."
            )
        if spec.backend == "embedded":
            try:
                check_options(options)
            except ValueError as error:
                raise ConfigError(f"{self.name}: {where}: options: {error}.") from None
        if key_variable is not None:
            if spec.base_url is None or not environ.get(str(key_variable)):
                raise ConfigError(
                    f"{self.name}: {where}: options.api_key_env needs a base_url, and its variable must be set."
                )
            keys[spec.base_url] = environ[str(key_variable)].strip()
        return spec

    def _read(self, values: Mapping[str, Any], readers: Mapping[str, _Reader], where: str) -> dict[str, Any]:
        read = {}
        for key, value in values.items():
            if key not in readers:
                known = ", ".join(readers)
                raise ConfigError(f"{self.name}: {where} {_shown(key)}: the key is unknown. Known are {known}.")
            try:
                read[key] = readers[key](value)
            except ValueError as error:
                raise ConfigError(f"{self.name}: {where} {key}: {error}, not {_shown(value)}.") from None
        return read


def _read_file(path: Path) -> _Source:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # reading a pipe would never end
            raise ConfigError(f"{path}: the file cannot be read: it is a directory, a pipe or the like.")
        tables = tomllib.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        return _Source(str(path), {})
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: the file is not UTF-8: {error.reason} at byte {error.start}.") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: the TOML is broken: {error}.") from None
    except ValueError:
        raise ConfigError(f"{path}: the TOML is broken: a number has too many digits.") from None
    except OSError as error:
        raise ConfigError(f"{path}: the file cannot be read: {error.strerror}.") from None
    return _known_tables(_Source(str(path), tables))


def _read_options(options: object) -> _Source:
    name = "initializationOptions"
    if options is None:
        return _Source(name, {})
    if not isinstance(options, Mapping):
        raise ConfigError(f"{name}: it must be an object with the tables of {FILE_NAME}, not {_shown(options)}.")
    return _known_tables(_Source(name, options))


def _known_tables(source: _Source) -> _Source:
    for table in source.tables:
        if table not in _TABLES:
            raise ConfigError(f"{source.name}: {_shown(table)}: the table is unknown. Known are {', '.join(_TABLES)}.")
    return source


def _read_variables(environ: Mapping[str, str]) -> list[_Source]:
    sources = []
    for key in _COUNCIL:
        variable = VARIABLE_PREFIX + key.upper()
        if text := environ.get(variable, "").strip():
            sources.append(_Source(f"environment variable {variable}", {"council": {key: _number_of(text)}}))
    return sources


def _unknown_variables(environ: Mapping[str, str]) -> tuple[str, ...]:
    known = {VARIABLE_PREFIX + key.upper() for key in _COUNCIL}
    unknown = sorted(name for name in environ if name.startswith(VARIABLE_PREFIX) and name not in known)
    listed = ", ".join(sorted(known))
    return tuple(f"environment variable {name!a} is unknown and ignored. Known are {listed}." for name in unknown)


def _ollama_host(environ: Mapping[str, str]) -> str:
    text = environ.get("OLLAMA_HOST", "")
    try:
        return base_url(text)
    except ValueError as error:
        raise ConfigError(f"environment variable OLLAMA_HOST: {error}, in {_shown(text)}.") from None


_Reader = Callable[[Any], Any]


def _number(low: float, high: float, *, above: bool = False) -> _Reader:
    """A reader of seconds or the like from LOW (ABOVE it, if so) to HIGH."""

    bounds = f"it must be a number {f'above {low:g} and at most' if above else f'from {low:g} to'} {high:g}"

    def read(value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(bounds)
        if above and value == low:
            raise ValueError(bounds)
        return float(value)

    return read


def _whole(low: int, high: int) -> _Reader:
    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"it must be a whole number from {low} to {high}")
        return value

    return read


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError("it must be a text on one line")
    return value.strip()


def _name(value: object) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError("it must be 1 to 64 letters, digits, '.', '_' or '-'")
    return value


def _one_of(*choices: str) -> _Reader:
    def read(value: object) -> str:
        if value not in choices:
            raise ValueError(f"it must be one of {', '.join(choices)}")
        return str(value)

    return read


def _url(value: object) -> str:
    return base_url(_text(value))


def _keep_alive(value: object) -> str | int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or not _DURATION.fullmatch(value.strip()):
        raise ValueError('it must be seconds or a duration with a unit, such as "30m"')
    return value.strip()


def _options(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError("it must be a table")
    return {key: _plain(item) for key, item in value.items()}


def _plain(value: object) -> Any:
    """VALUE, where JSON can carry it to a backend."""
    if isinstance(value, Mapping):
        return _options(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError("it must hold texts, finite numbers, true, false, lists and tables alone")


def _number_of(text: str) -> Any:
    """TEXT of a variable as a number where it is one, else as it is, for the key's own reader to refuse."""
    if not _NUMERAL.fullmatch(text):
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _shown(value: object) -> str:
    """VALUE for a message: short, on one line."""
    text = repr(value)
    if _PASSWORD.search(text):
        return "what was given"
    return text if len(text) <= 80 else f"{text[:79]}…"


_COUNCIL: Mapping[str, _Reader] = {
    "member_timeout_s": _number(0, _MAX_SECONDS, above=True),
    "load_wait_s": _number(0, _MAX_SECONDS),
    "deadline_s": _number(0, _MAX_SECONDS, above=True),
    "max_loops": _whole(1, 3),
    "cache_ttl_s": _number(0, 100 * 366 * 86_400),
    "max_parallel_per_model": _whole(1, 1024),
}
_OLLAMA: Mapping[str, _Reader] = {"base_url": _url, "keep_alive": _keep_alive, "num_ctx": _whole(512, 1 << 24)}
_MEMBER: Mapping[str, _Reader] = {
    "id": _name,
    "model": _text,
    "role": _one_of(*get_args(Role)),
    "backend": _one_of(*get_args(BackendName)),
    "base_url": _url,
    "timeout_s": _number(0, _MAX_SECONDS, above=True),
    "options": _options,
}
_TABLES = ("council", "ollama", "member")

"""`batch`: many claims of a file, a few at a time, behind whoever waits for one; safe to interrupt and to resume."""

from __future__ import annotations

import json
import logging
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from neuron_council.cli import exits, session
from neuron_council.cli.bar import Bar
from neuron_council.cli.results import Json, ResultFile, Results, Stdout
from neuron_council.cli.terminal import STDIN, complain, from_stdin

if TYPE_CHECKING:
    import argparse

    from neuron_council.config import Settings
    from neuron_council.council import Council
    from neuron_council.rpc.params import BatchItem

log = logging.getLogger(__name__)

NOT_JSON, INTERNAL = -32700, -32603
"""Error codes of a line, as on the wire."""
NAME = re.compile(r"[\w.-]{1,40}")
"""A key that is told. What is longer, or no name, may be what was to be judged."""
SUMMARY = ("id", "claim", "confidence", "summary", "tags", "status", "cached")
"""What `--summary` keeps of a verdict."""


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("batch", help="judge many claims, and print a line of JSON for each")
    parser.add_argument(
        "file", metavar="FILE.jsonl", help='one JSON object a line: {"claim", "context"?, "id"?}; - reads stdin'
    )
    parser.add_argument(
        "--output",
        metavar="OUT.jsonl",
        type=Path,
        help="append the results to this file; what it answers already is not judged again",
    )
    parser.add_argument("--summary", action="store_true", help="leave votes and report out of the results")
    parser.set_defaults(run=run)


@frozen
class Line:
    """A line of the file. `digest` names its claim and context; `fault` stands in the place of an item at fault.

    `unknown` are its keys that mean nothing here.
    """

    number: int
    digest: str
    item: BatchItem | None
    fault: Json | None = None
    unknown: tuple[str, ...] = ()


def run(arguments: argparse.Namespace) -> int:
    """Judge what is not judged yet. Raises ConfigError, ResultsError and OSError."""
    settings = session.settings()
    lines = read(from_stdin() if arguments.file == STDIN else Path(arguments.file).read_bytes())
    _tell_unknown(lines)
    results: Results = ResultFile(arguments.output) if arguments.output else Stdout()
    try:
        return Batch(settings, lines, results, is_short=arguments.summary).run()
    except KeyboardInterrupt:
        if arguments.output is None:
            complain("interrupted; with --output OUT.jsonl, a batch can be resumed")
        else:
            short = ["--summary"] if arguments.summary else []
            again = shlex.join([arguments.file, "--output", str(arguments.output), *short])
            complain(f"interrupted; {arguments.output} is whole. Go on with: neuron-council batch {again}")
        raise
    finally:
        results.close()


class Batch:
    """The lines of a file on their way to their results."""

    def __init__(self, settings: Settings, lines: Sequence[Line], results: Results, *, is_short: bool) -> None:
        """IS_SHORT leaves votes and report out."""
        self._settings = settings
        self._lines = lines
        self._results = results
        self._is_short = is_short
        self._last = {line.number: _same(results.known.get(line.number), line) for line in lines}

    def run(self) -> int:
        """Judge, write, and say what was not judged; the exit code."""
        import asyncio

        for line in self._lines:
            if line.fault is not None:
                self._add(line, {"error": line.fault})
        due = [line for line in self._lines if line.item is not None and not is_answered(self._last[line.number])]
        if due:
            asyncio.run(self._judge(due))
        states = Counter(_state(result) for result in self._last.values())
        if left := states["at fault"] + states["unavailable"]:
            complain(
                f"{left} of {len(self._lines)} claims have no verdict: {states['at fault']} at fault, "
                f"{states['unavailable']} unavailable; their lines say why"
            )
        return exits.PARTIAL if left else exits.DONE

    async def _judge(self, due: Sequence[Line]) -> None:
        import asyncio

        from neuron_council.council import Council
        from neuron_council.rpc.methods import BATCH_AT_A_TIME

        bar = Bar(len(due))
        council = Council(self._settings)
        lines = iter(due)
        try:
            bar.wait("loading the models")
            await council.warm_up()
            bar.begin()
            async with asyncio.TaskGroup() as group:
                for _ in range(BATCH_AT_A_TIME):
                    group.create_task(self._work(council, lines, bar))
        except ExceptionGroup as errors:  # the results cannot be written, and one worker's reason is the others'
            raise errors.exceptions[0] from None
        finally:
            bar.close()
            await council.close()

    async def _work(self, council: Council, lines: Iterator[Line], bar: Bar) -> None:
        for line in lines:
            self._add(line, await self._answer(council, line))
            bar.advance()

    async def _answer(self, council: Council, line: Line) -> Json:
        """The verdict on LINE, or the error in its place."""
        from pygls.exceptions import JsonRpcException

        from neuron_council.errors import CouncilError
        from neuron_council.evidence.pack import ContextPack
        from neuron_council.rpc import log as logs
        from neuron_council.rpc import wire
        from neuron_council.rpc.message import cleaned
        from neuron_council.rpc.methods import as_rpc

        assert line.item is not None  # noqa: S101 - lines at fault are not judged
        # A line that was unavailable gets a verdict of its own: its id belongs to the one that says so.
        verdict_id = None if _state(self._last[line.number]) == "unavailable" else line.item.id
        pack = ContextPack(line.item.claim, line.item.context)
        try:
            verdict = await council.verify(pack, id=verdict_id, fresh=line.item.fresh, is_urgent=False)
        except (CouncilError, JsonRpcException) as error:
            refused = as_rpc(error)
            return {"error": {"code": refused.code, "message": refused.message}}
        except Exception as error:  # noqa: BLE001 - one claim's fault is none of the others'
            name = logs.incident(log, error)
            return {"error": {"code": INTERNAL, "message": f"A fault of the program; incident {name} in the log."}}
        whole: Json = cleaned(wire.verdict(verdict))
        return {key: whole[key] for key in SUMMARY} if self._is_short else whole

    def _add(self, line: Line, answer: Json) -> None:
        """Write the result, unless it is the error that stands there already."""
        result = {"line": line.number, "digest": line.digest, **answer}
        if "error" not in result or result != self._last[line.number]:
            self._results.add(result)
        self._last[line.number] = result


def read(data: bytes) -> list[Line]:
    """The lines of DATA that are not blank, each an item or a fault. A byte order mark is no part of the first."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [_line(number, line) for number, line in enumerate(lines, 1) if line.strip()]


def is_answered(result: Json | None) -> bool:
    """Whether RESULT is a verdict that more asking would not change."""
    return result is not None and _state(result) == "judged"


def _state(result: Json | None) -> str:
    if result is None or "error" in result:
        return "at fault"
    return "unavailable" if result.get("status") == "unavailable" else "judged"


def _same(result: Json | None, line: Line) -> Json | None:
    """RESULT, where it is of LINE as it is now."""
    return result if result is not None and result.get("digest") == line.digest else None


def _tell_unknown(lines: Sequence[Line]) -> None:
    """Say which keys are passed over: one of them may be a slip that leaves a context out."""
    held = Counter(key for line in lines for key in line.unknown)
    for key, count in held.items():
        first = next(line.number for line in lines if key in line.unknown)
        where = f"line {first}" if count == 1 else f"{count} lines, the first is {first}"
        complain(f"the key {key} is passed over in {where}; known are {', '.join(_keys())}")


def _keys() -> tuple[str, ...]:
    import attrs

    from neuron_council.rpc.params import BatchItem

    return tuple(field.name for field in attrs.fields(BatchItem))


def _line(number: int, raw: bytes) -> Line:
    from pygls.exceptions import JsonRpcInvalidParams

    from neuron_council.evidence.pack import ContextPack
    from neuron_council.ledger import codec
    from neuron_council.rpc.params import BatchItem, structure

    unknown: tuple[str, ...] = ()
    try:
        given = _object(raw)
        unknown = tuple(key if NAME.fullmatch(key) else "(no name)" for key in sorted(given.keys() - _keys()))
        item = structure(given, BatchItem)
    except (ValueError, RecursionError, JsonRpcInvalidParams) as error:
        digest = codec.digest(raw.decode(errors="replace"))
        return Line(number, digest, None, _fault(error), unknown)
    return Line(number, codec.pack_key(ContextPack(item.claim, item.context)), item, unknown=unknown)


def _object(raw: bytes) -> Json:
    """The object of a line. Raises ValueError where it is not JSON, and JsonRpcInvalidParams where it is no object."""
    from pygls.exceptions import JsonRpcInvalidParams

    given = json.loads(raw.decode())
    if not isinstance(given, dict):
        raise JsonRpcInvalidParams("claim: is required, and the line is no JSON object")
    return given


def _fault(error: Exception) -> Json:
    """Why a line cannot be judged, without a word of it."""
    match error:
        case json.JSONDecodeError():
            reason = f"{error.msg} at character {error.pos}"
        case UnicodeDecodeError():
            reason = f"{error.reason} at byte {error.start}"
        case RecursionError():
            reason = "it is nested too deeply"
        case ValueError():
            reason = "a number in it has too many digits"
        case _:
            return {"code": getattr(error, "code", NOT_JSON), "message": str(error)}
    return {"code": NOT_JSON, "message": f"The line is not JSON in UTF-8: {reason}."}

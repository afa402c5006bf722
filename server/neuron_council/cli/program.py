"""The commands and their arguments; every failure is one line on stderr and an exit code."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from neuron_council import __version__
from neuron_council.cli import (
    batch,
    doctor,
    exits,
    forget,
    init,
    listing,
    reevaluate,
    replay,
    review,
    serve,
    show,
    terminal,
    verify,
)
from neuron_council.cli.results import ResultsError
from neuron_council.errors import ConfigError, CouncilError, LedgerError

COMMANDS = (serve, verify, batch, listing, show, review, forget, reevaluate, replay, doctor, init)

log = logging.getLogger(__name__)


class _Parser(argparse.ArgumentParser):
    """A parser whose help ends with the exit codes, a command's with its own, and whose complaint is one line."""

    def __init__(self, *, prog: str, **given: object) -> None:
        epilog = _epilog(prog.partition(" ")[2])
        super().__init__(prog, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=epilog, **given)  # type: ignore[arg-type]  # passed on as it came

    def error(self, message: str) -> NoReturn:
        terminal.complain(f"{message}; {self.prog} --help says more")
        sys.exit(exits.USAGE)


def run(argv: Sequence[str]) -> int:
    """Run the command that ARGV names and return its exit code."""
    terminal.prepare()
    arguments = parser().parse_args(argv)
    try:
        code = int(arguments.run(arguments))
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return exits.UNREAD
    except ConfigError as error:
        return _failed(error, exits.USAGE)
    except (LedgerError, ResultsError) as error:
        return _failed(error, exits.FILE)
    except CouncilError as error:
        return _failed(error, exits.NO)
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        return _failed(f"{named}{error.strerror or type(error).__name__}", exits.FILE)
    except Exception as error:  # noqa: BLE001 - a traceback could quote a claim, and would help nobody in a shell
        from neuron_council.rpc.log import incident

        name = incident(log, error)
        return _failed(
            f"a fault of the program itself, {type(error).__name__}; incident {name} in the log", exits.INTERNAL
        )
    return code


def parser() -> argparse.ArgumentParser:
    """The program's arguments."""
    whole = _Parser(prog="neuron-council", description="Judges whether a claim may enter a long-term memory.")
    whole.add_argument("--version", action="version", version=f"neuron-council {__version__}")
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.register(commands)
    return whole


def _failed(why: object, code: int) -> int:
    terminal.complain(str(why))
    return code


def _drop_output() -> None:
    """Send what is still to be written nowhere, or the interpreter would complain of it at its end."""
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _epilog(command: str) -> str:
    """The exit codes of COMMAND; all of them where it is empty."""
    lines = ["exit codes:"]
    for each in exits.EXITS:
        meaning = each.of(command) if command else each.of_all()
        lines += textwrap.wrap(meaning, 100, initial_indent=f"  {each.code:<5}", subsequent_indent=" " * 7)
    return "\n".join(lines)

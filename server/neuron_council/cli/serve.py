"""`serve`: the server that an editor starts."""

from __future__ import annotations

import gc
import os
import signal
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import argparse


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "serve",
        help="speak JSON-RPC over stdin and stdout, for an editor that starts this program",
    )
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> NoReturn:
    """Serve until the client leaves."""
    serve()


def serve() -> NoReturn:
    """Serve over this process's stdin and stdout, and end the process."""
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the loop heeds it: no traceback out of an import
    from neuron_council.rpc import stdio

    if os.isatty(0):
        stdio.say("neuron-council serve is started by an editor and waits for its JSON-RPC; in a shell, use verify.")
    try:
        stdin, stdout = stdio.claim()
    except OSError:
        stdio.say("neuron-council: serve needs an open stdin and stdout")
        os._exit(1)
    gc.disable()  # what is imported stays; looking through it for garbage again and again costs a tenth of the start
    from neuron_council.rpc.server import run

    gc.freeze()
    gc.enable()
    os._exit(run(stdin, stdout, os.environ, parent))

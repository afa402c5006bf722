"""`show`: one stored verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_council.cli import exits, ids, session
from neuron_council.cli.terminal import as_json, tell

if TYPE_CHECKING:
    import argparse


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("show", help="show one stored verdict")
    parser.add_argument("id", type=ids.typed, help=ids.HELP)
    parser.add_argument("--json", action="store_true", help="print it as council/show answers it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the verdict. Raises UnknownVerdictError and AmbiguousIdError."""
    from neuron_council.cli.report import render_shown
    from neuron_council.rpc import wire

    with session.ledger() as ledger:
        shown = ledger.show(ids.resolve(ledger, arguments.id))
    tell(as_json(wire.shown(shown), indent=2) if arguments.json else render_shown(shown))
    return exits.DONE

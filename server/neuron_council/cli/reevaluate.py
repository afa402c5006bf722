"""`reevaluate`: unavailable verdicts, due now instead of after their pause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_council.cli import exits, ids, session
from neuron_council.cli.terminal import tell

if TYPE_CHECKING:
    import argparse


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("reevaluate", help="have claims that nobody could judge judged again by the server")
    parser.add_argument(
        "ids",
        type=ids.typed,
        nargs="*",
        metavar="id",
        help="unavailable verdicts, as ids or their first digits; else all",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Make them due. Raises UnknownVerdictError and AmbiguousIdError."""
    with session.ledger() as ledger:
        queued = ledger.hasten([ids.resolve(ledger, each) for each in arguments.ids] or None)
    tell(f"queued: {queued}. A running server judges them when its models answer, else the next one that starts.")
    return exits.DONE

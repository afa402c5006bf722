"""`review`: what a person decides of a verdict, recorded beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_council.cli import exits, ids, session
from neuron_council.cli.terminal import as_json, complain, tell
from neuron_council.evidence.pack import MAX_CLAIM
from neuron_council.evidence.text import clean
from neuron_council.rpc.report import plain

if TYPE_CHECKING:
    import argparse


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("review", help="decide a verdict that is parked, flagged or split")
    parser.add_argument("id", type=ids.typed, help=ids.HELP)
    parser.add_argument("decision", choices=("accept", "reject"), help="a later decision takes an earlier one's place")
    parser.add_argument("--note", type=clean, help="why")
    parser.add_argument("--json", action="store_true", help="print the verdict as council/review answers it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Record the decision. Raises UnknownVerdictError, AmbiguousIdError and ReviewError."""
    from neuron_council.cli.report import render_review
    from neuron_council.rpc import wire

    if arguments.note and len(arguments.note) > MAX_CLAIM:
        complain(f"--note: must be at most {MAX_CLAIM:,} characters long, it has {len(arguments.note):,}")
        return exits.USAGE
    with session.ledger() as ledger:
        shown = ledger.review(ids.resolve(ledger, arguments.id), arguments.decision, arguments.note)
    if arguments.json:
        tell(as_json(wire.shown(shown), indent=2))
    elif shown.review:
        tell(f"{plain(shown.verdict.pack.claim)}\n{render_review(shown.review)}")
    return exits.DONE

"""`replay`: the checker over stored evidence, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_council.cli import exits, ids, session
from neuron_council.cli.terminal import as_json, tell
from neuron_council.rpc.report import plain

if TYPE_CHECKING:
    import argparse


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("replay", help="decide stored verdicts again, without a model")
    parser.add_argument("id", type=ids.typed, nargs="?", help=f"{ids.HELP}; without one, all")
    parser.add_argument("--json", action="store_true", help="print the result as council/replay answers it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Replay, and tell what would differ today. Raises UnknownVerdictError and AmbiguousIdError."""
    from neuron_council.replay import replay, replay_all
    from neuron_council.rpc import wire

    with session.ledger() as ledger:
        if arguments.id is None:
            result = replay_all(ledger)
        else:
            result = replay([ledger.record(ids.resolve(ledger, arguments.id))])
    if arguments.json:
        tell(as_json(wire.replay(result), indent=2))
    else:
        for difference in result.differing:
            tell(f"{difference.id}: {plain(' '.join(difference.reasons))}")
        tell(f"checked {result.checked}, identical {result.identical}, differing {len(result.differing)}")
    return exits.NO if result.differing else exits.DONE

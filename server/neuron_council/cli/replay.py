"""`replay`: the checker over stored evidence, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_council.cli import exits, session
from neuron_council.cli.terminal import as_json, one_line, tell
from neuron_council.evidence.text import clean

if TYPE_CHECKING:
    import argparse


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("replay", help="decide stored verdicts again, without a model")
    parser.add_argument("id", type=clean, nargs="?", help="the verdict's id; without one, all")
    parser.add_argument("--json", action="store_true", help="print the result as council/replay answers it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Replay, and tell what would differ today. Raises UnknownVerdictError."""
    from neuron_council.replay import replay, replay_all
    from neuron_council.rpc import wire

    with session.ledger() as ledger:
        result = replay_all(ledger) if arguments.id is None else replay([ledger.record(arguments.id)])
    if arguments.json:
        tell(as_json(wire.replay(result), indent=2))
    else:
        for difference in result.differing:
            tell(f"{difference.id}: {one_line(' '.join(difference.reasons))}")
        tell(f"checked {result.checked}, identical {result.identical}, differing {len(result.differing)}")
    return exits.NO if result.differing else exits.DONE

"""`forget`: a claim, and all that was said of it, removed from the ledger."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from neuron_council.cli import exits, ids, session
from neuron_council.cli.terminal import complain, tell
from neuron_council.rpc.report import plain
from neuron_council.rpc.stdio import say

if TYPE_CHECKING:
    import argparse


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("forget", help="remove a claim and every verdict on it; this cannot be undone")
    parser.add_argument("id", type=ids.typed, help="the id of a verdict on the claim, or its first digits, 4 or more")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Forget it, once the user agrees. Raises UnknownVerdictError and AmbiguousIdError."""
    from neuron_council.errors import UnknownVerdictError

    with session.ledger() as ledger:
        verdict_id = ids.resolve(ledger, arguments.id)
        # Asking again for what was forgotten already is how the rest of it is removed, and loses nothing.
        with suppress(UnknownVerdictError):
            claim = ledger.show(verdict_id).verdict.pack.claim
            if not arguments.yes:
                if sys.stdin is None or not sys.stdin.isatty():
                    complain("forget cannot be undone, and there is no terminal to ask on; give --yes")
                    return exits.USAGE
                if not _agreed(claim):
                    complain("nothing was forgotten")
                    return exits.NO
        ledger.forget(verdict_id)
    tell(f"forgotten: {verdict_id}")
    return exits.DONE


def _agreed(claim: str) -> bool:
    say(f"{plain(claim)}\nForget this claim and every verdict on it, for good? Type yes:")
    return sys.stdin.readline().strip().casefold() in ("y", "yes")

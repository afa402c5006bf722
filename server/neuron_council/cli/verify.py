"""`verify`: one claim, judged and explained."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from neuron_council.cli import exits, session
from neuron_council.cli.terminal import STDIN, as_json, complain, tell, text_of

if TYPE_CHECKING:
    import argparse

    from neuron_council.config import Settings
    from neuron_council.evidence.debate import Vote
    from neuron_council.evidence.verdict import Verdict
    from neuron_council.rpc.params import VerifyParams


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("verify", help="judge one claim and print the verdict")
    parser.add_argument("claim", nargs="?", default=STDIN, help="the claim; - or nothing reads it from stdin")
    parser.add_argument("context", nargs="?", help="the notes to judge it against; - reads them from stdin")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON, as council/verify answers it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Judge the claim. Raises ConfigError."""
    import asyncio

    from pygls.exceptions import JsonRpcInvalidParams

    from neuron_council.cli.report import render_answer
    from neuron_council.rpc import wire
    from neuron_council.rpc.message import cleaned
    from neuron_council.rpc.params import VerifyParams, structure

    if arguments.claim == STDIN and arguments.context == STDIN:
        complain("claim and context cannot both come from stdin; give one of them as an argument")
        return exits.USAGE
    context = None if arguments.context is None else text_of(arguments.context)
    try:
        params = structure({"claim": text_of(arguments.claim), "context": context}, VerifyParams)
    except JsonRpcInvalidParams as error:
        complain(str(error))
        return exits.USAGE
    verdict = asyncio.run(_judge(params, session.settings()))
    tell(as_json(cleaned(wire.verdict(verdict)), indent=2) if arguments.json else render_answer(verdict))
    return exit_code(verdict)


async def _judge(params: VerifyParams, settings: Settings) -> Verdict:
    from neuron_council.council import Council
    from neuron_council.evidence.pack import ContextPack
    from neuron_council.rpc.progress import Tally
    from neuron_council.rpc.stdio import say

    tally = Tally(len(settings.members))

    def show(vote: Vote) -> None:
        line = tally.add(vote)
        if sys.stderr.isatty():
            say(line)

    # Not started: working the queue is the business of servers, and each model is loaded when its member is asked.
    council = Council(settings)
    try:
        return await council.verify(ContextPack(params.claim, params.context), on_vote=show)
    finally:
        await council.close()


def exit_code(verdict: Verdict) -> int:
    """What a shell may do with the claim, in the order of the default storage policy."""
    for tag, code in (
        ("council-unavailable", exits.UNAVAILABLE),
        ("council-parked", exits.PARTIAL),
        ("council-flagged", exits.NO),
    ):
        if tag in verdict.outcome.tags:
            return code
    return exits.DONE

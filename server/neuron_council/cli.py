"""The program `neuron-council`: `serve` for editors, `verify` for a shell."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from neuron_council import __version__

if TYPE_CHECKING:
    from neuron_council.config import Settings
    from neuron_council.evidence.debate import Vote
    from neuron_council.evidence.verdict import Verdict
    from neuron_council.rpc.params import VerifyParams

EXIT_CODES = """\
exit codes of verify, the first that fits:
  4    the council was unavailable: no member could be asked
  3    parked: a person has to decide
  1    flagged: too few members hold the claim plausible, or it was rejected
  0    the claim may be stored
  2    the arguments or the configuration are at fault
  130  interrupted
exit codes of serve:
  0    after shutdown and exit
  1    after exit alone, at the end of stdin, or when stdout or the parent is gone
  128+n  after signal n
"""

STORE, FLAGGED, USAGE, PARKED, UNAVAILABLE, INTERRUPTED = 0, 1, 2, 3, 4, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program with ARGV (default: the command line) and return its exit code. `serve` does not return."""
    parser = argparse.ArgumentParser(
        prog="neuron-council",
        description="Judges whether a claim may enter a long-term memory.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"neuron-council {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("serve", help="speak JSON-RPC over stdin and stdout, for an editor that starts this program")
    judge = commands.add_parser(
        "verify",
        help="judge one claim and print the verdict",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    judge.add_argument("claim", nargs="?", default="-", help="the claim; - or nothing reads it from stdin")
    judge.add_argument("context", nargs="?", help="the notes to judge it against; - reads them from stdin")
    judge.add_argument("--json", action="store_true", help="print the verdict as JSON, as council/verify answers it")
    arguments = parser.parse_args(argv)
    if arguments.command == "serve":
        _serve()
    try:
        return _verify(arguments.claim, arguments.context, as_json=arguments.json)
    except KeyboardInterrupt:
        return INTERRUPTED


def _serve() -> NoReturn:
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


def _verify(claim: str, context: str | None, *, as_json: bool) -> int:
    from pygls.exceptions import JsonRpcInvalidParams

    from neuron_council import config
    from neuron_council.errors import ConfigError
    from neuron_council.rpc import wire
    from neuron_council.rpc.message import cleaned
    from neuron_council.rpc.params import VerifyParams, structure
    from neuron_council.rpc.stdio import say

    if claim == "-" and context == "-":
        say("neuron-council: claim and context cannot both come from stdin; give one of them as an argument")
        return USAGE
    given = {"claim": _text(claim), "context": None if context is None else _text(context)}
    try:
        params = structure(given, VerifyParams)
        settings = config.load(config.home(os.environ), os.environ)
    except (ConfigError, JsonRpcInvalidParams) as error:
        say(f"neuron-council: {error}")
        return USAGE
    for warning in settings.warnings:
        say(f"neuron-council: {warning}")
    verdict = asyncio.run(_judge(params, settings))
    text = json.dumps(cleaned(wire.verdict(verdict)), ensure_ascii=False, indent=2) if as_json else render(verdict)
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]  # a text stream it is
    print(text)  # noqa: T201 - what the user asked for
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

    council = Council(settings)
    await council.start()
    try:
        return await council.verify(ContextPack(params.claim, params.context), on_vote=show)
    finally:
        await council.close()


def _text(argument: str) -> str:
    """ARGUMENT, or what stdin holds where it is `-`; bytes that are no UTF-8 become U+FFFD."""
    if argument == "-":
        given = b"" if sys.stdin is None else sys.stdin.buffer.read()
        return given.decode("utf-8", "replace").strip()
    return argument


def exit_code(verdict: Verdict) -> int:
    """What a shell may do with the claim, in the order of the default storage policy."""
    tags = verdict.outcome.tags
    for tag, code in (("council-unavailable", UNAVAILABLE), ("council-parked", PARKED), ("council-flagged", FLAGGED)):
        if tag in tags:
            return code
    return STORE


def render(verdict: Verdict) -> str:
    """VERDICT as a person reads it in a terminal."""
    outcome = verdict.outcome
    lines = [
        outcome.summary,
        f"{outcome.status.value}, confidence {outcome.confidence:.2f}, {', '.join(outcome.tags)}; "
        f"{verdict.latency_ms / 1000:.1f} s",
        "",
    ]
    for vote in verdict.votes:
        said = vote.rationale if vote.failure is None else f"{vote.failure.kind.value}: {vote.failure.message}"
        lines.append(f"  {vote.member.id}: {vote.label.value}. {one_line(said)}")
    if (challenge := verdict.report.challenge) is not None:
        said = challenge.argument if challenge.failure is None else challenge.failure.message
        held = "refutes the claim" if challenge.refuted else "does not refute the claim"
        lines.append(f"  {challenge.member.id}, as contrarian, {held}. {one_line(said)}")
    for lens in verdict.report.lenses:
        lines += ["", f"{lens.lens}: {lens.status.value}"]
        lines += [f"  {'ok' if f.proven else 'NOT PROVEN'}  {f.oracle}: {one_line(f.evidence)}" for f in lens.findings]
    if verdict.warnings:
        lines += ["", *(f"warning: {one_line(warning)}" for warning in verdict.warnings)]
    return "\n".join(lines)


def one_line(text: str) -> str:
    """TEXT on one line and without control characters: what a model says must not steer a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())

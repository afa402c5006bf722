"""`list`: what the ledger holds, newest first."""

from __future__ import annotations

import argparse
import datetime
import difflib
from typing import TYPE_CHECKING, Any

from neuron_council.checker.outcome import TAGS
from neuron_council.cli import exits, session
from neuron_council.cli.terminal import as_json, columns, complain, moment, shortened, tell
from neuron_council.evidence.text import clean
from neuron_council.ledger.limits import MAX_PAGE, PAGE
from neuron_council.rpc.report import plain

if TYPE_CHECKING:
    from neuron_council.ledger.ledger import Entry

STATUSES = ("emitted", "rejected", "parked", "unavailable")


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("list", help="list stored verdicts, newest first")
    parser.add_argument("--tag", type=_tag, help=f"those with this tag: {', '.join(TAGS)}")
    parser.add_argument("--status", choices=STATUSES, help="those with this status")
    parser.add_argument("--text", type=clean, help="those whose claim holds this text")
    parser.add_argument("--since", type=_time, metavar="TIME", help="those stored then or later, such as 2026-11-02")
    parser.add_argument(
        "--until", type=_time, metavar="TIME", help="those stored then or before, such as 2026-11-02T18:30"
    )
    parser.add_argument("--limit", type=_limit, default=PAGE, help=f"how many, 1 to {MAX_PAGE} (default: {PAGE})")
    parser.add_argument("--cursor", type=clean, help="go on where a list ended, with the cursor that it named")
    parser.add_argument("--json", action="store_true", help="print them as council/list answers them")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print a page."""
    from neuron_council.rpc import wire

    with session.ledger() as ledger:
        page = ledger.list(
            tag=arguments.tag,
            status=arguments.status,
            text=arguments.text,
            since=arguments.since,
            until=arguments.until,
            limit=arguments.limit,
            cursor=arguments.cursor,
        )
    if arguments.json:
        tell(as_json(wire.page(page), indent=2))
        return exits.DONE
    width = columns()
    for entry in page.entries:
        line = _line(entry)
        tell(shortened(line, width) if width else line)
    if not page.entries:
        complain("no verdict fits")
    if page.next_cursor:
        complain(f"there are more; go on with --cursor {page.next_cursor}")
    return exits.DONE


def _line(entry: Entry) -> str:
    tags = [*entry.tags, *([f"{entry.review.decision}ed"] if entry.review else [])]
    tags += ["superseded"] if entry.superseded_by else []
    return f"{entry.id}  {moment(entry.at)}  {entry.confidence:.2f}  {','.join(tags)}  {plain(entry.claim)}"


def _tag(text: str) -> str:
    """TEXT, a tag that verdicts have."""
    if text in TAGS:
        return text
    names = {tag.removeprefix("council-"): tag for tag in TAGS}
    near = difflib.get_close_matches(clean(text).removeprefix("council-"), names, 1)
    meant = f"the nearest is {names[near[0]]}" if near else f"they are {', '.join(TAGS)}"
    raise argparse.ArgumentTypeError(f"no verdict has the tag {clean(text)}; {meant}")


def _time(text: str) -> float:
    """TEXT, a date or a date with a time, local unless it says otherwise, in seconds since the epoch."""
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(
            "must be a date such as 2026-11-02, or with a time, 2026-11-02T18:30"
        ) from None


def _limit(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MAX_PAGE:
        return int(text)
    raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {MAX_PAGE}")

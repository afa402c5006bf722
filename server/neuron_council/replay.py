"""The checker over stored evidence: does every verdict still follow from what was seen?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from attrs import frozen

from neuron_council.checker.outcome import outcome
from neuron_council.checker.verifier import verify
from neuron_council.ledger.ledger import Ledger, Recorded


@frozen
class Difference:
    """A verdict that would be another today, and why."""

    id: str
    reasons: tuple[str, ...]


@frozen
class Replay:
    """How many verdicts were decided again, how many came out the same, and which did not."""

    checked: int = 0
    identical: int = 0
    differing: tuple[Difference, ...] = ()

    def __add__(self, other: Replay) -> Replay:
        """Both together."""
        return Replay(
            self.checked + other.checked, self.identical + other.identical, (*self.differing, *other.differing)
        )


def replay(records: Iterable[Recorded]) -> Replay:
    """Decide RECORDS again. Compared are status, confidence, tags and each oracle's `proven`."""
    checked = 0
    differing = []
    for record in records:
        checked += 1
        if reasons := differences(record):
            differing.append(Difference(record.id, reasons))
    return Replay(checked, checked - len(differing), tuple(differing))


def replay_all(ledger: Ledger) -> Replay:
    """Decide again all that LEDGER keeps. Not for a running event loop, see `replay_pages`."""

    async def page(after: int) -> tuple[Sequence[Recorded], int]:
        return ledger.recorded(after)

    return asyncio.run(replay_pages(page))


async def replay_pages(page: Callable[[int], Awaitable[tuple[Sequence[Recorded], int]]]) -> Replay:
    """Decide again all that a ledger keeps, page by page, so that nobody waits for the ledger or the loop meanwhile.

    PAGE gives the records behind a place, none at the end, and the next place; see Ledger.recorded.
    """
    total, place = Replay(), 0
    while True:
        records, place = await page(place)
        if not records:
            return total
        total += await asyncio.to_thread(replay, records)


def differences(record: Recorded) -> tuple[str, ...]:
    """What the checker says otherwise today, a sentence each; empty where nothing differs."""
    if record.debate is None:
        return ("The stored evidence cannot be read.",)
    report = verify(record.debate, record.pack)
    today = outcome(record.debate, report)
    pairs = [
        ("status", record.status, str(today.status)),
        ("confidence", record.confidence, today.confidence),
        ("tags", ", ".join(record.tags), ", ".join(today.tags)),
    ]
    stored = {(lens, oracle): proven for lens, oracle, proven in record.findings}
    found = {(lens.lens, finding.oracle): finding.proven for lens in report.lenses for finding in lens.findings}
    pairs += [(f"{lens} {oracle}", stored.get((lens, oracle)), now) for (lens, oracle), now in found.items()]
    pairs += [
        (f"{lens} {oracle}", then, None) for (lens, oracle), then in stored.items() if (lens, oracle) not in found
    ]
    return tuple(f"{what} was {then}, is {now}." for what, then, now in pairs if then != now)

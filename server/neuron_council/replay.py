"""The checker over stored evidence: does every verdict still follow from what was seen?"""

from __future__ import annotations

from collections.abc import Iterable

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
    """Decide all that LEDGER keeps again, page by page."""
    total, place = Replay(), 0
    while True:
        records, place = ledger.recorded(place)
        if not records:
            return total
        total += replay(records)


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

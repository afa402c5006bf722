"""The ledger with 100,000 verdicts: what a list, a verify, a replay and a forget cost, and how large the file is.

The verdicts are written with the statements of the ledger itself, many in a transaction, so that filling it takes a
minute or two. Exits 1 where a bar of the design is missed: p95 of a list by tag, the ledger's share of a verify, and
the rate of a replay.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).parents[1]))

from attrs import evolve

from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.verdict import Verdict
from neuron_council.ledger import codec
from neuron_council.ledger import ledger as ledgers
from neuron_council.ledger.ledger import FILE, Ledger
from neuron_council.replay import replay_all
from verdicts import BOARD, judged, unavailable

VERDICTS = 100_000
REPLAYED = 2_000
"""Verdicts that are decided again for the rate: the cost of each does not depend on how many there are."""
LIST_BAR_MS = 20.0
VERIFY_BAR_MS = 5.0
REPLAY_BAR = 10_000 / 60
"""Verdicts a second."""
SEED = 4711

WORDS = (  # noqa: SIM905 - a list of them is read less easily
    "harbour lighthouse keeper minute board ledger signal storm ferry pilot anchor winter spring lamp oil fog bell "
    "wharf crane tide chart buoy rope captain office record letter signature witness seal copper granite tower stair"
).split()
VOTES = ("ppp", "ppp", "ppp", "ppc", "ppu", "ccc", "puc", "pcc")
ABOUT = {
    "version": "0.1.0",
    "constants": {"MIN_VALID_AGENTS": 2, "MAX_LOOPS": 3, "DEFAULT_PANEL_QUORUM": 2, "SPREAD_CEILING": 2.0},
    "board": [{"id": member.id, "model": member.model, "digest": "0" * 64} for member in BOARD],
}


def text(chance: random.Random, words: int) -> str:
    """WORDS words, as a sentence."""
    return " ".join(chance.choices(WORDS, k=words)).capitalize() + "."


def templates(chance: random.Random) -> list[Verdict]:
    """Some dozens of verdicts of a usual size, decided by the checker; claims and ids are put in later."""
    made = [
        judged(
            text(chance, 14), text(chance, chance.randrange(40, 300)), votes=VOTES[number % 8], said=text(chance, 45)
        )
        for number in range(48)
    ]
    return [*made, unavailable(text(chance, 14), text(chance, 100))]


def verdicts(chance: random.Random, count: int) -> Iterator[Verdict]:
    """COUNT verdicts whose claims all differ; one in fifty is unavailable."""
    *made, away = templates(chance)
    for number in range(count):
        like = away if number % 50 == 7 else made[number % len(made)]
        pack = ContextPack(f"{text(chance, 14)[:-1]}, says line {number}.", like.pack.context)
        yield evolve(like, id=str(uuid.UUID(int=chance.getrandbits(128), version=4)), pack=pack)


def fill(ledger: Ledger, chance: random.Random, count: int) -> list[Verdict]:
    """Store COUNT verdicts; every hundredth is returned."""
    kept = []
    numbered = enumerate(verdicts(chance, count))
    for batch in iter(lambda: list(itertools.islice(numbered, 2_000)), []):
        with ledger._database.transaction(writes=True) as db:
            for number, verdict in batch:
                key = codec.pack_key(verdict.pack)
                seq = ledgers._insert(db, verdict, key, 1e9 + number, ABOUT, None, None)
                if verdict.outcome.status == "unavailable":
                    db.execute("INSERT INTO pending (verdict, pack, due) VALUES (?, ?, 9e12)", (seq, key))
                if number % 100 == 0:
                    kept.append(verdict)
    return kept


def timed(work: Callable[[], object], times: int) -> list[float]:
    """Milliseconds of each of TIMES calls."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1e3)
    return taken


def p95(taken: Sequence[float]) -> float:
    return quantiles(taken, n=20)[-1]


class Bench:
    """Prints figures, and remembers whether every bar is met."""

    def __init__(self) -> None:
        self.is_met = True

    def say(self, what: str, value: float, unit: str, bar: float | None = None, *, at_least: bool = False) -> None:
        """One figure, with its bar where it has one."""
        line = f"{what:58} {value:10,.1f} {unit}"
        if bar is not None:
            met = value >= bar if at_least else value <= bar
            self.is_met &= met
            line += f"   bar {bar:,.1f}{'' if met else '   MISSED'}"
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def spread(self, what: str, taken: Sequence[float], bar: float | None = None, *, both: bool = False) -> None:
        """Median and p95 of milliseconds; the bar is the p95's, and the median's too where BOTH."""
        self.say(f"{what}, median", median(taken), "ms", bar if both else None)
        self.say(f"{what}, p95", p95(taken), "ms", bar)


def lists(bench: Bench, ledger: Ledger, runs: int) -> None:
    """First pages by every tag and status, pages deep in the list, and a text that is rare."""
    tags = ("verified", "council-split", "council-flagged", "council-parked", "council-unavailable", "no-such-tag")
    first = [took for tag in tags for took in timed(lambda tag=tag: ledger.list(tag=tag), runs)]  # type: ignore[misc]
    bench.spread("list by tag, first page", first, LIST_BAR_MS)
    cursor = str(VERDICTS // 3)
    deep = [took for tag in tags for took in timed(lambda tag=tag: ledger.list(tag=tag, cursor=cursor), runs)]  # type: ignore[misc]
    bench.spread("list by tag, a page deep inside", deep, LIST_BAR_MS)
    both = timed(lambda: ledger.list(tag="unverified", status="parked"), runs)
    bench.spread("list by tag and status", both, LIST_BAR_MS)
    states = ("emitted", "parked", "rejected", "unavailable")
    by_status = [took for state in states for took in timed(lambda state=state: ledger.list(status=state), runs)]  # type: ignore[misc]
    bench.spread("list by status", by_status)
    bench.spread("list, all", timed(ledger.list, runs))
    bench.spread("list, all, with counts", timed(lambda: ledger.list(limit=100, counts=True), runs), LIST_BAR_MS)
    awaiting = timed(lambda: ledger.list(status="parked", reviewed=False, limit=100), runs)
    bench.spread("list, what awaits a person", awaiting, LIST_BAR_MS)
    bench.spread("list by a text that is everywhere", timed(lambda: ledger.list(text="LINE"), runs))
    bench.spread("list by a text that is in one old claim", timed(lambda: ledger.list(text="says line 17."), 5))
    bench.spread(
        "list by tag and a text that is nowhere", timed(lambda: ledger.list(tag="verified", text="zeppelin"), 5)
    )


def verifies(bench: Bench, ledger: Ledger, chance: random.Random, runs: int) -> None:
    """What the ledger does for one verify: is the id known, is it cached, and store it."""

    def verify(verdict: Verdict) -> None:
        ledger.answer(verdict.id, verdict.pack)
        ledger.cached(codec.digest([verdict.pack.claim, verdict.pack.context, ABOUT]), 86_400)
        ledger.add(verdict, about=ABOUT, cache_key=codec.digest([verdict.id]))

    cost = [timed(lambda one=one: verify(one), 1)[0] for one in verdicts(chance, runs)]  # type: ignore[misc]
    bench.spread("a verify's own ledger cost", cost, VERIFY_BAR_MS, both=True)
    bench.spread("making it safe from a power failure, after the answer", timed(ledger.harden, 5))


def main() -> int:
    """Measure, print, and say with the exit code whether the bars are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verdicts", type=int, default=VERDICTS, help=f"how many (default {VERDICTS:,})")
    parser.add_argument("--runs", type=int, default=100, help="calls of each kind (default 100)")
    given = parser.parse_args()
    chance = random.Random(SEED)  # noqa: S311 - a repeatable ledger, no secrets
    bench = Bench()
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / FILE
        ledger = Ledger(path)
        began = time.perf_counter()
        kept = fill(ledger, chance, given.verdicts)
        bench.say(f"filling it with {given.verdicts:,} verdicts", time.perf_counter() - began, "s")
        ledger.close()
        size = path.stat().st_size
        evidence = [len(codec.dump_evidence(verdict.debate)) / 1024 for verdict in kept]
        bench.say("evidence of a verdict, median", median(evidence), "KiB")
        bench.say("file", size / 2**20, "MiB")
        bench.say("file, a verdict", size / given.verdicts / 1024, "KiB")
        bench.spread("opening it", timed(lambda: (ledger.close(), ledger.pending()), 10))
        lists(bench, ledger, given.runs)
        verifies(bench, ledger, chance, given.runs)
        ids = iter([verdict.id for verdict in kept if verdict.outcome.status != "unavailable"])
        bench.spread("show", timed(lambda: ledger.show(next(ids)), given.runs))
        bench.spread("pending, asked by health", timed(ledger.pending, given.runs))
        bench.spread("a lease where none is due", timed(lambda: ledger.lease("bench", 15), given.runs))
        bench.spread("forget", timed(lambda: ledger.forget(next(ids)), 5))
        ledger.close()

        few = Ledger(Path(home) / "few.db")
        fill(few, chance, REPLAYED)
        began = time.process_time()  # it is one core's time that the bar is about
        replayed = replay_all(few)
        took = time.process_time() - began
        bench.say("replay, on one core", REPLAYED / took, "verdicts a second", REPLAY_BAR, at_least=True)
        assert replayed.checked == REPLAYED
        few.close()
    return 0 if bench.is_met else 1


if __name__ == "__main__":
    sys.exit(main())

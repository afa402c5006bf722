"""The ledger: what it keeps, finds, lists, queues, announces and forgets."""

from __future__ import annotations

import contextlib
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from neuron_council.errors import ReviewError, TakenIdError, UnknownVerdictError
from neuron_council.evidence.failure import Failure, FailureKind
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.verdict import Verdict
from neuron_council.ledger import ledger as ledgers
from neuron_council.ledger.ledger import Announcement, Counts, Decided, Due, Kept, Ledger, Recorded
from neuron_council.rpc import wire
from verdicts import ABOUT, judged, unavailable

TEA = ContextPack("Tea is a drink.")
NOTES = "The notes say that tea is a drink of Asia."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "council" / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    ledger = Ledger(path)
    yield ledger
    ledger.close()


@pytest.fixture
def other(path: Path) -> Iterator[Ledger]:
    """The same ledger as another process has it."""
    ledger = Ledger(path)
    yield ledger
    ledger.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The ledger's clock: its one item is now."""
    now = [1_000_000.0]

    class Clock:
        def __init__(self) -> None:
            self.time = lambda: now[0]

    monkeypatch.setattr(ledgers, "time", Clock())
    return now


def add(ledger: Ledger, *verdicts: Verdict, **more: Any) -> None:
    for verdict in verdicts:
        assert ledger.add(verdict, about=ABOUT, **more) is not None


def claims(ledger: Ledger, **filters: Any) -> list[str]:
    return [entry.claim for entry in ledger.list(**filters).entries]


def news(ledger: Ledger, limit: int = 200) -> list[Announcement]:
    """Every announcement, page by page."""
    found: list[Announcement] = []
    before, place = -1, 0
    while place != before:
        before = place
        page, place = ledger.announcements(place, limit)
        found += page
    return found


def leased(ledger: Ledger, owner: str = "me", lease_s: float = 15.0) -> Due:
    due = ledger.lease(owner, lease_s)
    assert due is not None
    return due


# Keeping


@pytest.mark.parametrize(
    "verdict",
    [
        judged(TEA),
        judged("Tea is a drink.", NOTES),
        judged(TEA, votes="puc", warnings=("A sentence.", "“Another”.")),
        judged("Der Tee, o chá, 茶 \U0001f375 'quoted' \"twice\" \\n %s", "a\tb\r\n\u2028c" * 9),
        unavailable(TEA),
    ],
    ids=["bare", "with context", "parked", "in every script", "unavailable"],
)
def test_what_is_shown_is_what_was_added(ledger: Ledger, other: Ledger, verdict: Verdict) -> None:
    add(ledger, verdict)
    for reader in (ledger, other):
        shown = reader.show(verdict.id)
        assert shown.verdict == verdict
        assert wire.verdict(shown.verdict) == wire.verdict(verdict)
        assert (shown.review, shown.supersedes) == (None, None)
        assert reader.answer(verdict.id, verdict.pack) == verdict


def test_no_such_verdict(ledger: Ledger) -> None:
    stranger = str(uuid.uuid4())
    assert ledger.answer(stranger, TEA) is None
    asks: list[Callable[[str], object]] = [ledger.show, ledger.forget]
    asks += [lambda it: ledger.review(it, "accept", None), ledger.record]
    for ask in asks:
        with pytest.raises(UnknownVerdictError, match=stranger):
            ask(stranger)
    with pytest.raises(UnknownVerdictError, match=stranger):
        ledger.hasten([stranger])


def test_time_and_order_are_the_ledger_s(ledger: Ledger, clock: list[float]) -> None:
    first, second = judged("First it was."), judged("Second it was.")
    add(ledger, first)
    clock[0] -= 3600  # the clock was set back
    add(ledger, second)
    assert claims(ledger) == ["Second it was.", "First it was."]
    assert ledger.show(second.id).at == ledger.show(first.id).at - 3600


def test_text_that_sqlite_cannot_carry_does_not_lose_the_verdict(ledger: Ledger) -> None:
    """A backend's own words can stand in a failure as they came."""
    lost = unavailable(TEA)
    loop = lost.debate.loops[0]
    said = Failure(FailureKind.UNREACHABLE, "half a \ud83d pair and \x00")
    votes = tuple(evolve(vote, failure=said) for vote in loop.votes)
    verdict = evolve(lost, debate=evolve(lost.debate, loops=(evolve(loop, votes=votes),)), warnings=("a \ud83d",))
    add(ledger, verdict)
    assert ledger.show(verdict.id).verdict.pack == TEA


def test_an_id_keeps_its_first_verdict(ledger: Ledger, other: Ledger) -> None:
    """Two requests with one id were debated at the same time: the first answer is the answer of both."""
    first = judged(TEA)
    add(ledger, first)
    for late in (judged(TEA, votes="ccc", id=first.id), unavailable(TEA, id=first.id)):
        assert other.add(late, about=ABOUT) == Kept(first)
    assert ledger.show(first.id).verdict == first
    assert len(ledger.list().entries) == 1
    assert ledger.pending() == 0


def test_an_id_belongs_to_its_claim(ledger: Ledger, other: Ledger) -> None:
    first = judged(TEA)
    add(ledger, first)
    for pack in (ContextPack("Rain is wet."), ContextPack(TEA.claim, NOTES)):
        with pytest.raises(TakenIdError):
            other.answer(first.id, pack)
        with pytest.raises(TakenIdError):
            other.add(judged(pack, id=first.id), about=ABOUT)
    assert len(ledger.list().entries) == 1


# The cache


def test_the_newest_verdict_with_the_key_answers_while_it_is_young(ledger: Ledger, clock: list[float]) -> None:
    old, new = judged(TEA), judged(TEA)
    add(ledger, old, cache_key="k")
    clock[0] += 50
    add(ledger, new, cache_key="k")
    add(ledger, judged(TEA))
    assert ledger.cached("k", 100) == evolve(new, cached=True)
    clock[0] += 100
    assert ledger.cached("k", 100) == evolve(new, cached=True)
    clock[0] += 0.1
    assert ledger.cached("k", 100) is None
    assert ledger.cached("other", 1e9) is None


# Lists


def test_a_list_is_newest_first_with_a_line_s_fields(ledger: Ledger) -> None:
    verdicts = [judged("One is one."), judged("Two is two.", NOTES, votes="ppc"), unavailable("Three is three.")]
    add(ledger, *verdicts)
    page = ledger.list()
    assert [entry.id for entry in page.entries] == [verdict.id for verdict in reversed(verdicts)]
    assert page.next_cursor is None
    entry = page.entries[1]
    assert (entry.status, entry.tier, entry.confidence, entry.majority) == ("emitted", "T3", 0.65, "plausible")
    assert entry.tags == ("council-split",)
    assert entry.council_votes == ("plausible", "plausible", "confabulation")
    assert (entry.latency_ms, entry.review, entry.supersedes) == (1234, None, None)
    assert entry.summary.startswith("2/3 council members agree")


def test_filters_narrow_together(ledger: Ledger) -> None:
    add(ledger, judged("Tea is good."), judged("Tea is bad.", votes="ccc"), judged("Rain is wet.", votes="ccc"))
    add(ledger, judged("Tea is puzzling.", votes="puc"), unavailable("Tea is away."))
    assert claims(ledger, tag="council-flagged") == ["Tea is puzzling.", "Rain is wet.", "Tea is bad."]
    assert claims(ledger, tag="council-flagged", text="tea") == ["Tea is puzzling.", "Tea is bad."]
    assert claims(ledger, status="parked") == ["Tea is puzzling."]
    assert claims(ledger, tag="unverified", status="emitted") == ["Rain is wet.", "Tea is bad."]
    assert claims(ledger, text="IS AWAY") == ["Tea is away."]
    assert claims(ledger, tag="no-such-tag") == claims(ledger, status="withheld") == claims(ledger, text="coffee") == []


@pytest.mark.parametrize("text", ["100%", "a_b", "c\\d", "it's", '"', "'; DROP TABLE verdict; --", "é", "茶", "%", "_"])
def test_a_text_is_found_as_it_is_written(ledger: Ledger, text: str) -> None:
    add(ledger, judged("Nothing of that is here: 1000, aXb, cd."), judged(f"Here is {text} in it."))
    assert claims(ledger, text=text) == [f"Here is {text} in it."]


def test_a_text_longer_than_any_claim_is_in_none(ledger: Ledger) -> None:
    add(ledger, judged(TEA))
    assert claims(ledger, text="a" * 100_000) == []


@pytest.mark.parametrize("filters", [{}, {"tag": "verified"}, {"status": "emitted"}, {"text": "claim"}])
def test_pages_hold_everything_once_while_verdicts_come_in(ledger: Ledger, filters: dict[str, str]) -> None:
    add(ledger, *(judged(f"A claim {number}.") for number in range(7)))
    seen: list[str] = []
    cursor: str | None = None
    for turn in range(10):
        page = ledger.list(limit=2, cursor=cursor, **filters)
        seen += [entry.claim for entry in page.entries]
        add(ledger, judged(f"A late claim {turn}."))
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [f"A claim {number}." for number in reversed(range(7))]


def test_a_full_last_page_has_no_next(ledger: Ledger) -> None:
    add(ledger, *(judged(f"A claim {number}.") for number in range(4)))
    first = ledger.list(limit=2)
    assert first.next_cursor is not None
    assert ledger.list(limit=2, cursor=first.next_cursor).next_cursor is None


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1.5", "٣", "9" * 40, "1; DROP TABLE verdict"])
def test_a_cursor_that_is_none_does_no_harm(ledger: Ledger, cursor: str) -> None:
    add(ledger, judged(TEA))
    assert claims(ledger, cursor=cursor) == [TEA.claim]


def test_a_time_bounds_the_list_on_both_sides(ledger: Ledger, clock: list[float]) -> None:
    for number in range(4):
        add(ledger, judged(f"Claim {number} is one.", votes="ppc" if number == 2 else "ppp"))
        clock[0] += 10
    start = clock[0] - 40
    assert claims(ledger, since=start + 10, until=start + 20) == ["Claim 2 is one.", "Claim 1 is one."]
    assert claims(ledger, since=start + 10.5) == ["Claim 3 is one.", "Claim 2 is one."]
    assert claims(ledger, until=start + 9.5) == ["Claim 0 is one."]
    assert claims(ledger, tag="council-split", since=start, until=start + 99) == ["Claim 2 is one."]
    assert claims(ledger, since=start + 99) == claims(ledger, until=start - 1) == []


# Reviews


@pytest.mark.parametrize("votes", ["ppc", "ccc", "puc"])
def test_a_person_decides_beside_the_verdict(ledger: Ledger, clock: list[float], votes: str) -> None:
    verdict = judged(TEA, votes=votes)
    add(ledger, verdict)
    clock[0] += 5
    shown = ledger.review(verdict.id, "reject", "No, it's “soup” — 茶.")
    assert shown == ledger.show(verdict.id)
    assert shown.verdict == verdict
    assert shown.review is not None
    assert (shown.review.decision, shown.review.note, shown.review.at) == ("reject", "No, it's “soup” — 茶.", clock[0])
    clock[0] += 5
    again = ledger.review(verdict.id, "accept", None).review
    assert again is not None
    assert (again.decision, again.note, again.at) == ("accept", None, clock[0])
    assert ledger.list().entries[0].review == again


def test_the_same_decision_made_again_keeps_its_note(ledger: Ledger) -> None:
    verdict = judged(TEA, votes="puc")
    add(ledger, verdict)

    def note(decision: Decided, said: str | None) -> str | None:
        review = ledger.review(verdict.id, decision, said).review
        assert review is not None
        return review.note

    assert note("accept", "She told me.") == "She told me."
    assert note("accept", None) == "She told me."
    assert note("accept", "Twice.") == "Twice."
    assert note("reject", None) is None
    assert note("accept", None) is None


@pytest.mark.parametrize("verdict", [judged(TEA), unavailable(TEA)], ids=["verified", "unavailable"])
def test_what_nobody_needs_to_decide_cannot_be_reviewed(ledger: Ledger, verdict: Verdict) -> None:
    add(ledger, verdict)
    with pytest.raises(ReviewError):
        ledger.review(verdict.id, "accept", None)
    assert ledger.show(verdict.id).review is None


def test_what_people_decided_on_and_what_awaits_them_are_told_apart(ledger: Ledger) -> None:
    parked = [judged(f"Parked {number} is.", votes="puc") for number in range(3)]
    add(ledger, *parked, judged("Split it is.", votes="ppc"), judged(TEA))
    ledger.review(parked[1].id, "reject", None)
    assert claims(ledger, status="parked", reviewed=False) == ["Parked 2 is.", "Parked 0 is."]
    assert claims(ledger, tag="council-parked", reviewed=False) == ["Parked 2 is.", "Parked 0 is."]
    assert claims(ledger, reviewed=True) == ["Parked 1 is."]
    assert len(claims(ledger, reviewed=False)) == 4
    first = ledger.list(status="parked", reviewed=False, limit=1)
    rest = ledger.list(status="parked", reviewed=False, limit=1, cursor=first.next_cursor)
    assert [entry.claim for entry in first.entries + rest.entries] == ["Parked 2 is.", "Parked 0 is."]
    assert rest.next_cursor is None


def test_counts_are_of_the_whole_ledger(ledger: Ledger) -> None:
    assert ledger.list().counts is None
    assert ledger.list(counts=True).counts == Counts(0, 0, 0, 0, 0, 0, 0)
    parked = [judged(f"Parked {number} is.", votes="puc") for number in range(3)]
    split, flagged, away = judged("Split it is.", votes="ppc"), judged("Flagged it is.", votes="ccc"), unavailable(TEA)
    add(ledger, *parked, split, flagged, away, unavailable(TEA), judged("Rain is wet."))
    for verdict in (parked[0], split):
        ledger.review(verdict.id, "accept", None)
    flags = sum("council-flagged" in verdict.outcome.tags for verdict in (*parked, split, flagged))
    expected = Counts(total=8, awaiting=2, parked=3, flagged=flags, split=1, unavailable=2, pending=1)
    for filters in ({}, {"text": "Rain"}, {"text": "x" * 9_000}, {"tag": "verified", "limit": 1}):
        assert ledger.list(counts=True, **filters).counts == expected
    ledger.forget(parked[0].id)
    ledger.forget(away.id)
    assert ledger.list(counts=True).counts == evolve(
        expected,
        total=5,
        parked=2,
        flagged=flags - ("council-flagged" in parked[0].outcome.tags),
        unavailable=0,
        pending=0,
    )


# The queue


def test_the_same_claim_waits_once(ledger: Ledger) -> None:
    assert ledger.pending() == 0
    add(ledger, unavailable(TEA), unavailable(TEA), unavailable("Tea is a drink.", NOTES), judged("Rain is wet."))
    assert ledger.pending() == 2


def test_who_waits_longest_is_first(ledger: Ledger, clock: list[float]) -> None:
    first, second = unavailable("First it was."), unavailable("Second it was.")
    for verdict in (first, second):
        add(ledger, verdict)
        clock[0] += 1
    due = leased(ledger)
    assert (due.pack, due.ids, due.attempts) == (first.pack, (first.id,), 0)
    assert leased(ledger).pack == second.pack
    assert ledger.lease("me", 15) is None


def test_a_lease_is_one_owner_s_until_it_ends(ledger: Ledger, other: Ledger, clock: list[float]) -> None:
    verdict = unavailable(TEA)
    add(ledger, verdict)
    due = leased(ledger, "one")
    assert other.lease("two", 15) is None
    add(other, unavailable(TEA))  # the same claim again, meanwhile
    assert other.lease("two", 15) is None
    clock[0] += 14
    ledger.renew(due, "one", 15)
    clock[0] += 14
    assert other.lease("two", 15) is None
    clock[0] += 2
    assert leased(other, "two").ids[0] == verdict.id
    ledger.renew(due, "one", 15)  # too late
    clock[0] += 1
    assert ledger.lease("one", 15) is None
    assert ledger.add(judged(TEA), about=ABOUT, owner="one") is None
    assert len(ledger.list(status="emitted").entries) == 0
    assert other.add(judged(TEA), about=ABOUT, owner="two")
    assert ledger.pending() == 0


def test_what_is_given_back_is_due_later_and_counts_its_attempts(ledger: Ledger, clock: list[float]) -> None:
    add(ledger, unavailable(TEA))
    for attempt in range(3):
        due = leased(ledger)
        assert due.attempts == attempt
        ledger.release(due, "me", again_in_s=10)
        assert ledger.pending() == 1
        clock[0] += 9.9
        assert ledger.lease("me", 15) is None
        clock[0] += 0.2


def test_what_is_put_off_for_long_is_not_taken_for_a_clock_that_was_set_back(
    ledger: Ledger, clock: list[float]
) -> None:
    add(ledger, unavailable(TEA))
    for number in range(20):
        due = leased(ledger)
        assert (due.attempts, due.dropped) == (number, number)
        pause = min(5 * 2**number, 86_400)
        ledger.release(due, "me", again_in_s=pause, was_dropped=True)
        assert ledger.lease("me", 15) is None
        clock[0] += pause - 1
        assert ledger.lease("me", 15) is None
        clock[0] += 2
    clock[0] -= 1e6  # it was set back, and what is due has never been put off that far
    assert leased(ledger).dropped == 20


def test_a_clock_that_was_set_back_holds_nothing_up(ledger: Ledger, clock: list[float]) -> None:
    add(ledger, unavailable(TEA))
    ledger.release(leased(ledger), "me", again_in_s=5)
    clock[0] -= 3600
    assert leased(ledger).attempts == 1


def test_what_belongs_to_another_is_not_given_back(ledger: Ledger, clock: list[float]) -> None:
    add(ledger, unavailable(TEA))
    due = leased(ledger, "one", 5)
    clock[0] += 6
    assert leased(ledger, "two", 5).key == due.key
    ledger.release(due, "one", again_in_s=0)
    assert ledger.lease("three", 5) is None


def test_a_person_can_hasten_it(ledger: Ledger) -> None:
    verdict, twin, other = unavailable(TEA), unavailable(TEA), unavailable("Rain is wet.")
    settled = judged("Snow is white.")
    add(ledger, verdict, twin, other, settled)
    for _ in range(2):
        ledger.release(leased(ledger), "me", again_in_s=300)
    assert ledger.lease("me", 15) is None
    assert ledger.hasten([settled.id]) == 0
    assert ledger.hasten([verdict.id, twin.id, settled.id]) == 1
    due = leased(ledger)
    assert (due.pack, set(due.ids), due.attempts) == (TEA, {verdict.id, twin.id}, 0)
    assert ledger.lease("me", 15) is None
    assert ledger.hasten(None) == 2
    assert leased(ledger).pack == other.pack
    assert ledger.hasten([]) == 0


def test_one_unknown_id_hastens_nothing(ledger: Ledger) -> None:
    verdict = unavailable(TEA)
    add(ledger, verdict)
    ledger.release(leased(ledger), "me", again_in_s=300)
    with pytest.raises(UnknownVerdictError):
        ledger.hasten([verdict.id, str(uuid.uuid4())])
    assert ledger.lease("me", 15) is None


def test_a_verdict_settles_all_that_wait_for_it(ledger: Ledger) -> None:
    """An ordinary one as well as one from the queue; another context is another question."""
    old, twin, other = unavailable(TEA), unavailable(TEA), unavailable("Tea is a drink.", NOTES)
    add(ledger, old, twin, other)
    new = judged(TEA)
    told = (Announcement(old.id, new), Announcement(twin.id, new))
    assert ledger.add(new, about=ABOUT) == Kept(new, told)
    assert {each.old for each in news(ledger)} == {old.id, twin.id}
    assert {each.verdict.id for each in news(ledger)} == {new.id}
    assert ledger.show(new.id).supersedes == old.id
    assert ledger.list().entries[0].supersedes == old.id
    assert ledger.pending() == 1
    assert leased(ledger).pack == other.pack
    late = judged(TEA)
    assert ledger.add(late, about=ABOUT) == Kept(late)
    assert ledger.show(old.id).verdict == old


def test_what_was_superseded_is_unavailable_no_more(ledger: Ledger) -> None:
    old, twin, other = unavailable(TEA), unavailable(TEA), unavailable("Tea is a drink.", NOTES)
    add(ledger, judged("Rain is wet."), old, twin, other)
    waiting = ledger.show(old.id).waiting
    assert waiting is not None
    assert (waiting.attempts, ledger.show(old.id).superseded_by) == (0, None)
    asks: list[dict[str, Any]] = [
        {"status": "unavailable"},
        {"tag": "council-unavailable"},
        {"status": "unavailable", "tag": "council-unavailable"},
    ]
    for ask in asks:
        assert [entry.id for entry in ledger.list(**ask).entries] == [other.id, twin.id, old.id]
    add(ledger, new := judged(TEA), judged(TEA))
    for ask in asks:
        assert [entry.id for entry in ledger.list(**ask).entries] == [other.id]
        assert ledger.list(**ask, text="Rain").entries == ()
    counts = ledger.list(counts=True).counts
    assert counts is not None
    assert (counts.total, counts.unavailable, counts.pending) == (6, 1, 1)
    assert ledger.acknowledge([new.id]) == 1  # which ends the telling, and not the knowing
    for verdict in (old, twin):
        shown = ledger.show(verdict.id)
        assert (shown.verdict, shown.superseded_by, shown.waiting) == (verdict, new.id, None)
    known = {entry.id: entry.superseded_by for entry in ledger.list().entries}
    assert {known[old.id], known[twin.id]} == {new.id}
    assert {known[other.id], known[new.id]} == {None}
    assert ledger.list(status="unavailable", tag="verified").entries == ()


def test_unavailable_ones_are_paged(ledger: Ledger) -> None:
    add(ledger, *(unavailable(f"Claim {number} is one.") for number in range(5)))
    add(ledger, judged("Claim 2 is one."))
    first = ledger.list(tag="council-unavailable", limit=2)
    rest = ledger.list(tag="council-unavailable", limit=2, cursor=first.next_cursor)
    assert [entry.claim[6] for entry in (*first.entries, *rest.entries)] == ["4", "3", "1", "0"]
    assert rest.next_cursor is None


def test_a_parked_claim_is_not_settled_by_asking_again(ledger: Ledger) -> None:
    """A person decides: whoever proposed it could ask until the council lets it in."""
    add(ledger, parked := judged(TEA, votes="puc"), judged(TEA))
    counts = ledger.list(counts=True).counts
    assert counts is not None
    assert (counts.awaiting, counts.parked) == (1, 1)
    assert [entry.id for entry in ledger.list(status="parked").entries] == [parked.id]


def test_a_claim_that_was_forgotten_while_it_was_judged_is_not_stored(ledger: Ledger, other: Ledger) -> None:
    old = unavailable(TEA)
    add(ledger, old)
    leased(ledger, "me")
    other.forget(old.id)
    assert ledger.add(judged(TEA), about=ABOUT, owner="me") is None
    assert ledger.list().entries == ()


# Announcements


def test_what_is_not_acknowledged_is_told_again(ledger: Ledger, other: Ledger) -> None:
    pairs = [(unavailable(f"Claim {n} is one."), judged(f"Claim {n} is one.")) for n in range(3)]
    add(ledger, *(old for old, _ in pairs))
    add(ledger, *(new for _, new in pairs))
    assert [(told.old, told.verdict) for told in news(other)] == [(old.id, new) for old, new in pairs]
    first, second = pairs[0][1].id, pairs[1][1].id
    assert ledger.acknowledge([first, first, str(uuid.uuid4()), pairs[2][0].id]) == 1
    assert ledger.acknowledge([first]) == 0
    assert [told.verdict.id for told in news(other)] == [second, pairs[2][1].id]
    assert other.acknowledge([pairs[2][1].id, second]) == 2
    assert news(ledger) == []
    assert ledger.show(first).supersedes == pairs[0][0].id


def test_who_cannot_acknowledge_is_not_told_for_ever(ledger: Ledger, clock: list[float]) -> None:
    """What waits for a client that can is told until it does."""
    add(ledger, deaf := unavailable(TEA), unavailable("Rain is wet."), is_owed=False)
    add(ledger, owed := unavailable(TEA))
    add(ledger, judged("Rain is wet."), judged(TEA))
    assert len(news(ledger, limit=1)) == 3
    clock[0] += ledgers.UNHEARD_S - 1
    assert deaf.id in {each.old for each in news(ledger, limit=1)}
    clock[0] += 2
    assert [each.old for each in news(ledger, limit=1)] == [owed.id]
    add(ledger, unavailable("Snow is cold."), judged("Snow is cold."))
    with ledger._database.transaction() as db:
        assert db.execute("SELECT count(*) FROM announcement").fetchone()[0] == 2


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 200])
def test_announcements_come_once_whatever_the_page(ledger: Ledger, limit: int) -> None:
    olds = [unavailable(f"Claim {number % 4} is one.") for number in range(9)]
    add(ledger, *olds, *(judged(f"Claim {number} is one.") for number in range(4)))
    found = news(ledger, limit)
    assert len(found) == len({each.old for each in found}) == 9
    assert {each.old for each in found} == {old.id for old in olds}


def test_one_that_cannot_be_read_does_not_silence_the_others(ledger: Ledger, path: Path) -> None:
    for claim in ("First it was.", "Second it was."):
        add(ledger, unavailable(claim), judged(claim))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE verdict SET evidence = '{' WHERE claim LIKE 'First%' AND status = 'emitted'")
    db.close()
    assert [told.verdict.pack.claim for told in news(ledger)] == ["Second it was."]


# Forgetting; what is left in the files is in faults/test_ledger.py


def test_forgetting_takes_the_claim_everywhere_and_nothing_else(ledger: Ledger) -> None:
    old, new, again = unavailable(TEA), judged(TEA, votes="puc"), judged(TEA)
    elsewhere, stays, waits = judged("Tea is a drink.", NOTES), judged("Tea is a drink"), unavailable("Rain is wet.")
    add(ledger, old, new, elsewhere, stays, waits)
    add(ledger, again, cache_key="k")
    ledger.review(new.id, "accept", "Tea is fine.")
    ledger.forget(again.id)
    for gone in (old, new, again, elsewhere):
        with pytest.raises(UnknownVerdictError):
            ledger.show(gone.id)
        with pytest.raises(UnknownVerdictError):  # not None: it is no new id either
            ledger.answer(gone.id, gone.pack)
        with pytest.raises(UnknownVerdictError):
            ledger.review(gone.id, "accept", None)
    assert ledger.cached("k", 1e9) is None
    assert news(ledger) == []
    assert ledger.pending() == 1
    assert claims(ledger) == ["Rain is wet.", "Tea is a drink"]
    assert claims(ledger, tag="verified") == ["Tea is a drink"]
    assert {record.id for record in records(ledger)} == {stays.id, waits.id}


def test_forgetting_takes_the_claim_out_of_the_queue(ledger: Ledger) -> None:
    old = unavailable(TEA)
    add(ledger, old)
    ledger.forget(old.id)
    assert (ledger.pending(), ledger.lease("me", 15), ledger.hasten(None)) == (0, None, 0)


def test_a_forgotten_claim_can_be_judged_anew_under_another_id(ledger: Ledger) -> None:
    old, new = judged(TEA), judged(TEA)
    add(ledger, old)
    ledger.forget(old.id)
    add(ledger, new)
    assert ledger.show(new.id).verdict == new


def test_a_forgotten_id_does_not_come_back(ledger: Ledger, other: Ledger) -> None:
    """A request with the same id was still being debated, perhaps by another server, when it was forgotten."""
    verdict = judged(TEA)
    add(ledger, verdict)
    ledger.forget(verdict.id)
    with pytest.raises(UnknownVerdictError):
        other.add(judged(TEA, id=verdict.id), about=ABOUT)
    assert ledger.list().entries == ()


# Records for a replay


def records(ledger: Ledger, limit: int = 3) -> list[Recorded]:
    """Every record, page by page."""
    found: list[Recorded] = []
    place = 0
    while True:
        page, place = ledger.recorded(place, limit)
        assert len(page) <= limit
        if not page:
            return found
        found += page


@pytest.mark.parametrize("limit", [1, 3, 4, 8, 100])
def test_every_record_comes_once_and_in_order(ledger: Ledger, limit: int) -> None:
    verdicts = [judged(f"Claim {number} is one.", votes="ppc") for number in range(8)]
    add(ledger, *verdicts)
    found = records(ledger, limit)
    assert [record.id for record in found] == [verdict.id for verdict in verdicts]
    assert [record.debate for record in found] == [verdict.debate for verdict in verdicts]
    one = ledger.record(verdicts[3].id)
    assert one == found[3]
    assert (one.pack, one.status, one.confidence, one.tags) == (verdicts[3].pack, "emitted", 0.65, ("council-split",))
    lenses = verdicts[3].report.lenses
    assert list(one.findings) == [(seen.lens, it.oracle, it.proven) for seen in lenses for it in seen.findings]


@pytest.mark.parametrize("column", ["evidence", "decision"])
def test_a_record_that_cannot_be_read_is_one_all_the_same(ledger: Ledger, path: Path, column: str) -> None:
    add(ledger, judged("First it was."), judged("Second it was."))
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE verdict SET {column} = '[1]' WHERE claim LIKE 'First%'")  # noqa: S608 - a word of the test
    db.close()
    first, second = records(ledger)
    assert first.debate is None
    assert second.debate is not None


# Clocks, and rows that rot


def test_the_queue_moves_though_the_clock_was_set_back(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 86_400)
    add(ledger, waiting := unavailable(TEA))
    assert ledger.lease("lost", 15)
    monkeypatch.setattr(time, "time", now)
    due = ledger.lease("me", 15)
    assert due
    assert due.ids == (waiting.id,)
    assert ledger.lease("other", 15) is None


@pytest.mark.parametrize("column", ["claim", "status", "tier", "confidence", "at", "tags", "summary", "council_votes"])
def test_a_row_of_other_types_spoils_no_list(ledger: Ledger, path: Path, column: str) -> None:
    add(ledger, judged("One is one."), broken := judged("Two is two."))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"UPDATE verdict SET {column} = x'ff00' WHERE id = ?", (broken.id,))  # noqa: S608 - a column of this test's own
    assert len(ledger.list().entries) == 2
    assert len(ledger.recorded()[0]) == 2


def test_who_forgets_what_a_corrupt_ledger_took_along_is_told_where_it_is(ledger: Ledger, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name("ledger.db.corrupt-20260101T000000").write_bytes(b"old")
    with pytest.raises(UnknownVerdictError, match=r"ledger\.db\.corrupt-20260101T000000"):
        ledger.forget(str(uuid.uuid4()))

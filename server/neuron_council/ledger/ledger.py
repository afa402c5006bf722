"""The ledger: every verdict in one transaction with all that decided it, and what is still owed to somebody."""

from __future__ import annotations

import json
import logging
import re
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from attrs import evolve, frozen

from neuron_council.errors import LedgerError, ReviewError, TakenIdError, UnknownVerdictError
from neuron_council.evidence.debate import DebateResult
from neuron_council.evidence.pack import MAX_CLAIM, ContextPack
from neuron_council.evidence.report import Status
from neuron_council.evidence.text import clean
from neuron_council.evidence.verdict import Verdict
from neuron_council.ledger import codec
from neuron_council.ledger.database import Database
from neuron_council.ledger.limits import MAX_PAGE, PAGE, REPLAY_PAGE

log = logging.getLogger(__name__)

FILE = Path("council") / "ledger.db"
"""The ledger's place under NEURON_HOME."""
CLIENT_FOLDERS = ("unsent", "pending", "held")
"""Where a client keeps claims that never reached a server, and memories that await a verdict or a person, by id."""
LEAST_SEARCHED = 8
"""Characters of a text that is looked for in old files; a shorter one stands in any text."""
MOST_PUT_OFF_S = 600
"""Seconds by which anything in the queue is put off or leased at most, but for a claim that was dropped often."""
DOUBLED_S, MOST_DOUBLED = 10, 14
"""Such a claim is put off for DOUBLED_S seconds at most, doubled each time, but no more often than this."""
UNHEARD_S = 30 * 86_400.0
"""Seconds for which a new verdict is announced where whoever asked for the old one cannot acknowledge it."""
REVIEWABLE = frozenset({"council-parked", "council-flagged", "council-split"})
"""Tags of which a verdict needs one to be decided by a person."""
UNAVAILABLE_TAG = "council-unavailable"

Decided = Literal["accept", "reject"]

_LIKE_SPECIAL = re.compile(r"[\\%_]")


@frozen
class Review:
    """What a person decided, beside the council's verdict; `at` is in seconds since the epoch."""

    decision: Decided
    note: str | None
    at: float


@frozen
class Waiting:
    """An unavailable verdict in the queue: how often it was tried in vain, and when the next try is due.

    In as many tries as were `dropped`, members that were there could not be reached. `due` is in seconds since the
    epoch; what lies in the past is due now.
    """

    attempts: int
    dropped: int
    due: float


@frozen
class Shown:
    """A verdict as it was answered, with what is beside it, and when it was stored.

    `supersedes` is the id of the unavailable verdict in whose place it stands, the first of several; `superseded_by`
    that of the one in its own place, `waiting` how it stands in the queue until then.
    """

    verdict: Verdict
    review: Review | None
    supersedes: str | None
    superseded_by: str | None
    waiting: Waiting | None
    at: float


@frozen
class Entry:
    """A verdict's line in a list. `at` is in seconds since the epoch."""

    id: str
    at: float
    claim: str
    status: str
    tier: str | None
    confidence: float
    majority: str | None
    summary: str
    tags: tuple[str, ...]
    council_votes: tuple[str, ...]
    latency_ms: int
    supersedes: str | None
    superseded_by: str | None
    review: Review | None


@frozen
class Counts:
    """How many verdicts the whole ledger has, and of which kinds; `pending` counts claims, the same claim once.

    What was superseded is no longer `unavailable`.
    """

    total: int
    awaiting: int
    """Parked ones that no person has decided on."""
    parked: int
    flagged: int
    split: int
    unavailable: int
    pending: int


@frozen
class Page:
    """Some entries, newest first, and where the next page begins; None at the end. `counts` is None where not asked."""

    entries: tuple[Entry, ...]
    next_cursor: str | None
    counts: Counts | None = None


@frozen
class Recorded:
    """What a replay needs of a verdict: its evidence and what was decided. `debate` is None where it cannot be read."""

    id: str
    pack: ContextPack
    debate: DebateResult | None
    status: str
    confidence: float
    tags: tuple[str, ...]
    findings: tuple[tuple[str, str, bool], ...]


@frozen
class Due:
    """A claim whose turn it is to be judged again, leased to one owner.

    `attempts` were in vain; in as many as were `dropped`, members that were there could not be reached.
    """

    key: str
    pack: ContextPack
    ids: tuple[str, ...]
    attempts: int
    dropped: int = 0


@frozen
class Announcement:
    """A verdict that supersedes the one with the id `old`, until the client acknowledges it."""

    old: str
    verdict: Verdict


@frozen
class Kept:
    """What `add` made of a verdict: the one that the id has, and whom it supersedes."""

    verdict: Verdict
    announcements: tuple[Announcement, ...] = ()


class Ledger:
    """The ledger of one home. Its methods block, raise LedgerError where the file fails them, and share one thread."""

    def __init__(self, path: Path) -> None:
        """Opens nothing yet."""
        self._database = Database(path)

    def harden(self) -> None:
        """Have the disk hold what was written."""
        self._database.harden()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def add(
        self,
        verdict: Verdict,
        *,
        about: Mapping[str, Any],
        cache_key: str | None = None,
        owner: str | None = None,
        is_owed: bool = True,
    ) -> Kept | None:
        """Store VERDICT whole, and settle what waits for it.

        An unavailable verdict is queued; IS_OWED says whether whoever asked can acknowledge what will supersede it. Any
        other one supersedes the queued verdicts of the same claim and context, which are announced. An id that is there
        already keeps its verdict. CACHE_KEY is given where the verdict may answer for later claims. OWNER is given for
        an evaluation from the queue: None is returned, and nothing is stored, where its lease is gone. Raises
        UnknownVerdictError for an id that was forgotten, and TakenIdError for one that belongs to another claim.
        """
        key = codec.pack_key(verdict.pack)
        now = time.time()
        with self._database.transaction(writes=True) as db:
            if db.execute("SELECT 1 FROM tombstone WHERE id = ?", (verdict.id,)).fetchone():
                raise _unknown(verdict.id)
            if row := db.execute(f"{_WHOLE} WHERE verdict.id = ?", (verdict.id,)).fetchone():
                return Kept(_same_claim(_shown(row).verdict, verdict.pack))
            waiting = db.execute(
                "SELECT verdict.id, pending.owner, is_owed FROM pending JOIN verdict ON verdict.seq = pending.verdict "
                "WHERE pending.pack = ? ORDER BY verdict.seq",
                (key,),
            ).fetchall()
            if owner is not None and not any(row["owner"] == owner for row in waiting):
                return None
            is_unavailable = verdict.outcome.status is Status.UNAVAILABLE
            old = [] if is_unavailable else waiting
            seq = _insert(db, verdict, key, now, about, cache_key, old[0]["id"] if old else None)
            if is_unavailable:
                db.execute(
                    "INSERT INTO pending (verdict, pack, due, is_owed) VALUES (?, ?, ?, ?)", (seq, key, now, is_owed)
                )
            if old:
                _supersede(db, key, seq, verdict.id, old, now)
        return Kept(verdict, tuple(Announcement(row["id"], verdict) for row in old))

    def answer(self, verdict_id: str, pack: ContextPack) -> Verdict | None:
        """The verdict that this id has already, or None.

        Raises UnknownVerdictError where it was forgotten, TakenIdError where it is on another claim than PACK's.
        """
        with self._database.transaction() as db:
            if db.execute("SELECT 1 FROM tombstone WHERE id = ?", (verdict_id,)).fetchone():
                raise _unknown(verdict_id)
            row = db.execute(f"{_WHOLE} WHERE verdict.id = ?", (verdict_id,)).fetchone()
        return _same_claim(_shown(row).verdict, pack) if row else None

    def show(self, verdict_id: str) -> Shown:
        """The verdict with this id and what is beside it. Raises UnknownVerdictError."""
        with self._database.transaction() as db:
            row = db.execute(f"{_WHOLE} WHERE verdict.id = ?", (verdict_id,)).fetchone()
        if row is None:
            raise _unknown(verdict_id)
        return _shown(row)

    def cached(self, cache_key: str, max_age_s: float) -> Verdict | None:
        """The newest verdict with CACHE_KEY that is not older than MAX_AGE_S seconds, or None."""
        with self._database.transaction() as db:
            row = db.execute(
                f"{_WHOLE} WHERE verdict.cache_key = ? AND verdict.at >= ? ORDER BY verdict.seq DESC LIMIT 1",
                (cache_key, time.time() - max_age_s),
            ).fetchone()
        return evolve(_shown(row).verdict, cached=True) if row else None

    def list(
        self,
        *,
        tag: str | None = None,
        status: str | None = None,
        text: str | None = None,
        limit: int = PAGE,
        since: float | None = None,
        until: float | None = None,
        reviewed: bool | None = None,
        cursor: str | None = None,
        counts: bool = False,
    ) -> Page:
        """The verdicts that have TAG and STATUS and whose claim holds TEXT (ASCII case aside), newest first.

        Where TAG or STATUS asks for unavailable ones, those that were superseded are left out. SINCE and UNTIL, in
        seconds since the epoch, bound when they were stored. REVIEWED picks those that a person has decided on, or
        those that nobody has. CURSOR is a page's `next_cursor`; one that is none counts from the beginning. COUNTS asks
        for those of the whole ledger too.
        """
        source, order = _source(tag, status)
        wheres, values = _conditions(tag, status, text, since, until, reviewed)
        if cursor is not None and cursor.isascii() and cursor.isdigit():
            wheres.append(f"{order} < ?")
            values.append(min(int(cursor[:19]), 2**63 - 1))
        where = f"WHERE {' AND '.join(wheres)} " if wheres else ""
        count = max(1, min(limit, MAX_PAGE))
        with self._database.transaction() as db:
            rows = db.execute(
                f"SELECT {_ENTRY} FROM {source} LEFT JOIN review ON review.verdict = verdict.seq "
                f"{where}ORDER BY {order} DESC LIMIT {count + 1}",
                values,
            ).fetchall()
            counted = _counts(db) if counts else None
        entries = tuple(_entry(row) for row in rows[:count])
        return Page(entries, str(rows[count - 1][0]) if len(rows) > count else None, counted)

    def recorded(self, after: int = 0, limit: int = REPLAY_PAGE) -> tuple[tuple[Recorded, ...], int]:
        """The evidence and decisions of LIMIT verdicts behind the place AFTER, oldest first, and the next place."""
        with self._database.transaction() as db:
            rows = db.execute(f"{_WHOLE} WHERE verdict.seq > ? ORDER BY verdict.seq LIMIT ?", (after, limit)).fetchall()
        return tuple(map(_recorded, rows)), rows[-1]["seq"] if rows else after

    def record(self, verdict_id: str) -> Recorded:
        """The evidence and decision of one verdict. Raises UnknownVerdictError."""
        with self._database.transaction() as db:
            row = db.execute(f"{_WHOLE} WHERE verdict.id = ?", (verdict_id,)).fetchone()
        if row is None:
            raise _unknown(verdict_id)
        return _recorded(row)

    def beginning(self, prefix: str, limit: int) -> tuple[str, ...]:
        """LIMIT ids at most that begin with PREFIX, which is in small letters, in their order."""
        with self._database.transaction() as db:
            rows = db.execute(
                # No digit and no dash of an id comes after a g.
                "SELECT id FROM verdict WHERE id >= :prefix AND id < :prefix || 'g' ORDER BY id LIMIT :limit",
                {"prefix": prefix, "limit": limit},
            ).fetchall()
        return tuple(row[0] for row in rows)

    def review(self, verdict_id: str, decision: Decided, note: str | None) -> Shown:
        """Record what a person decided, beside the verdict; a later decision takes the place of an earlier one.

        The same decision made again without a note keeps the earlier note.

        Raises UnknownVerdictError, and ReviewError for a verdict that is neither parked nor flagged nor split.
        """
        with self._database.transaction(writes=True) as db:
            row = db.execute(f"{_WHOLE} WHERE verdict.id = ?", (verdict_id,)).fetchone()
            if row is None:
                raise _unknown(verdict_id)
            if not REVIEWABLE & set(_shown(row).verdict.outcome.tags):
                raise ReviewError("Only a verdict that is parked, flagged or split awaits a person's decision.")
            db.execute(
                "INSERT INTO review (verdict, decision, note, at) VALUES (?, ?, ?, ?) ON CONFLICT (verdict) DO UPDATE "
                "SET note = coalesce(excluded.note, CASE WHEN decision = excluded.decision THEN note END), "
                "decision = excluded.decision, at = excluded.at",
                (row["seq"], decision, note, time.time()),
            )
        return self.show(verdict_id)

    def forget(self, verdict_id: str) -> None:
        """Remove the claim of this verdict, with every verdict on it, from the file; a tombstone keeps each id.

        What the client keeps under these ids beside the ledger, in folders of the same home, goes with it, and so does
        each corrupt file set aside that holds any of it.

        Raises UnknownVerdictError, and LedgerError where deleted text may still stand in the write-ahead log; then, and
        for a verdict that was forgotten already, asking again removes it there.
        """
        with self._database.transaction(writes=True) as db:
            rows = db.execute(
                "SELECT id, claim, context FROM verdict WHERE claim_key = (SELECT claim_key FROM verdict WHERE id = ?)",
                (verdict_id,),
            ).fetchall()
            if not rows and not db.execute("SELECT 1 FROM tombstone WHERE id = ?", (verdict_id,)).fetchone():
                raise _unknown(verdict_id, self._database.set_aside())
            now = time.time()
            db.executemany("INSERT OR REPLACE INTO tombstone VALUES (?, ?)", [(row["id"], now) for row in rows])
            db.executemany("DELETE FROM verdict WHERE id = ?", [(row["id"],) for row in rows])
        self._database.purge()
        self._forget_files([row["id"] for row in rows] or [verdict_id])
        # Whatever else was said stands in the same row as claim and context.
        texts = {text for row in rows for text in (row["claim"], row["context"]) if len(text) >= LEAST_SEARCHED}
        self._database.drop_copies(texts)

    def _forget_files(self, ids: Sequence[str]) -> None:
        for file in (file for name in CLIENT_FOLDERS for file in (self._database.path.parent / name).glob("*")):
            if file.name.partition(".")[0] in ids:
                try:
                    file.unlink(missing_ok=True)
                except OSError as error:
                    raise LedgerError(f"{file} cannot be removed: {error.strerror}. Delete it.") from error

    def pending(self) -> int:
        """How many claims await another evaluation, the same claim once."""
        with self._database.transaction() as db:
            return _count(db, _PENDING)

    def hasten(self, ids: Sequence[str] | None) -> int:
        """Make the queued verdicts with these IDS (None: all) due now, and tell how many claims that are.

        Raises UnknownVerdictError for an id that no verdict has.
        """
        with self._database.transaction(writes=True) as db:
            rows = db.execute(
                "SELECT verdict.id, pending.pack FROM verdict LEFT JOIN pending ON pending.verdict = verdict.seq"
                + ("" if ids is None else " WHERE verdict.id IN (SELECT value FROM json_each(?))"),
                () if ids is None else (json.dumps(ids),),
            ).fetchall()
            if unknown := set(ids or ()) - {found for found, _ in rows}:
                raise _unknown(min(unknown))
            packs = {pack for _, pack in rows if pack is not None}
            db.executemany(
                "UPDATE pending SET due = 0, attempts = 0, dropped = 0 WHERE pack = ?", [(pack,) for pack in packs]
            )
        return len(packs)

    def lease(self, owner: str, lease_s: float) -> Due | None:
        """The claim that is due longest and leased to nobody, leased to OWNER for LEASE_S seconds, or None."""
        now = time.time()
        with self._database.transaction(writes=True) as db:
            first = db.execute(
                # What lies further ahead than anything is ever put off was written before the clock was set back.
                "SELECT pack, attempts, dropped FROM pending "
                "WHERE (due <= :now OR due > :now + max(:most, :once << min(dropped, :often))) AND pack NOT IN "
                "(SELECT pack FROM pending WHERE leased_until BETWEEN :now AND :now + :most) ORDER BY due LIMIT 1",
                {"now": now, "most": MOST_PUT_OFF_S, "once": DOUBLED_S, "often": MOST_DOUBLED},
            ).fetchone()
            if first is None:
                return None
            key, attempts, dropped = first
            db.execute("UPDATE pending SET owner = ?, leased_until = ? WHERE pack = ?", (owner, now + lease_s, key))
            rows = db.execute(
                "SELECT verdict.id, verdict.claim, verdict.context FROM pending "
                "JOIN verdict ON verdict.seq = pending.verdict WHERE pending.pack = ? ORDER BY verdict.seq",
                (key,),
            ).fetchall()
        return Due(key, ContextPack(rows[0][1], rows[0][2]), tuple(row[0] for row in rows), attempts, dropped)

    def renew(self, due: Due, owner: str, lease_s: float) -> None:
        """Keep the lease of DUE for LEASE_S seconds from now."""
        with self._database.transaction(writes=True) as db:
            db.execute(
                "UPDATE pending SET leased_until = ? WHERE pack = ? AND owner = ?",
                (time.time() + lease_s, due.key, owner),
            )

    def release(self, due: Due, owner: str, *, again_in_s: float, was_dropped: bool = False) -> None:
        """Give DUE back after a try in vain, to be tried again after AGAIN_IN_S seconds."""
        with self._database.transaction(writes=True) as db:
            db.execute(
                "UPDATE pending SET owner = NULL, leased_until = 0, due = ?, attempts = attempts + 1, "
                "dropped = dropped + ? WHERE pack = ? AND owner = ?",
                (time.time() + again_in_s, was_dropped, due.key, owner),
            )

    def announcements(self, after: int = 0, limit: int = REPLAY_PAGE) -> tuple[tuple[Announcement, ...], int]:
        """What the client has not acknowledged yet of LIMIT verdicts behind the place AFTER, and the next place."""
        with self._database.transaction() as db:
            rows = db.execute(
                "WITH live AS (SELECT verdict, old FROM announcement "
                "WHERE verdict > :after AND (until IS NULL OR until > :now)) "
                f"SELECT {_COLUMNS}, live.old FROM live JOIN verdict ON verdict.seq = live.verdict {_BESIDE} "
                "WHERE live.verdict IN (SELECT DISTINCT verdict FROM live ORDER BY verdict LIMIT :limit) "
                "ORDER BY live.verdict, live.old",
                {"after": after, "limit": limit, "now": time.time()},
            ).fetchall()
        news = []
        for row in rows:
            try:
                news.append(Announcement(row["old"], _shown(row).verdict))
            except LedgerError:
                log.error("%s cannot be read, so it is not announced", row["id"])  # noqa: TRY400 - the text may be quoted
        return tuple(news), rows[-1]["seq"] if rows else after

    def acknowledge(self, ids: Sequence[str]) -> int:
        """Note that the client knows the new verdicts with these IDS, and tell how many it had not known before."""
        with self._database.transaction(writes=True) as db:
            known = 0
            for verdict_id in dict.fromkeys(ids):
                found = db.execute(
                    "DELETE FROM announcement WHERE verdict = (SELECT seq FROM verdict WHERE id = ?)", (verdict_id,)
                )
                known += found.rowcount > 0
        return known


_COLUMNS = (
    "verdict.*, review.decision AS reviewed, review.note, review.at AS reviewed_at, pending.attempts, "
    "pending.dropped, pending.due"
)
_BESIDE = "LEFT JOIN review ON review.verdict = verdict.seq LEFT JOIN pending ON pending.verdict = verdict.seq"
_SOURCE = f"verdict {_BESIDE}"
_WHOLE = f"SELECT {_COLUMNS} FROM {_SOURCE}"
_ENTRY = (
    "verdict.seq, verdict.id, verdict.at, claim, status, tier, confidence, majority, summary, tags, council_votes, "
    "latency_ms, supersedes, superseded_by, review.decision, review.note, review.at"
)
_PENDING = "SELECT count(DISTINCT pack) FROM pending"


def _source(tag: str | None, status: str | None) -> tuple[str, str]:
    """The tables that a list is read from, and the column that is its order."""
    if tag == UNAVAILABLE_TAG or status == Status.UNAVAILABLE:  # the queue holds those that nothing has superseded
        tagged = "" if tag is None else " CROSS JOIN tag ON tag.verdict = pending.verdict"
        return f"pending CROSS JOIN verdict ON verdict.seq = pending.verdict{tagged}", "pending.verdict"
    if tag is not None:
        return "tag CROSS JOIN verdict ON verdict.seq = tag.verdict", "tag.verdict"
    return "verdict", "verdict.seq"


def _conditions(
    tag: str | None,
    status: str | None,
    text: str | None,
    since: float | None,
    until: float | None,
    reviewed: bool | None,
) -> tuple[list[str], list[str | float]]:
    """The conditions of a list, and the values for their places, in order; see Ledger.list."""
    wheres: list[str] = []
    values: list[str | float] = []
    for value, condition in (
        (tag, "tag.tag = ?"),
        (status, "verdict.status = ?"),
        (since, "verdict.at >= ?"),
        (until, "verdict.at <= ?"),
    ):
        if value is not None:
            wheres.append(condition)
            values.append(value)
    if reviewed is not None:
        wheres.append(f"review.verdict IS {'NOT ' if reviewed else ''}NULL")
    if text and len(text) > MAX_CLAIM:
        wheres.append("0")
    elif text:
        wheres.append("verdict.claim LIKE ? ESCAPE '\\'")
        values.append(f"%{_LIKE_SPECIAL.sub(lambda found: chr(92) + found[0], text)}%")
    return wheres, values


def _count(db: sqlite3.Connection, statement: str) -> int:
    return int(db.execute(statement).fetchone()[0])


def _counts(db: sqlite3.Connection) -> Counts:
    """Each count is a look at an index alone: 6 ms of 100,000 verdicts."""
    tagged = "SELECT count(*) FROM tag WHERE tag ="
    in_state = "SELECT count(*) FROM verdict WHERE status ="
    parked = _count(db, f"{in_state} 'parked'")
    # What people have decided is far less than what was parked.
    decided = _count(
        db, "SELECT count(*) FROM review JOIN verdict ON verdict.seq = review.verdict WHERE status = 'parked'"
    )
    return Counts(
        total=_count(db, "SELECT count(*) FROM verdict"),
        awaiting=parked - decided,
        parked=parked,
        flagged=_count(db, f"{tagged} 'council-flagged'"),
        split=_count(db, f"{tagged} 'council-split'"),
        unavailable=_count(db, "SELECT count(*) FROM pending"),
        pending=_count(db, _PENDING),
    )


def _insert(
    db: sqlite3.Connection,
    verdict: Verdict,
    key: str,
    now: float,
    about: Mapping[str, Any],
    cache_key: str | None,
    supersedes: str | None,
) -> int:
    outcome = verdict.outcome
    row = {
        "id": verdict.id,
        "at": now,
        "pack": key,
        "claim_key": codec.digest(verdict.pack.claim),
        "claim": verdict.pack.claim,
        "context": verdict.pack.context,
        "status": str(outcome.status),
        "tier": outcome.tier,
        "confidence": outcome.confidence,
        "majority": outcome.majority and str(outcome.majority),
        "summary": outcome.summary,
        "tags": json.dumps(outcome.tags),
        "council_votes": json.dumps([vote.label for vote in verdict.votes]),
        "latency_ms": verdict.latency_ms,
        "warnings": json.dumps(verdict.warnings, ensure_ascii=False),
        "evidence": codec.dump_evidence(verdict.debate),
        "decision": codec.dump_decision(codec.Decision(verdict.report, outcome)),
        "about": json.dumps(about, ensure_ascii=False),
        "cache_key": cache_key,
        "supersedes": supersedes,
    }
    row = {name: clean(value) if isinstance(value, str) else value for name, value in row.items()}
    names, places = ", ".join(row), ", ".join(f":{name}" for name in row)
    seq = db.execute(f"INSERT INTO verdict ({names}) VALUES ({places})", row).lastrowid
    db.executemany("INSERT INTO tag VALUES (?, ?)", [(tag, seq) for tag in outcome.tags])
    assert seq is not None  # noqa: S101 - an INSERT that did not raise has one
    return seq


def _supersede(
    db: sqlite3.Connection, key: str, seq: int, verdict_id: str, old: Sequence[sqlite3.Row], now: float
) -> None:
    """Take the OLD verdicts of the pack KEY out of the queue, and announce the one at SEQ in their place."""
    db.execute("DELETE FROM pending WHERE pack = ?", (key,))
    db.executemany("UPDATE verdict SET superseded_by = ? WHERE id = ?", [(verdict_id, row["id"]) for row in old])
    db.execute("DELETE FROM announcement WHERE until <= ?", (now,))
    db.executemany(
        "INSERT INTO announcement (verdict, old, until) VALUES (?, ?, ?)",
        [(seq, row["id"], None if row["is_owed"] else now + UNHEARD_S) for row in old],
    )


def _unknown(verdict_id: str, set_aside: Sequence[Path] = ()) -> UnknownVerdictError:
    message = f"No verdict has the id {verdict_id}, or it was forgotten."
    if set_aside:
        files = ", ".join(str(file) for file in set_aside)
        message += f" It may stand in a corrupt ledger that was set aside ({files}); delete that to forget it there."
    return UnknownVerdictError(message)


def _same_claim(verdict: Verdict, pack: ContextPack) -> Verdict:
    if verdict.pack != pack:
        raise TakenIdError("It belongs to the verdict on another claim. Send an id of its own with each claim.")
    return verdict


def _shown(row: sqlite3.Row) -> Shown:
    """The verdict of ROW. Raises LedgerError where its evidence or decision cannot be read."""
    try:
        decision = codec.load_decision(row["decision"])
        verdict = Verdict(
            id=row["id"],
            pack=ContextPack(_text(row["claim"]), _text(row["context"])),
            debate=codec.load_evidence(row["evidence"]),
            report=decision.report,
            outcome=decision.outcome,
            latency_ms=row["latency_ms"],
            warnings=_words(row["warnings"]),
        )
    except ValueError as error:
        raise LedgerError(f"The verdict {row['id']} in the ledger cannot be read: {error}.") from error
    review = Review(row["reviewed"], row["note"], row["reviewed_at"]) if row["reviewed"] else None
    waiting = None if row["due"] is None else Waiting(row["attempts"], row["dropped"], row["due"])
    return Shown(verdict, review, row["supersedes"], row["superseded_by"], waiting, row["at"])


def _words(text: object) -> tuple[str, ...]:
    """The texts of a JSON list; none where it cannot be read any more."""
    try:
        words = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return ()
    return tuple(map(str, words)) if isinstance(words, list) else ()


def _text(value: object) -> str:
    """VALUE where the column holds a text, as it should; rotten bytes are read as far as may be."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0.0


def _entry(row: sqlite3.Row) -> Entry:
    (
        _,
        verdict_id,
        at,
        claim,
        status,
        tier,
        confidence,
        majority,
        summary,
        tags,
        votes,
        latency_ms,
        supersedes,
        superseded_by,
        *review,
    ) = row
    return Entry(
        id=_text(verdict_id),
        at=_number(at),
        claim=_text(claim),
        status=_text(status),
        tier=tier and _text(tier),
        confidence=_number(confidence),
        majority=majority and _text(majority),
        summary=_text(summary),
        tags=_words(tags),
        council_votes=_words(votes),
        latency_ms=round(_number(latency_ms)),
        supersedes=supersedes and _text(supersedes),
        superseded_by=superseded_by and _text(superseded_by),
        review=Review(*review) if review[0] else None,
    )


def _recorded(row: sqlite3.Row) -> Recorded:
    pack = ContextPack(_text(row["claim"]), _text(row["context"]))
    try:
        debate = codec.load_evidence(row["evidence"])
        lenses = codec.load_decision(row["decision"]).report.lenses
    except ValueError:
        return Recorded(_text(row["id"]), pack, None, _text(row["status"]), _number(row["confidence"]), (), ())
    tags = _words(row["tags"])
    findings = tuple((lens.lens, finding.oracle, finding.proven) for lens in lenses for finding in lens.findings)
    return Recorded(_text(row["id"]), pack, debate, _text(row["status"]), _number(row["confidence"]), tags, findings)

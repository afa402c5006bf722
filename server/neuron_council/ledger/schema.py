"""The tables, by migration. A migration that was released is never changed: a new one is added behind it.

`verdict.seq` is the order of writing; `evidence` holds what the checker needs to decide again, `decision` what it
decided, both as JSON of `ledger.codec`; `about` the versions, constants and board behind them. `pack` is a hash of
claim and context, `claim_key` one of the claim alone, `cache_key` one of all that a cached answer must share.
`superseded_by` is set when an unavailable verdict leaves `pending`: the id of the verdict that settled its claim.
"""

from __future__ import annotations

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE verdict (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            at REAL NOT NULL,
            pack TEXT NOT NULL,
            claim_key TEXT NOT NULL,
            claim TEXT NOT NULL,
            context TEXT NOT NULL,
            status TEXT NOT NULL,
            tier TEXT,
            confidence REAL NOT NULL,
            majority TEXT,
            summary TEXT NOT NULL,
            tags TEXT NOT NULL,
            council_votes TEXT NOT NULL,
            latency_ms INTEGER NOT NULL,
            warnings TEXT NOT NULL,
            evidence TEXT NOT NULL,
            decision TEXT NOT NULL,
            about TEXT NOT NULL,
            cache_key TEXT,
            supersedes TEXT
        )""",
        "CREATE INDEX verdict_by_status ON verdict (status, seq)",
        "CREATE INDEX verdict_by_claim ON verdict (claim_key)",
        "CREATE INDEX verdict_by_cache_key ON verdict (cache_key, seq) WHERE cache_key IS NOT NULL",
        """CREATE TABLE tag (
            tag TEXT NOT NULL,
            verdict INTEGER NOT NULL REFERENCES verdict (seq) ON DELETE CASCADE,
            PRIMARY KEY (tag, verdict)
        ) WITHOUT ROWID""",
        "CREATE INDEX tag_by_verdict ON tag (verdict)",
        """CREATE TABLE review (
            verdict INTEGER PRIMARY KEY REFERENCES verdict (seq) ON DELETE CASCADE,
            decision TEXT NOT NULL CHECK (decision IN ('accept', 'reject')),
            note TEXT,
            at REAL NOT NULL
        )""",
        # What awaits another evaluation: a row for each unavailable verdict; rows of the same pack are judged once.
        """CREATE TABLE pending (
            verdict INTEGER PRIMARY KEY REFERENCES verdict (seq) ON DELETE CASCADE,
            pack TEXT NOT NULL,
            due REAL NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0,
            owner TEXT,
            leased_until REAL NOT NULL DEFAULT 0
        )""",
        "CREATE INDEX pending_by_pack ON pending (pack)",
        # What the client is told until it acknowledges it: `verdict` supersedes the verdict with the id `old`.
        """CREATE TABLE announcement (
            verdict INTEGER NOT NULL REFERENCES verdict (seq) ON DELETE CASCADE,
            old TEXT NOT NULL,
            PRIMARY KEY (verdict, old)
        ) WITHOUT ROWID""",
        "CREATE TABLE tombstone (id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID",
    ),
    (
        "ALTER TABLE verdict ADD COLUMN superseded_by TEXT",
        """UPDATE verdict SET superseded_by = (
            SELECT newer.id FROM verdict AS newer
            WHERE newer.claim_key = verdict.claim_key AND newer.pack = verdict.pack AND newer.seq > verdict.seq
            AND newer.status <> 'unavailable' ORDER BY newer.seq LIMIT 1
        ) WHERE status = 'unavailable' AND seq NOT IN (SELECT verdict FROM pending)""",
        # The tries in which members that were there could not be reached: the claim may be what ends their backend.
        "ALTER TABLE pending ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0",
        # Whoever cannot acknowledge what supersedes the verdict is owed no announcement for ever, only `until` a time.
        "ALTER TABLE pending ADD COLUMN is_owed INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE announcement ADD COLUMN until REAL",
    ),
)

"""The exit codes, and what they mean: one table for --help and for docs/cli.md."""

from __future__ import annotations

DONE, NO, USAGE, PARTIAL, UNAVAILABLE, FILE = 0, 1, 2, 3, 4, 5
INTERNAL, INTERRUPTED, UNREAD = 70, 130, 141

EXITS = (
    (DONE, "done. verify: the claim may be stored; batch: every line was judged; serve: shutdown, then exit"),
    (
        NO,
        "no. verify: flagged or rejected; replay: a verdict would differ today; doctor: something to mend; show, "
        "replay, review, forget, reevaluate: no such verdict, or none that a person decides; forget: not confirmed; "
        "init: too few models, or council.toml is there; serve: exit alone, or stdin, stdout or the parent is gone",
    ),
    (USAGE, "the arguments or the configuration are at fault"),
    (PARTIAL, "in part. verify: parked, a person has to decide; batch: some lines are at fault or unavailable"),
    (UNAVAILABLE, "verify: no member could be asked; init: Ollama does not answer"),
    (FILE, "a file cannot be read or written: the ledger, council.toml, what batch reads or writes"),
    (INTERNAL, "a fault of the program itself; the log has where"),
    (INTERRUPTED, "interrupted; serve: 128 + n after signal n"),
    (UNREAD, "whoever read the output has left"),
)
"""Where several fit, the order of verify is 4, 3, 1, 0."""

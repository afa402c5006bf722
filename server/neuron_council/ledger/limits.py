"""How much of the ledger is read at a time."""

PAGE = 50
"""Verdicts of a page where no limit is given."""
MAX_PAGE = 1_000
"""Verdicts of a page at most."""
REPLAY_PAGE = 200
"""Verdicts that a replay reads at a time, so that it never holds up who writes."""

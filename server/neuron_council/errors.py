"""The errors that this package raises on purpose.

    CouncilError
    ├── ConfigError         the configuration cannot be used: a file, variable or option names the key and the reason
    ├── LedgerError         the ledger cannot be read or written: the message names the file, the reason and the cure
    │   └── CorruptLedgerError  the file was corrupt and has been set aside; the next attempt has a new one
    ├── UnknownVerdictError no verdict has this id, or it was forgotten
    ├── AmbiguousIdError    several verdicts have an id that begins so: the message lists them
    ├── TakenIdError        the id given with a claim belongs to the verdict on another claim
    └── ReviewError         the verdict is none that a person may decide

What goes wrong with a member is no error but evidence: see `evidence.failure`.
"""

from __future__ import annotations


class CouncilError(Exception):
    """The root of the tree; its message is one or more whole sentences for the user."""


class ConfigError(CouncilError):
    """A configuration that cannot be used. The message names where, which key, why, and what would be accepted."""


class LedgerError(CouncilError):
    """A ledger that cannot be read or written. The message names the file, the reason, and the cure if there is one."""


class CorruptLedgerError(LedgerError):
    """A corrupt ledger, which has been set aside; the message names where it is now."""


class TakenIdError(CouncilError):
    """An id, given with a claim, of the verdict on another claim."""


class AmbiguousIdError(CouncilError):
    """The beginning of several verdicts' ids. The message lists them."""


class UnknownVerdictError(CouncilError):
    """An id that belongs to no verdict in the ledger."""


class ReviewError(CouncilError):
    """A review of a verdict that is neither parked nor flagged nor split."""

"""The errors that this package raises on purpose.

    CouncilError
    └── ConfigError     the configuration cannot be used: a file, variable or option names the key and the reason

What goes wrong with a member is no error but evidence: see `evidence.failure`.
"""

from __future__ import annotations


class CouncilError(Exception):
    """The root of the tree; its message is one or more whole sentences for the user."""


class ConfigError(CouncilError):
    """A configuration that cannot be used. The message names where, which key, why, and what would be accepted."""

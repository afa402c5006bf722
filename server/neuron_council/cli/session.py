"""What the commands open: the configuration, the log and the ledger of this home."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from neuron_council.cli.terminal import complain

if TYPE_CHECKING:
    from neuron_council.config import Settings
    from neuron_council.ledger.ledger import Ledger


def settings() -> Settings:
    """The configuration, its warnings said and the log begun. Raises ConfigError."""
    from neuron_council import config

    loaded = config.load(config.home(os.environ), os.environ)
    for warning in loaded.warnings:
        complain(warning)
    _log()
    return loaded


@contextmanager
def ledger() -> Iterator[Ledger]:
    """The ledger for the block, without a council and so without a model. Its methods raise LedgerError."""
    from neuron_council import config
    from neuron_council.ledger.ledger import FILE, Ledger

    _log()
    opened = Ledger(config.home(os.environ) / FILE)
    try:
        yield opened
    finally:
        opened.close()


def _log() -> None:
    """Log where the server does, and never to stderr."""
    from neuron_council import config
    from neuron_council.rpc import log

    with suppress(OSError):  # whoever cannot log can still judge
        log.begin(config.home(os.environ))

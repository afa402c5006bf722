"""The program `neuron-council`: `serve` for an editor, everything else for a shell."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program with ARGV (default: the command line) and return its exit code. `serve` does not return."""
    given = sys.argv[1:] if argv is None else list(argv)
    if given == ["serve"]:  # an editor waits, and reading the other commands takes as long as a tenth of the start
        from neuron_council.cli.serve import serve

        serve()
    from neuron_council.cli.program import run

    return run(given)

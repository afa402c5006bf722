"""`doctor`: what stands, what does not, and how to mend it. It changes nothing and loads no model."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from neuron_council.cli import exits
from neuron_council.cli.terminal import as_json, tell
from neuron_council.rpc.report import plain

if TYPE_CHECKING:
    import argparse

    from neuron_council.cli.checks import Check


MARKS = {"ok": "ok", "warning": "warning", "error": "ERROR"}


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("doctor", help="look at configuration, models, ledger and Emacs, and say what to mend")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Look at everything, and tell it."""
    from neuron_council.cli.checks import examine

    checks = examine(os.environ)
    faults = sum(check.state == "error" for check in checks)
    if arguments.json:
        tell(as_json({"healthy": not faults, "checks": [attrs.asdict(check) for check in checks]}, indent=2))
    else:
        tell(render(checks))
    return exits.NO if faults else exits.DONE


def render(checks: list[Check]) -> str:
    """CHECKS by area, each with its cure if it has one, and how many are to be mended."""
    lines: list[str] = []
    area = None
    for check in checks:
        if check.area != area:
            area = check.area
            lines += ["", area] if lines else [area]
        lines.append(f"  {MARKS[check.state]:<9}{plain(f'{check.name}: {check.says}')}")
        if check.cure:
            lines.append(f"{'':<11}-> {plain(check.cure)}")
    return "\n".join([*lines, "", _balance(checks)])


def _balance(checks: list[Check]) -> str:
    counts = Counter(check.state for check in checks)
    faults = {0: "Nothing to mend", 1: "1 thing to mend"}.get(counts["error"], f"{counts['error']} things to mend")
    warnings = {0: "", 1: ", 1 warning"}.get(counts["warning"], f", {counts['warning']} warnings")
    return f"{faults}{warnings}."

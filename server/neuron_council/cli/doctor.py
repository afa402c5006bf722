"""`doctor`: what stands, what does not, and how to mend it. It changes nothing and loads no model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import attrs

from neuron_council.cli import exits
from neuron_council.cli.terminal import as_json, one_line, tell

if TYPE_CHECKING:
    import argparse

    from neuron_council.cli.checks import Check


def register(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("doctor", help="look at configuration, models, ledger and Emacs, and say what to mend")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Look at everything, and tell it."""
    from neuron_council.cli.checks import examine

    checks = examine(os.environ)
    faults = sum(check.state == "mend" for check in checks)
    if arguments.json:
        tell(as_json({"healthy": not faults, "checks": [attrs.asdict(check) for check in checks]}, indent=2))
    else:
        tell(render(checks))
    return exits.NO if faults else exits.DONE


def render(checks: list[Check]) -> str:
    """CHECKS by area, each fault with its cure, and how many there are."""
    lines: list[str] = []
    area = None
    for check in checks:
        if check.area != area:
            area = check.area
            lines += ["", area] if lines else [area]
        mark = "MEND" if check.state == "mend" else check.state
        lines.append(f"  {mark:<5}{one_line(f'{check.name}: {check.finding}')}")
        if check.cure:
            lines.append(f"       -> {one_line(check.cure)}")
    faults = sum(check.state == "mend" for check in checks)
    things = "1 thing" if faults == 1 else f"{faults} things"
    return "\n".join([*lines, "", f"{things} to mend." if faults else "Nothing to mend."])

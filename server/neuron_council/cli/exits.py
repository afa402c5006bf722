"""The exit codes, and what they mean: one table for --help and for docs/cli.md."""

from __future__ import annotations

from attrs import frozen

DONE, NO, USAGE, PARTIAL, UNAVAILABLE, FILE = 0, 1, 2, 3, 4, 5
INTERNAL, INTERRUPTED, UNREAD = 70, 130, 141


@frozen
class Exit:
    """An exit code, what it says of every command, and what of some: the words for each of them.

    One that says nothing of every command is not for those without words of their own.
    """

    code: int
    says: str = ""
    cases: tuple[tuple[tuple[str, ...], str], ...] = ()

    def of_all(self) -> str:
        """What it means, command by command."""
        cases = "; ".join(f"{', '.join(names)}: {meaning}" for names, meaning in self.cases)
        return ". ".join(filter(None, (self.says, cases)))

    def of(self, command: str) -> str:
        """What it means for COMMAND; empty where COMMAND never exits so."""
        return "; ".join(meaning for names, meaning in self.cases if command in names) or self.says


EXITS = (
    Exit(
        DONE,
        "done",
        (
            (("verify",), "the claim may be stored"),
            (("batch",), "every line was judged"),
            (("serve",), "shutdown, then exit"),
        ),
    ),
    Exit(
        NO,
        cases=(
            (("verify",), "flagged or rejected"),
            (("replay",), "a verdict would differ today"),
            (("doctor",), "something to mend"),
            (
                ("show", "replay", "review", "forget", "reevaluate"),
                "no such verdict, or none that a person decides",
            ),
            (("forget",), "not confirmed"),
            (("init",), "too few models, or council.toml is there"),
            (("serve",), "exit alone, or stdin, stdout or the parent is gone"),
        ),
    ),
    Exit(USAGE, "the arguments or the configuration are at fault"),
    Exit(
        PARTIAL,
        cases=(
            (("verify",), "parked, a person has to decide"),
            (("batch",), "some lines are at fault or unavailable"),
        ),
    ),
    Exit(
        UNAVAILABLE,
        cases=((("verify",), "no member could be asked"), (("init",), "Ollama does not answer")),
    ),
    Exit(FILE, "a file cannot be read or written: the ledger, council.toml, what batch reads or writes"),
    Exit(INTERNAL, "a fault of the program itself; the log has where"),
    Exit(INTERRUPTED, "interrupted", ((("serve",), "128 + n after signal n"),)),
    Exit(UNREAD, "whoever read the output has left"),
)
"""Where several fit, the order of verify is 4, 3, 1, 0."""

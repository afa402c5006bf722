"""Verdicts in one line each, decided by the real checker, for the tests of what keeps them."""

from __future__ import annotations

import uuid
from typing import Any

from neuron_council.checker.outcome import outcome
from neuron_council.checker.verifier import verify
from neuron_council.evidence.ballot import Axes, Label, Probabilities
from neuron_council.evidence.debate import Challenge, DebateResult, Loop, Member, Vote
from neuron_council.evidence.failure import Failure, FailureKind
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.verdict import Verdict

BOARD = (
    Member("neuron", "neuron:latest", "member"),
    Member("neuron-ft", "neuron-ft:latest", "member"),
    Member("dolphin", "dolphin3:8b", "contrarian"),
)
ABOUT = {"version": "1", "constants": {}, "board": []}

_LABELS = {"p": Label.PLAUSIBLE, "u": Label.UNCERTAIN, "c": Label.CONFABULATION}
_SCORES = {"p": 5, "u": 3, "c": 1}


def pack_of(claim: str | ContextPack, context: str | None = None) -> ContextPack:
    """CLAIM as a pack, unless it is one."""
    return claim if isinstance(claim, ContextPack) else ContextPack(claim, context)


def decided(pack: ContextPack, debate: DebateResult, **fields: Any) -> Verdict:
    """The verdict that the checker gives today."""
    report = verify(debate, pack)
    fields = {"id": str(uuid.uuid4()), "latency_ms": 1234, **fields}
    return Verdict(pack=pack, debate=debate, report=report, outcome=outcome(debate, report), **fields)


def judged(
    claim: str | ContextPack, context: str | None = None, *, votes: str = "ppp", said: str = "", **fields: Any
) -> Verdict:
    """A verdict on one loop of VOTES, by their first letters in board order; SAID is every rationale.

    Three `p` are emitted, `ppc` is split, `ccc` flagged, `puc` parked.
    """
    pack = pack_of(claim, context)
    cast = tuple(
        Vote(
            member,
            _LABELS[letter],
            Axes(_SCORES[letter], _SCORES[letter], None),
            0.9,
            said or f"{member.id} says so.",
            Probabilities(0.8, 0.15, 0.05),
            None,
            3.25,
            700.5,
        )
        for member, letter in zip(BOARD, votes, strict=True)
    )
    due = votes.count("p") >= 2 and pack.is_quotable
    challenge = Challenge(BOARD[-1], said or "Nothing says otherwise.", "", False, None, 700.5, 900.0) if due else None
    return decided(pack, DebateResult(BOARD, (Loop(cast, challenge),), max_loops=1), **fields)


def unavailable(claim: str | ContextPack, context: str | None = None, **fields: Any) -> Verdict:
    """A verdict of nobody: no member could be asked."""
    away = Failure(FailureKind.UNREACHABLE, "Nobody listens at http://127.0.0.1:11434. Start Ollama.")
    cast = tuple(Vote(member, Label.UNCERTAIN, failure=away, ended_ms=1.0) for member in BOARD)
    return decided(pack_of(claim, context), DebateResult(BOARD, (Loop(cast),)), **fields)

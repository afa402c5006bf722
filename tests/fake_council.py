"""A council without models, which does what the claim's first word says, and a program that serves it.

answer (or any other word): three votes; wait: two votes, then nothing until cancelled; stubborn: the same, and a
cancellation is heeded 0.2 s late; deaf: the same, and a cancellation is not heeded at all; crash: an exception that
quotes the claim; refuse: a CouncilError; nan: a number without JSON; garbled: text that neither UTF-8 nor Emacs can
carry; print: text on stdout, from Python and from a child; large: a rationale of a million characters.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import suppress

from attrs import evolve, frozen

from neuron_council.errors import CouncilError
from neuron_council.evidence.ballot import Axes, Label, Probabilities
from neuron_council.evidence.consensus import Consensus
from neuron_council.evidence.debate import Challenge, DebateResult, Loop, Member, Vote
from neuron_council.evidence.failure import Failure, FailureKind
from neuron_council.evidence.report import (
    Dissent,
    Finding,
    LensStatus,
    LensVerdict,
    Move,
    Status,
    VerificationReport,
)
from neuron_council.evidence.verdict import Outcome, Verdict

MEMBERS = (
    Member("neuron", "neuron:latest", "member"),
    Member("neuron-ft", "neuron-ft:latest", "member"),
    Member("dolphin", "dolphin3:8b", "contrarian"),
)
VOTES = (
    Vote(MEMBERS[0], Label.PLAUSIBLE, Axes(5, 5, 4), 0.9, "It is.", Probabilities(0.9, 0.06, 0.04), None, 10.0, 710.4),
    Vote(MEMBERS[1], Label.PLAUSIBLE, Axes(5, 4, None), 0.123456, "So it is.", None, None, 10.0, 600.6),
    Vote(MEMBERS[2], Label.UNCERTAIN, failure=Failure(FailureKind.TIMEOUT, "No answer in 10 s."), ended_ms=10_000.0),
)
CHALLENGE = Challenge(MEMBERS[2], "Nothing says so.", "", refuted=False, began_ms=710.4, ended_ms=1310.4)


@frozen
class _State:
    id: str = "neuron"
    model: str = "neuron:latest"
    installed: bool | None = True
    loaded: bool | None = None
    url: str = "http://127.0.0.1:11434"
    reachable: bool = True
    version: str | None = None


@frozen
class FakeHealth:
    """What `council/health` is made of."""

    status: str = "ok"
    version: str = "0"
    backends: tuple[_State, ...] = (_State(),)
    members: tuple[_State, ...] = (_State(),)
    pending: int = 0
    in_flight: int = 0


def verdict(pack, ident="550e8400-e29b-41d4-a716-446655440000", votes=VOTES, confidence=0.65) -> Verdict:
    """A verdict that has something in every place."""
    report = VerificationReport(
        status=Status.EMITTED,
        loop_count=2,
        parked_reason=None,
        quorum=2,
        movement=(Move(2, "neuron", Label.UNCERTAIN, Label.PLAUSIBLE),),
        challenge=CHALLENGE,
        consensus=Consensus(3, 2, 2, 1, 0, 1 / 3),
        lenses=(LensVerdict("domain", LensStatus.VERIFIED, (Finding("claim-is-data", True, True, "No order."),)),),
        dissent=(Dissent("dolphin", Label.UNCERTAIN, "", VOTES[2].failure),),
    )
    said = "2/3 council members agree this is plausible."
    outcome = Outcome(Status.EMITTED, "T3", confidence, ("council-split",), Label.PLAUSIBLE, said)
    debate = DebateResult(MEMBERS, (Loop(votes, CHALLENGE),))
    return Verdict(ident, pack, debate, report, outcome, 1420, warnings=("A warning.",))


class FakeCouncil:
    """Has the methods of Council."""

    def __init__(self, settings) -> None:
        self.settings = settings
        self.calls = []
        self.closed = False
        self.released = asyncio.Event()

    async def start(self, on_reevaluated=None, *, acknowledges=True) -> None:
        """Nothing is in the background; what ON_REEVALUATED is told is up to the test."""
        self.announce = on_reevaluated
        self.acknowledges = acknowledges

    async def close(self) -> None:
        self.closed = True

    async def health(self) -> FakeHealth:
        return FakeHealth(in_flight=len(self.calls))

    async def verify(self, pack, *, id=None, deadline_s=None, fresh=False, is_urgent=True, on_vote=None) -> Verdict:  # noqa: A002
        call = {"pack": pack, "id": id, "deadline_s": deadline_s, "fresh": fresh, "is_urgent": is_urgent}
        self.calls.append(call)
        try:
            return await self._play(pack, id, on_vote)
        finally:
            self.calls.remove(call)

    async def _play(self, pack, ident, on_vote) -> Verdict:
        word = pack.claim.split()[0].lower()
        answer = verdict(pack, **({} if ident is None else {"ident": ident}))
        match word:
            case "wait" | "stubborn" | "deaf":
                for vote in VOTES[:2]:
                    on_vote(vote)
                await self._wait(word)
            case "crash":
                raise ValueError(pack.claim)
            case "refuse":
                raise CouncilError("The council is out to lunch.")
            case "nan":
                return verdict(pack, confidence=float("nan"))
            case "garbled":
                return verdict(pack, votes=(evolve(VOTES[0], rationale="a\x00b\ud83dc"), *VOTES[1:]))
            case "large":
                return verdict(pack, votes=(evolve(VOTES[0], rationale="x" * 1_000_000), *VOTES[1:]))
            case "print":
                print("from print", flush=True)  # noqa: T201 - what must not reach the wire
                os.write(1, b"from descriptor 1")
                subprocess.run(["echo", "from a child"], check=True)  # noqa: ASYNC221 - of a millisecond
            case _:
                for vote in VOTES:
                    on_vote(vote)
        return answer

    async def _wait(self, word: str) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if word == "stubborn":
                await asyncio.sleep(0.2)
            while word == "deaf" and not self.released.is_set():
                with suppress(asyncio.CancelledError):
                    await self.released.wait()
            raise


if __name__ == "__main__":
    PARENT = os.getppid()
    from neuron_council.rpc import stdio

    STDIN, STDOUT = stdio.claim()
    from neuron_council.rpc.server import run

    sys.stdout.reconfigure(line_buffering=True)
    os._exit(run(STDIN, STDOUT, os.environ, PARENT, convene=FakeCouncil))

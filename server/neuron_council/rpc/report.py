"""A verdict as a person reads it. What it quotes of models and users is shown, and never obeyed by a display. Pure."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from neuron_council.evidence.debate import ParkedReason
from neuron_council.evidence.report import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_council.evidence.debate import Challenge, Vote
    from neuron_council.evidence.failure import Failure
    from neuron_council.evidence.verdict import Outcome, Verdict

TIERS = {"T3": "may be stored", "T4": "a person decides"}
"""What a tier means for who asked."""
PARKED = {
    ParkedReason.LOOPS: "It was debated as often as `max_loops` allows, and its evidence did not settle it.",
    ParkedReason.NO_MOVEMENT: "Its last loop repeated the one before, as the next would; another context may move it.",
    ParkedReason.NO_QUORUM: "Too few members could be asked; once they can be, verify it again.",
    ParkedReason.DEADLINE: "Its time ran out; verify it again, raise `deadline_s`, or name faster models.",
}
"""Why the council debated no further, and what else than a decision may help."""

MOST_COLUMNS = 2_000
"""Characters of a line in a hover at most."""
MOST_SAID = 200
"""Characters of what is quoted in a message beside a text at most."""

_WHITE_SPACE = re.compile(r"[ \t\n\r\f\v]+")
# The control characters, the separators of lines, the marks that turn the direction of what follows, and whatever
# takes part in a text and is not seen, which Unicode calls default ignorable; as in neuron-council-text.el.
_MISLEADING = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_JOINERS = "\u200c\u200d\u180b\u180c\u180d\u180f\ufe0e\ufe0f"
"""Characters that join or vary what they stand behind, in emoji and in the scripts from Arabic on."""
_BACKTICKS = re.compile("`+")


def plain(text: str) -> str:
    """TEXT on one line, with a visible form of each character that acts on a display or hides, `^[` or `\\u202e`."""
    return _MISLEADING.sub(_visible, _WHITE_SPACE.sub(" ", text).strip(" "))


def shortened(text: str, most: int) -> str:
    """TEXT, cut to MOST characters with an ellipsis as the last."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def render(verdict: Verdict) -> str:
    """What the council says, who said what, and what the checker found, in lines of any length."""
    outcome = verdict.outcome
    lines = [
        _summary(outcome),
        f"{_standing(outcome)}, confidence {outcome.confidence:.2f}, {', '.join(outcome.tags)}; "
        f"{verdict.latency_ms / 1000:.1f} s",
    ]
    if reason := verdict.report.parked_reason:
        lines.append(PARKED[reason])
    lines += ["", *_votes(verdict)]
    if (challenge := verdict.report.challenge) is not None:
        lines.append(f"  {challenge.member.id}, as contrarian{_challenge(challenge)}")
    # Where nobody could be asked the lenses had nothing to look at, and decided nothing.
    for lens in () if outcome.status is Status.UNAVAILABLE else verdict.report.lenses:
        lines += ["", f"{lens.lens}: {lens.status.value}"]
        lines += [f"  {'ok' if f.proven else 'NOT PROVEN'}  {f.oracle}: {plain(f.evidence)}" for f in lens.findings]
    # What a vote failed of stands beside it already.
    told = {vote.failure.message for vote in verdict.votes if vote.failure}
    if warnings := [warning for warning in verdict.warnings if warning not in told]:
        lines += ["", *(f"warning: {plain(warning)}" for warning in warnings)]
    return "\n".join(lines)


def brief(verdict: Verdict) -> str:
    """The summary with confidence and tags, and on a second line the first thing that was said against the claim."""
    outcome = verdict.outcome
    first = f"{plain(outcome.summary)} ({outcome.confidence:.2f} {', '.join(outcome.tags)})"
    return "\n".join([first, *(shortened(plain(said), MOST_SAID) for said in _against(verdict))][:2])


def hover(verdict: Verdict, *, is_markdown: bool) -> str:
    """The report for a hover. Of Markdown there is a heading, of our own words; the rest is verbatim."""
    report = "\n".join(shortened(line, MOST_COLUMNS) for line in render(verdict).split("\n"))
    if not is_markdown:
        return report
    fence = "`" * max([3, *(len(run) + 1 for run in _BACKTICKS.findall(report))])
    heading = f"**Neuron Council: {verdict.outcome.status.value}, confidence {verdict.outcome.confidence:.2f}**"
    return f"{heading}\n\n{fence}text\n{report}\n{fence}"


def _summary(outcome: Outcome) -> str:
    """The summary; of an unavailable verdict without the reasons, which stand beside the votes."""
    if outcome.status is Status.UNAVAILABLE:
        return "Council unavailable: no member could be asked."
    return plain(outcome.summary)


def _standing(outcome: Outcome) -> str:
    means = f" ({outcome.tier}: {TIERS[outcome.tier]})" if outcome.tier else ""
    return f"{outcome.status.value}{means}"


def _votes(verdict: Verdict) -> Iterator[str]:
    """A line for each vote; members that failed alike, side by side, share one."""

    def likeness(vote: Vote) -> object:
        return vote.failure or vote.member

    for _, alike in groupby(verdict.votes, likeness):
        votes = list(alike)
        names, failure = ", ".join(vote.member.id for vote in votes), votes[0].failure
        if failure is None:
            yield f"  {names}: {votes[0].label.value}. {plain(votes[0].rationale)}"
        else:
            yield f"  {names}: no vote {_why(failure)}"


def _challenge(challenge: Challenge) -> str:
    if challenge.failure is not None:
        return f": no challenge {_why(challenge.failure)}"
    held = "refutes the claim" if challenge.refuted else "does not refute the claim"
    return f", {held}. {plain(challenge.argument)}"


def _why(failure: Failure) -> str:
    return f"({failure.kind.value}). {plain(failure.message)}"


def _against(verdict: Verdict) -> Iterator[str]:
    challenge = verdict.report.challenge
    if challenge is not None and challenge.refuted:
        yield f"{challenge.member.id}: {challenge.argument}"
    for vote in verdict.votes:
        if vote.label.value != "plausible" and vote.is_valid and vote.rationale:
            yield f"{vote.member.id}: {vote.rationale}"


def _visible(found: re.Match[str]) -> str:
    if found[0] in _JOINERS and _has_work(found.string, found.start()):
        return found[0]
    code = ord(found[0])
    if code < 0x20:
        return f"^{chr(code + 64)}"
    return "^?" if code == 0x7F else f"\\u{code:04x}"


def _has_work(text: str, at: int) -> bool:
    """Whether the joiner of TEXT at AT stands behind what can be joined or varied; elsewhere it serves to hide."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    return (before >= "\u0600" or before in ("©", "®") or after == "\u20e3") and not _MISLEADING.match(before)

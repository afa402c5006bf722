"""The claim under judgement and the context it is judged against."""

from __future__ import annotations

from attrs import field, frozen

from neuron_council.evidence.text import clean

MAX_CLAIM = 8_000
"""Characters of a claim at most."""
MAX_CONTEXT = 24_000
"""Characters of a context at most."""
QUOTABLE = 24
"""Characters, outer white space aside, from which on a context has something to quote."""


def _cleaned(context: str | None) -> str:
    return clean(context or "")


@frozen
class ContextPack:
    """A claim with its context, which is empty where none was given. Unreadable characters are replaced on entry."""

    claim: str = field(converter=clean)
    context: str = field(default="", converter=_cleaned)

    @property
    def has_context(self) -> bool:
        """Whether there is any context to ground the claim in."""
        return bool(self.context.strip())

    @property
    def is_quotable(self) -> bool:
        """Whether the context is long enough for a challenge to quote from."""
        return len(self.context.strip()) >= QUOTABLE

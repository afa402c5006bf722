"""The seam between the debate and whatever runs a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from attrs import frozen

from neuron_council.evidence.failure import Err, Failure, FailureKind, Ok


@frozen
class Prompt:
    """One question to a model: a static system text first, then a user text, and the JSON schema of the answer.

    `max_tokens` bounds the answer. `wants_odds` asks for token probabilities where the backend has them.
    """

    system: str
    user: str
    schema: Mapping[str, Any]
    max_tokens: int
    wants_odds: bool = False


@frozen
class Token:
    """One generated token with its natural-log probability and the alternatives at its place."""

    text: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()

    @property
    def place(self) -> tuple[str, dict[str, float]]:
        """The token and the log probabilities of all that could have stood in its place."""
        return self.text, {self.text: self.logprob, **dict(self.alternatives)}


@frozen
class Reply:
    """What a model answered: its text as it came, and its tokens where the backend tells them."""

    text: str
    tokens: tuple[Token, ...] = ()


@frozen
class BackendState:
    """What is known of a backend; None is unknown."""

    url: str
    reachable: bool | None
    version: str | None


@frozen
class ModelState:
    """What is known of a model at its backend; None is unknown. `digest` names its weights."""

    installed: bool | None
    loaded: bool | None
    digest: str | None = None


class Adapter(Protocol):
    """One member's line to its model. Its methods return failures and never raise (but for cancellation)."""

    async def resident(self, wait_s: float) -> Failure | None:
        """Have the model resident, waiting WAIT_S seconds at most.

        None once it is, else the failure: `not-loaded` after the wait, `unreachable`, `model-not-found`,
        `unauthorized`. A load that has begun goes on when the wait ends.
        """

    async def run(self, prompt: Prompt) -> Ok[Reply] | Err:
        """The model's reply to PROMPT. The caller bounds the time and cancels; a cancelled call stops the model."""

    async def state(self) -> ModelState:
        """What the backend says of the model now; never loads it and never waits for it (one second at most)."""

    @property
    def digest(self) -> str | None:
        """What names the model's weights, as far as is known without asking."""

    async def identify(self) -> str | None:
        """What names the model's weights; the backend is asked where that is not known of the last minute."""


class Backend(Protocol):
    """A place where models run, shared by its members."""

    async def warm_up(self) -> None:
        """Load the models of all members, one at a time. Returns when each is resident or has failed."""

    async def state(self) -> BackendState:
        """Whether the backend answers, and its version; within one second."""

    async def close(self) -> None:
        """Give up connections and stop what runs in the background."""


def is_there(failure: Failure) -> bool | None:
    """What FAILURE of a question about a backend says of its being there; None where it does not tell."""
    if failure.kind is FailureKind.TIMEOUT:
        return None
    return failure.kind is not FailureKind.UNREACHABLE


def tokens(logprobs: object) -> tuple[Token, ...]:
    """The tokens of LOGPROBS as Ollama and the OpenAI dialect both write them; none where any has another shape."""
    entries = logprobs if isinstance(logprobs, list) else []
    try:
        return tuple(
            Token(
                str(entry["token"]),
                float(entry["logprob"]),
                tuple((str(other["token"]), float(other["logprob"])) for other in entry.get("top_logprobs") or ()),
            )
            for entry in entries
        )
    except (TypeError, ValueError, KeyError, AttributeError):
        return ()

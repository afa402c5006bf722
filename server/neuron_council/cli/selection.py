"""Which of the installed models make a board: three that err differently, and that fit into memory together. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from attrs import frozen

SEATS = 3
MEMORY_SHARE = 0.7
"""Share of the machine's memory that three models may take; windows and everything else need the rest."""
LARGE = 12 * 10**9
"""Bytes of a model above which a vote within ten seconds is not to be counted on without a strong graphics card."""
MOST = 60
"""Models that are looked at, the smallest ones: every trio of them is weighed."""

_EMBEDDERS = re.compile(r"bert|embed|rerank|minilm|\bbge\b", re.IGNORECASE)
_MAKER = re.compile(r"[a-z]+(?:-[a-z]+)*")
_ID = re.compile(r"[^\w.-]+")

SUGGESTIONS = (
    ("llama", "llama3.1:8b"),
    ("qwen", "qwen2.5:7b"),
    ("gemma", "gemma2:9b"),
    ("phi", "phi4:14b"),
    ("llama", "dolphin3:8b"),
)
"""Families with a model of Ollama's library that can judge, for who has too few."""


@frozen
class Candidate:
    """An installed model that may judge. `family` is its maker's line without the version, `size` is in bytes."""

    name: str
    family: str
    size: int
    digest: str


@frozen
class Choice:
    """Three models, the contrarian last."""

    models: tuple[Candidate, ...]

    @property
    def families(self) -> int:
        """How many different ones there are."""
        return len({model.family for model in self.models})

    @property
    def size(self) -> int:
        """Bytes that all of them take."""
        return sum(model.size for model in self.models)


def candidates(rows: Iterable[Mapping[str, Any]]) -> list[Candidate]:
    """The models of ROWS, as `/api/tags` has them, that chat on this machine; the same weights once.

    A row without capabilities, as older servers send it, is judged by its names.
    """
    found: dict[str, Candidate] = {}
    for row in rows:
        name, details, size = row.get("name"), row.get("details"), row.get("size")
        if not isinstance(name, str) or not name or not name.isprintable() or not _chats(row):
            continue
        family = details.get("family") if isinstance(details, Mapping) else None
        digest = row.get("digest") if isinstance(row.get("digest"), str) else name
        model = Candidate(name, maker(family), size if type(size) is int and size > 0 else 0, digest or name)
        kept = found.setdefault(model.digest, model)
        if len(model.name) < len(kept.name):
            found[model.digest] = model
    return list(found.values())


def choose(models: Sequence[Candidate], memory: int | None) -> Choice | None:
    """Three of MODELS, or None where there are fewer. MEMORY is the machine's in bytes, None where it is unknown.

    First they should fit into memory together, then be of as many families as can be, then none too large to answer in
    time; among such trios the one with the most weights judges best.
    """
    few = sorted(models, key=lambda model: (model.size, model.name))[:MOST]
    trios = [Choice(trio) for trio in combinations(few, SEATS)]
    if not trios:
        return None

    def merit(trio: Choice) -> tuple[bool, int, int, int]:
        fits = memory is None or trio.size <= MEMORY_SHARE * memory
        return fits, trio.families, -sum(model.size > LARGE for model in trio.models), trio.size if fits else -trio.size

    return _seated(max(trios, key=merit))


def suggestions(models: Sequence[Candidate]) -> list[str]:
    """Models to install beside MODELS, so that there are three, of other families first."""
    families, names = {model.family for model in models}, {model.name for model in models}
    wanted = sorted((each for each in SUGGESTIONS if each[1] not in names), key=lambda each: each[0] in families)
    return [name for _, name in wanted][: max(SEATS - len(models), 1)]


def ids(choice: Choice) -> list[str]:
    """An id for each model, by its name."""
    taken: list[str] = []
    for model in choice.models:
        stem = _ID.sub("-", model.name.rpartition("/")[2].partition(":")[0]).strip("-.")[:48] or "model"
        if stem in taken:
            stem = next(f"{stem}-{number}" for number in range(2, SEATS + 2) if f"{stem}-{number}" not in taken)
        taken.append(stem)
    return taken


def maker(family: object) -> str:
    """FAMILY, such as qwen3moe, without version and build: models of one maker err alike. Empty where it is unknown."""
    found = _MAKER.match(family.casefold()) if isinstance(family, str) else None
    return found[0].replace("-", "").removesuffix("moe") if found else ""


def _seated(trio: Choice) -> Choice:
    """The contrarian last: of a family that no other has, a dolphin if there is one, as in the default board, else the
    largest, since its task is the hardest.
    """

    def fitness(model: Candidate) -> tuple[bool, bool, int]:
        others = [other.family for other in trio.models if other is not model]
        return model.family not in others, "dolphin" in model.name.casefold(), model.size

    contrarian = max(trio.models, key=fitness)
    return Choice((*(model for model in trio.models if model is not contrarian), contrarian))


def _chats(row: Mapping[str, Any]) -> bool:
    """Whether the model of ROW answers questions, and on this machine."""
    name = str(row.get("name")).casefold()
    if row.get("remote_host") or row.get("remote_model") or name.endswith((":cloud", "-cloud")):
        return False
    capabilities = row.get("capabilities")
    if isinstance(capabilities, list) and capabilities:
        return "completion" in capabilities
    details = row.get("details")
    families = [details.get("family")] if isinstance(details, Mapping) else []
    return not any(_EMBEDDERS.search(str(text)) for text in (name, *families))

"""Evidence and decisions as JSON, and back."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from attrs import frozen
from cattrs.preconf.json import make_converter

from neuron_council.evidence.debate import DebateResult
from neuron_council.evidence.pack import ContextPack
from neuron_council.evidence.report import VerificationReport
from neuron_council.evidence.text import clean
from neuron_council.evidence.verdict import Outcome

_CONVERTER = make_converter()


@frozen
class Decision:
    """What the checker said at the time."""

    report: VerificationReport
    outcome: Outcome


def dump_evidence(debate: DebateResult) -> str:
    """DEBATE as JSON."""
    return _dumps(_CONVERTER.unstructure(debate))


def load_evidence(text: str) -> DebateResult:
    """The debate of this JSON. Raises ValueError where it is none."""
    debate: DebateResult = _load(text, DebateResult)
    return debate


def dump_decision(decision: Decision) -> str:
    """DECISION as JSON."""
    return _dumps(_CONVERTER.unstructure(decision))


def load_decision(text: str) -> Decision:
    """The decision of this JSON. Raises ValueError where it is none."""
    decision: Decision = _load(text, Decision)
    return decision


def pack_key(pack: ContextPack) -> str:
    """The same for the same claim and context."""
    return digest([pack.claim, pack.context])


def digest(value: Any) -> str:
    """A SHA-256 of VALUE, which JSON can carry; the order of keys does not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode(errors="replace")).hexdigest()


def _load(text: str, kind: type[Any]) -> Any:
    try:
        return _CONVERTER.structure(json.loads(text), kind)
    except Exception as error:
        # cattrs raises groups of whatever went wrong in a field.
        raise ValueError(f"the ledger's JSON is no {kind.__name__}: {type(error).__name__}") from error


def _dumps(value: Any) -> str:
    return clean(json.dumps(value, ensure_ascii=False, separators=(",", ":")))

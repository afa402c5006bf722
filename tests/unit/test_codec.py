"""Evidence and decisions as JSON: its fixed form, and what is no such JSON."""

from __future__ import annotations

import json

import pytest

from neuron_council.evidence.pack import ContextPack
from neuron_council.ledger import codec
from neuron_council.ledger.codec import Decision
from verdicts import judged, unavailable

VERDICT = judged("Tea is a drink.", "The notes say that tea is a drink of Asia.", votes="ppc", said="“Tea” — 茶.")


def test_the_form_of_evidence_is_readable_without_this_program() -> None:
    evidence = json.loads(codec.dump_evidence(VERDICT.debate))
    assert set(evidence) == {"members", "loops", "max_loops", "cut", "lost"}
    vote = evidence["loops"][0]["votes"][2]
    assert vote == {
        "member": {"id": "dolphin", "model": "dolphin3:8b", "role": "contrarian"},
        "label": "confabulation",
        "axes": {"coherent": 1, "factual": 1, "grounded": None},
        "confidence": 0.9,
        "rationale": "“Tea” — 茶.",
        "probabilities": {"plausible": 0.8, "uncertain": 0.15, "confabulation": 0.05},
        "failure": None,
        "began_ms": 3.25,
        "ended_ms": 700.5,
    }
    failure = json.loads(codec.dump_evidence(unavailable("Tea is.").debate))["loops"][0]["votes"][0]["failure"]
    assert failure["kind"] == "unreachable"
    decision = json.loads(codec.dump_decision(Decision(VERDICT.report, VERDICT.outcome)))
    assert decision["outcome"]["tags"] == ["council-split"]
    assert decision["report"]["lenses"][0]["findings"][0]["oracle"] == "contrarian-last"


def test_text_stands_as_it_is() -> None:
    """So that a search for bytes finds it, and a file stays small."""
    assert "“Tea” — 茶." in codec.dump_evidence(VERDICT.debate)


def without(path: str) -> str:
    """The evidence without the field at PATH."""
    evidence = json.loads(codec.dump_evidence(VERDICT.debate))
    *way, last = path.split(".")
    place = evidence
    for step in way:
        place = place[int(step) if step.isdigit() else step]
    del place[last]
    return json.dumps(evidence)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "{}",
        "7",
        '"members"',
        "[" * 100_000,
        without("members"),
        without("loops.0.votes.1.label"),
        codec.dump_evidence(VERDICT.debate).replace('"plausible"', '"probable"'),
        codec.dump_evidence(VERDICT.debate).replace('"contrarian"', '"king"'),
        codec.dump_evidence(unavailable("Tea is.").debate).replace("unreachable", "unknown-kind"),
        codec.dump_evidence(VERDICT.debate)[:-100],
    ],
)
def test_what_is_no_evidence_is_one_kind_of_error(text: str) -> None:
    for load in (codec.load_evidence, codec.load_decision):
        with pytest.raises(ValueError, match=r"DebateResult|Decision"):
            load(text)


def test_the_error_quotes_nothing() -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - what it says is looked at below
        codec.load_evidence(codec.dump_evidence(VERDICT.debate).replace('"plausible"', '"Quokka"'))
    assert "Quokka" not in str(caught.value)


def test_the_key_of_a_pack() -> None:
    packs = [ContextPack("a"), ContextPack("b"), ContextPack("a", "b"), ContextPack("a b"), ContextPack("A")]
    assert len({codec.pack_key(pack) for pack in packs}) == len(packs)
    assert codec.pack_key(ContextPack("a", None)) == codec.pack_key(ContextPack("a", ""))
    assert codec.pack_key(ContextPack("x\ud83d", "\x00")) == codec.pack_key(ContextPack("x\ufffd", "\ufffd"))


def test_a_digest_heeds_values_and_not_the_order_of_keys() -> None:
    assert codec.digest({"a": 1, "b": [2]}) == codec.digest({"b": [2], "a": 1})
    assert codec.digest({"a": 1}) != codec.digest({"a": "1"})
    assert codec.digest([["a"], "b"]) != codec.digest(["a", ["b"]])
    assert len(codec.digest("lone \ud83d surrogate")) == 64

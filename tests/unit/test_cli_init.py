"""`neuron-council init`: three of the installed models, and why these."""

import json
import os
import tomllib

import pytest

from neuron_council import config
from neuron_council.cli import init
from neuron_council.cli.selection import Candidate, candidates, choose, ids, maker, suggestions
from neuron_council.evidence.failure import Failure, FailureKind
from support import refusing_url

GB = 10**9


def row(name, family="llama", size=5 * GB, **fields):
    return {"name": name, "size": size, "digest": f"digest of {name}", "details": {"family": family}, **fields}


def model(name, family="llama", size=5.0):
    return Candidate(name, family, int(size * GB), f"digest of {name}")


def names(choice):
    return [each.name for each in choice.models]


def test_models_that_cannot_judge_here_are_passed_over():
    rows = [
        row("good:1b", capabilities=["completion", "tools"]),
        row("old:1b"),
        row("embeds:1b", capabilities=["embedding"]),
        row("decides:1b", capabilities=["decision"]),
        row("nomic-embed-text:latest", "nomic-bert"),
        row("e5:latest", "bert"),
        row("far:latest", remote_host="https://ollama.com:443"),
        row("away:latest", remote_model="away"),
        row("big:cloud"),
        row("big:120b-cloud", capabilities=["completion"]),
        row("odd\nname"),
        {"size": 5},
        {"name": "bare:latest", "details": None, "size": "large", "digest": None},
    ]
    assert [each.name for each in candidates(rows)] == ["good:1b", "old:1b", "bare:latest"]


def test_the_same_weights_are_one_model():
    twice = [row("a-longer-name:latest", digest="x"), row("name:latest", digest="x"), row("other:latest")]
    assert [each.name for each in candidates(twice)] == ["name:latest", "other:latest"]


@pytest.mark.parametrize(
    ("family", "line"),
    [("qwen2", "qwen"), ("qwen3moe", "qwen"), ("qwen25vl", "qwen"), ("gpt-oss", "gptoss"), ("gptoss", "gptoss"),
     ("granitemoe", "granite"), ("Llama", "llama"), ("", ""), (None, ""), (7, "")],
)  # fmt: skip
def test_a_family_is_its_makers(family, line):
    assert maker(family) == line


def test_three_families_before_more_weights():
    few = [model("l1", size=8), model("l2", size=8), model("q", "qwen", 2), model("g", "gemma", 3)]
    choice = choose(few, None)
    assert choice.families == 3
    assert {"q", "g"} < set(names(choice))
    assert names(choice)[-1] in ("l1", "l2")  # the largest is the contrarian


def test_the_largest_that_fit_into_memory():
    many = [model(f"{family}{size}", family, size) for family in ("llama", "qwen", "gemma") for size in (2, 8, 11)]
    assert sorted(names(choose(many, None))) == ["gemma11", "llama11", "qwen11"]
    assert choose(many, 32 * GB).size == 21 * GB
    assert choose(many, 32 * GB).families == 3
    assert sorted(names(choose(many, 9 * GB))) == ["gemma2", "llama2", "qwen2"]
    assert sorted(names(choose(many, 1 * GB))) == ["gemma2", "llama2", "qwen2"]


def test_too_large_to_answer_in_time():
    many = [model("l70", size=40), model("l8", size=5), model("q", "qwen"), model("g", "gemma")]
    assert "l70" not in names(choose(many, None))
    assert "l70" in names(choose(many[:1] + many[2:], None))


def test_the_contrarian_is_of_another_family():
    choice = choose([model("l1", size=9), model("l2", size=9), model("q", "qwen", 1)], None)
    assert names(choice)[-1] == "q"
    assert choice.families == 2


def test_a_dolphin_is_the_contrarian():
    assert (
        names(choose([model("dolphin3:8b"), model("q", "qwen", 9), model("g", "gemma", 9)], None))[-1] == "dolphin3:8b"
    )


def test_the_order_of_the_listing_does_not_matter():
    many = [model(f"{family}{n}", family) for family in ("llama", "qwen", "gemma", "phi") for n in range(4)]
    assert choose(many, None) == choose(many[::-1], None)
    assert len(choose([model(f"m{n}", f"f{n % 9}") for n in range(200)], None).models) == 3


def test_fewer_than_three():
    assert choose([model("a"), model("b")], None) is None
    assert suggestions([]) == ["llama3.1:8b", "qwen2.5:7b", "gemma2:9b"]
    assert suggestions([model("x"), model("y")]) == ["qwen2.5:7b"]
    assert suggestions([model("qwen2.5:7b", "qwen"), model("y", "gemma")]) == ["llama3.1:8b"]


def test_ids_are_unique_and_allowed():
    choice = choose([model("me/A b:1"), model("you/A b:2"), model("語/:x", "qwen")], None)
    assert sorted(ids(choice)) == ["A-b", "A-b-2", "model"]


@pytest.fixture
def ollama(shell, stub):
    """Sets what is installed."""
    shell.monkeypatch.setenv("OLLAMA_HOST", stub.url)

    def install(*rows):
        stub.script(installed=[each["name"] for each in rows], routes={"/api/tags": {"models": list(rows)}})

    return install


THREE = (
    row("llama3.1:8b", size=1 * GB, capabilities=["completion"]),
    row("qwen2.5:7b", "qwen2", 1 * GB, capabilities=["completion"]),
    row("gemma2:2b", "gemma2", GB // 2, capabilities=["completion"]),
)


def test_the_file_is_a_configuration(shell, stub, ollama):
    ollama(*THREE, row("nomic-embed-text:latest", "nomic-bert", capabilities=["embedding"]))
    umask = os.umask(0)
    said = shell("init")
    os.umask(umask)
    path = shell.home / "council.toml"
    assert (said.code, said.err) == (0, "")
    assert path.stat().st_mode & 0o777 == 0o600
    assert shell.home.stat().st_mode & 0o777 == 0o700
    settings = config.load(shell.home, {})
    assert {spec.model for spec in settings.members} == {"llama3.1:8b", "qwen2.5:7b", "gemma2:2b"}
    assert settings.members[-1].role == "contrarian"
    assert settings.connections.ollama_url == stub.url
    for text in ("Of 4 installed models 3 can judge", "family qwen", "contrarian", "Three families", str(path)):
        assert text in said.out
    assert [each.name for each in shell.home.iterdir()] == ["council.toml"]
    assert not stub.calls("/api/chat")
    checks = json.loads(shell("doctor", "--json").out)["checks"]
    assert not [each for each in checks if each["area"] != "program" and "is not installed" in each["says"]]


def test_an_older_server_is_asked_for_each_model(shell, stub):
    shell.monkeypatch.setenv("OLLAMA_HOST", stub.url)
    stub.script(
        installed=["a:1", "b:1", "c:1", "d:1", "e:1"],
        models={"d:1": {"capabilities": ["embedding"]}, "e:1": {"remote_host": "https://ollama.com"}},
    )
    assert shell("init").code == 0
    assert {spec.model for spec in config.load(shell.home, {}).members} == {"a:1", "b:1", "c:1"}


def test_a_file_is_not_overwritten(shell, ollama):
    ollama(*THREE)
    shell.home.mkdir()
    path = shell.home / "council.toml"
    path.write_text("# my own\n")
    said = shell("init")
    assert (said.code, said.out) == (1, "")
    assert "--force" in said.err
    assert path.read_text() == "# my own\n"
    for number in (1, 2):
        assert shell("init", "--force").code == 0
        assert tomllib.loads(path.read_text())["member"]
        assert (shell.home / "council.toml.old").read_text() == "# my own\n"
        assert (shell.home / "council.toml.old-2").exists() == (number == 2)


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_that_is_kept_is_its_owner_s_alone(shell, ollama, is_link):
    """But what a link leads to, in a folder of the user's own, keeps its mode."""
    ollama(*THREE)
    shell.home.mkdir()
    path = shell.home / "council.toml"
    written = shell.home.parent / "mine.toml" if is_link else path
    written.touch()
    written.chmod(0o644)
    if is_link:
        path.symlink_to(written)
    assert shell("init", "--force").code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    kept = shell.home / "council.toml.old"
    assert kept.is_symlink() == is_link
    assert kept.stat().st_mode & 0o777 == (0o644 if is_link else 0o600)


def test_a_folder_in_the_place_of_the_file_is_kept_as_it_is(shell, ollama):
    ollama(*THREE)
    (shell.home / "council.toml").mkdir(parents=True)
    (shell.home / "council.toml" / "mine").touch()
    assert shell("init", "--force").code == 0
    assert (shell.home / "council.toml.old" / "mine").exists()
    assert (shell.home / "council.toml.old").stat().st_mode & 0o111


def test_too_few_models_say_what_to_install(shell, ollama):
    ollama(*THREE[:2])
    said = shell("init")
    assert (said.code, said.out) == (1, "")
    assert "ollama pull gemma2:9b" in said.err
    assert said.err.count("\n") == 1
    assert not shell.home.exists()


def test_one_family_is_said(shell, ollama):
    ollama(*(row(f"l{number}:8b", size=GB, capabilities=["completion"]) for number in range(3)))
    said = shell("init")
    assert said.code == 0
    assert "one family" in said.out
    assert "ollama pull qwen2.5:7b" in said.out


def test_no_ollama(shell):
    said = shell("init", "--base-url", refusing_url())
    assert (said.code, said.out) == (4, "")
    assert said.err.startswith("neuron-council: no Ollama answers at http://127.0.0.1:")
    for step in ("`ollama serve`, then run neuron-council init again", "init --base-url URL", "council.toml by hand"):
        assert step in said.err
    assert shell("init", "--base-url", "ftp://x").code == 2


def test_what_answers_and_does_not_tell_its_models(shell):
    async def refused(url, environ):  # noqa: ARG001 - as it is called
        return Failure(FailureKind.UNAUTHORIZED, f"{url} wants another key.")

    shell.monkeypatch.setattr(init, "_installed", refused)
    said = shell("init", "--base-url", "http://127.0.0.1:9")
    assert (said.code, said.out) == (4, "")
    assert said.err.startswith("neuron-council: http://127.0.0.1:9 wants another key. Where it is elsewhere: ")


def test_odd_listings(shell, stub):
    shell.monkeypatch.setenv("OLLAMA_HOST", stub.url)
    for listing in ({}, {"models": None}, {"models": [None, 3, {"name": 5}]}):
        stub.script(routes={"/api/tags": listing})
        assert shell("init").code == 1


def test_a_home_that_cannot_be_written(shell, ollama):
    ollama(*THREE)
    shell.home.write_text("a file")
    said = shell("init")
    assert said.code == 5
    assert str(shell.home) in said.err

"""The server in a text editor: what is offered, what is shown where, and when it goes."""

import asyncio
import json
import logging
import time

import pytest
from attrs import evolve

from fake_council import VOTES, verdict
from neuron_council.evidence.pack import ContextPack
from neuron_council.rpc import editor as editors
from neuron_council.rpc.client import Client, client
from protocol_bench import Bench

URI = "file:///notes.txt"
TEXT = "Notes.\n\nTea is a drink. 😀 wait for it, please.\nQuokka.\n"
CAPABILITIES = {
    "textDocument": {
        "hover": {"contentFormat": ["plaintext", "markdown"]},
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}},
    },
    "window": {"workDoneProgress": True},
}
SILENT = {**CAPABILITIES, "window": {}}
PUBLISH, CREATE, SHOW = "textDocument/publishDiagnostics", "window/workDoneProgress/create", "window/showMessage"


def at(line, character, end_line=None, end=None):
    """A range, empty where only its start is given."""
    start = {"line": line, "character": character}
    return {"start": start, "end": start if end is None else {"line": end_line, "character": end}}


TEA = at(2, 0, 2, 15)
WAIT = at(2, 19, 2, 39)


class Editing(Bench):
    """An editor that has opened TEXT."""

    ids = 100

    async def open(self, capabilities=CAPABILITIES, text=TEXT, version=1):
        self.send("init", "initialize", {"capabilities": capabilities})
        self.announced = self.sink.pop()["result"]["capabilities"]
        self.tell("didOpen", {"textDocument": {"uri": URI, "languageId": "text", "version": version, "text": text}})
        await self.settled()
        assert self.sink == []
        return self

    def tell(self, method, params):
        self.send(None, f"textDocument/{method}", params)

    def edit(self, *changes, version=2):
        made = [{"text": text} if place is None else {"range": place, "text": text} for place, text in changes]
        self.tell("didChange", {"textDocument": {"uri": URI, "version": version}, "contentChanges": made})

    def ask(self, method, params):
        """The reply, which comes at once."""
        self.ids += 1
        self.send(self.ids, method, params)
        (reply,) = [each for each in self.sink if each.get("id") == self.ids and "method" not in each]
        self.sink.remove(reply)
        return reply

    def actions(self, place, uri=URI, **context):
        context = {"diagnostics": [], **context}
        params = {"textDocument": {"uri": uri}, "range": place, "context": context}
        return self.ask("textDocument/codeAction", params)["result"]

    def hover(self, line, character, uri=URI):
        position = {"line": line, "character": character}
        return self.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": position})["result"]

    def run(self, argument, command="neuron-council.verify"):
        params = {"command": command, "arguments": [argument]}
        reply = self.ask("workspace/executeCommand", params)
        assert reply["result"] is None

    async def verify(self, place=TEA, **more):
        """Have PLACE judged, the client taking the token."""
        self.run({"uri": URI, "range": place, "version": 1, **more})
        await self.settled()
        for asked in self.take(CREATE):
            self.protocol.dispatch(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": None}).encode())
        return await self.settled()

    def take(self, method):
        """What was sent of METHOD, taken off the sink."""
        found = [each for each in self.sink if each.get("method") == method]
        self.sink[:] = [each for each in self.sink if each.get("method") != method]
        return found

    def shown(self):
        """The ranges of the diagnostics that were published last, None where none were."""
        published = self.take(PUBLISH)
        return [each["range"] for each in published[-1]["params"]["diagnostics"]] if published else None

    def said(self):
        return [each["params"]["message"] for each in self.take(SHOW)]

    def progress(self):
        return [each["params"]["value"]["kind"] for each in self.take("$/progress")]


@pytest.fixture
async def new():
    bench = Editing()
    yield bench
    await bench.server.close()


@pytest.fixture
async def editor(new):
    return await new.open()


@pytest.fixture
async def quick(editor, monkeypatch):
    monkeypatch.setattr(editors, "QUIET_S", 0)
    return editor


# What is announced


async def test_an_editor_is_offered_what_editors_use_and_others_are_not(new):
    new.send(1, "initialize", {"capabilities": {"window": {"workDoneProgress": True}}})
    assert list(new.sink.pop()["result"]["capabilities"]) == ["experimental"]
    for ident, method in enumerate(editors.FEATURES):
        new.send(ident, method, {})
    await new.settled()
    assert new.codes() == [(0, -32601), (1, -32601), (2, -32601)]


async def test_what_is_announced_is_served(editor):
    announced = dict(editor.announced)
    assert announced.pop("experimental")["neuronCouncil"]["protocol"] == 1
    assert announced == {
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": True, "change": 2},
        "codeActionProvider": {"codeActionKinds": list(editors.KINDS)},
        "executeCommandProvider": {"commands": ["neuron-council.verify", "neuron-council.clear"]},
        "hoverProvider": True,
    }
    for command in announced["executeCommandProvider"]["commands"]:
        reply = editor.ask("workspace/executeCommand", {"command": command, "arguments": [{"uri": URI, "range": TEA}]})
        assert reply["result"] is None


@pytest.mark.parametrize(("capabilities", "expected"), [
    (None, Client()),
    ([], Client()),
    ({"textDocument": {}}, Client()),
    ({"textDocument": "yes", "window": [], "general": {"positionEncodings": "utf-8"}}, Client()),
    ({"textDocument": {"hover": {"contentFormat": "markdown"}}}, Client(is_editor=True, knows_council=False)),
    ({"textDocument": {"hover": {"contentFormat": ["markdown", "plaintext"]}},
      "general": {"positionEncodings": [7, "utf-7", "utf-32", "utf-16"]}},
     Client(is_editor=True, knows_council=False, reads_markdown=True, encoding="utf-32")),
    ({"textDocument": {"publishDiagnostics": {"versionSupport": True}}, "experimental": {"neuronCouncil": {}}},
     Client(is_editor=True, knows_council=False, takes_versions=True)),
    ({"textDocument": {"codeAction": {"codeActionLiteralSupport": {}}}, "experimental": {"neuronCouncil": True},
      "window": {"workDoneProgress": True}},
     Client(is_editor=True, takes_code_actions=True, shows_progress=True)),
])  # fmt: skip
def test_what_a_client_says_of_itself(capabilities, expected):
    assert client(capabilities) == expected


# Code actions


async def test_a_selection_is_offered_to_the_council(editor):
    first, second = editor.actions(at(2, 0, 2, 16), triggerKind=2)
    argument = {"uri": URI, "range": TEA, "version": 1}  # without the blank
    assert first == {
        "title": "Verify with the council",
        "kind": "neuron-council.verify",
        "command": {"title": "Verify with the council", "command": "neuron-council.verify", "arguments": [argument]},
    }
    assert second["kind"] == "neuron-council.verify-against-document"
    assert second["command"]["arguments"] == [{**argument, "against_document": True}]


async def test_no_action_without_text_or_document(editor):
    assert editor.actions(at(0, 6, 2, 0)) == []
    assert editor.actions(TEA, uri="file:///other.txt") == []


@pytest.mark.parametrize(("only", "titles"), [
    (["neuron-council"], 2), (["neuron-council.verify"], 1), ([""], 2), (["quickfix"], 0), (["neuron"], 0), ([], 0),
    (["source", "neuron-council.verify-against-document"], 1), (None, 2),
])  # fmt: skip
async def test_only_the_kinds_that_are_asked_for(editor, only, titles):
    assert len(editor.actions(TEA, only=only)) == titles


async def test_a_client_that_knows_commands_alone_gets_commands(new):
    bench = await new.open({"textDocument": {"codeAction": {}}})
    first, _ = bench.actions(TEA)
    assert list(first) == ["title", "command", "arguments"]
    assert first["title"] == "Verify with the council"


async def test_the_sentence_at_the_cursor_when_the_user_asks(editor):
    assert editor.actions(at(2, 4), triggerKind=2) == []
    first, *_ = editor.actions(at(2, 4), triggerKind=1)
    assert first["title"] == "Verify this sentence with the council"
    assert first["command"]["arguments"][0]["range"] == TEA
    assert editor.actions(at(1, 0)) == []


@pytest.mark.parametrize(("text", "line", "character", "sentence"), [
    ("One. Two three. Four.", 0, 7, "Two three."),
    ("One. Two three. Four.", 0, 0, "One."),
    ("One. Two three. Four.", 0, 21, "Four."),
    ("It is 3.14 or e.g.so. Next", 0, 2, "It is 3.14 or e.g.so."),
    ("Wrapped over\ntwo lines. Other.", 1, 1, "Wrapped over\ntwo lines."),
    ("- first item\n- second item\n  goes on\n- third", 2, 4, "second item\n  goes on"),
    ("1. One\n2. Two", 1, 5, "Two"),
    ("1. One\n2. Two", 1, 1, "Two"),
    ("# Heading\n\nText", 0, 3, "Heading"),
    ("// a comment", 0, 5, "a comment"),
    ('He said "so." Then.', 0, 3, 'He said "so."'),
    ("茶は飲み物。水も。", 0, 7, "水も。"),
    ("😀 Tea is a drink.", 0, 5, "😀 Tea is a drink."),
    ("...", 0, 1, None),
    ("x" * 8001, 0, 1, None),
    ("", 0, 0, None),
])  # fmt: skip
async def test_where_a_sentence_is(new, text, line, character, sentence):
    bench = await new.open({**CAPABILITIES, "general": {"positionEncodings": ["utf-32"]}}, text)
    actions = bench.actions(at(line, character))
    if sentence is None:
        assert actions == []
        return
    bench.run(actions[0]["command"]["arguments"][0])
    await bench.settled()
    bench.protocol.dispatch(b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}')
    await bench.settled()
    (place,) = bench.shown()
    lines = text.split("\n")
    start, end = place["start"], place["end"]
    picked = "\n".join(lines[start["line"] : end["line"] + 1])[start["character"] :]
    assert picked.startswith(sentence)
    last = sentence.rsplit("\n", 1)[-1]
    assert end["character"] == (start["character"] if "\n" not in sentence else 0) + len(last)


@pytest.mark.parametrize(
    "text", ["." * 100_000 + "a", ".)" * 50_000 + "a", " " * 200_000 + "a", "1. " * 50_000, ">" * 200_000]
)
async def test_no_line_holds_the_server_up(new, text):
    bench = await new.open(text=text)
    begun = time.process_time()
    bench.actions(at(0, len(text) - 1))
    assert time.process_time() - begun < 1  # a look that begins again at every mark takes minutes


# Judging


async def test_the_verdict_is_a_diagnostic_and_its_votes_are_progress(editor):
    await editor.verify()
    assert editor.progress() == ["begin", "report", "report", "report", "end"]
    (published,) = editor.take(PUBLISH)
    assert published["params"] == {
        "uri": URI,
        "diagnostics": [
            {
                "range": TEA,
                "source": "neuron-council",
                "severity": 3,
                "code": "council-split",
                "message": "2/3 council members agree this is plausible. (0.65 council-split)",
                "data": {"id": "550e8400-e29b-41d4-a716-446655440000"},
            }
        ],
    }
    assert editor.sink == []


async def test_the_claim_is_the_trimmed_text_and_its_context_nothing_or_the_rest(editor):
    await editor.verify(at(2, 18, 2, 39))
    await editor.verify(WAIT, against_document=True, fresh=True)
    plain, against = editor.council.calls[-1:], editor.council.calls
    assert len(plain) == 1  # the second took the place of the first, which was stopped
    assert against[0]["pack"] == ContextPack("wait for it, please.", TEXT.replace("wait for it, please.", ""))
    assert against[0]["fresh"] is True


@pytest.mark.parametrize("answer", [{"error": {"code": -32601, "message": "no"}}, {"result": None}, None])
async def test_a_client_without_a_token_is_told_no_progress(editor, monkeypatch, answer):
    monkeypatch.setattr(editors, "CREATE_S", 0.02)
    editor.run({"uri": URI, "range": TEA})
    await editor.settled()
    (asked,) = editor.take(CREATE)
    if answer is not None:
        reply = {"jsonrpc": "2.0", "id": asked["id"], **answer}
        editor.protocol.dispatch(json.dumps(reply).encode())
        editor.protocol.dispatch(json.dumps(reply).encode())
    async with asyncio.timeout(5):
        while (shown := editor.shown()) is None:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.005)
    assert shown == [TEA]
    assert bool(editor.progress()) == (answer == {"result": None})
    assert editor.protocol._asked == {}


async def test_without_progress_the_diagnostic_says_what_is_going_on(new):
    editor = await new.open(SILENT)
    editor.run({"uri": URI, "range": WAIT})
    await editor.settled()
    (published,) = editor.take(PUBLISH)
    (pending,) = published["params"]["diagnostics"]
    assert (pending["severity"], pending["message"]) == (4, "The council is judging this.")
    assert editor.hover(2, 20)["contents"]["value"] == "The council is judging this."
    editor.run({"uri": URI}, "neuron-council.clear")
    await editor.settled()
    assert editor.shown() == []
    assert editor.council.calls == []


@pytest.mark.parametrize(("argument", "said"), [
    ({"range": at(0, 6, 1, 0)}, "claim: must hold a letter or a digit"),
    ({"range": TEA, "version": 7}, "the text has changed since. Select it again."),
    ({"range": TEA, "uri": "file:///other.txt"}, "the document is not open."),
    ({"range": at(3, 0, 3, 9), "against_document": True},
     "context: must be at most 24,000 characters long, it has 32,048"),
    ({"range": at(4, 0, 9, 0)}, "claim: must be at most 8,000 characters long, it has 31,999"),
])  # fmt: skip
async def test_what_cannot_be_judged_is_said_to_the_person(editor, argument, said):
    editor.edit((at(4, 0), "long " * 6400), version=1)
    editor.run({"uri": URI, **argument})
    await editor.settled()
    assert editor.said() == [f"The council was not asked: {said}"]
    assert editor.sink == []


async def test_too_many_at_once_are_refused(editor, monkeypatch):
    monkeypatch.setattr(editors, "MOST_PENDING", 1)
    await editor.verify(WAIT)
    await editor.verify()
    assert editor.said() == ["The council was not asked: 1 claims are being judged. Wait for one of them."]


@pytest.mark.parametrize(("word", "said"), [("refuse", "The council is out to lunch."), ("crash", "internal error")])
async def test_what_goes_wrong_is_said_and_leaves_no_mark(editor, caplog, word, said):
    editor.edit((at(3, 0), f"{word} "), version=1)
    await editor.verify(at(3, 0, 3, 20))
    (told,) = editor.said()
    assert told.startswith(said)
    assert "Quokka" not in told + caplog.text
    assert editor.hover(3, 2) is None
    assert editor.shown() is None
    assert editor.progress() == ["begin", "end"]


@pytest.mark.parametrize("params", [
    {}, {"command": 7}, {"command": "x"}, {"command": "neuron-council.verify"},
    {"command": "neuron-council.verify", "arguments": 7},
    {"command": "neuron-council.verify", "arguments": [{}]}, {"command": "neuron-council.verify", "arguments": [7]},
    {"command": "neuron-council.verify", "arguments": [{"uri": URI, "range": TEA}, {}]}, [1], None,
    {"command": "neuron-council.clear", "arguments": [{"uri": [], "range": TEA}]},
])  # fmt: skip
async def test_a_command_at_fault_is_refused(editor, params):
    assert editor.ask("workspace/executeCommand", params)["error"]["code"] == -32602
    await editor.settled()
    assert editor.sink == []


@pytest.mark.parametrize(("place", "said"), [
    ({"line": -1, "character": 0}, "position.line: must be 0 or more"),
    ({"line": 1.5, "character": 0}, "position.line: must be a whole number"),
    ({"line": 1}, "position.character: is required"),
    (None, "position: is required"),
    ([1, 2], "position.line: is not valid"),
])  # fmt: skip
async def test_parameters_at_fault_are_named(editor, place, said):
    reply = editor.ask("textDocument/hover", {"textDocument": {"uri": URI}, "position": place})
    assert reply["error"] == {"code": -32602, "message": said}
    reply = editor.ask("textDocument/codeAction", {"textDocument": {"uri": URI}, "range": {"start": {}, "end": 7}})
    assert reply["error"] == {"code": -32602, "message": "range.start.line: is required"}


async def test_places_beyond_the_text_are_its_ends(editor):
    huge = 2**80
    assert editor.hover(huge, huge) is None
    (action, *_) = editor.actions(at(3, 0, huge, huge))
    assert action["command"]["arguments"][0]["range"] == at(3, 0, 3, 7)
    (action, *_) = editor.actions({"start": TEA["end"], "end": TEA["start"]})
    assert action["command"]["arguments"][0]["range"] == TEA


# Hovers


async def test_the_report_is_on_hover(editor):
    await editor.verify()
    hover = editor.hover(2, 15)
    assert hover["range"] == TEA
    assert hover["contents"]["kind"] == "plaintext"
    assert "neuron: plausible. It is." in hover["contents"]["value"]
    assert "ok  claim-is-data: No order." in hover["contents"]["value"]
    assert editor.hover(2, 16) is None
    assert editor.hover(2, 3, "file:///other.txt") is None


async def test_what_models_say_stays_in_its_fence(new, monkeypatch):
    hostile = "x ````` [a](command:b) <b> \u202e\x1b[2J\x00\ud83d" + "y" * 5000
    judged = verdict(ContextPack("Tea is a drink."), votes=(evolve(VOTES[0], rationale=hostile), *VOTES[1:]))

    async def play(*_):
        return judged

    formats = {"hover": {"contentFormat": ["markdown"]}, "codeAction": {}}
    editor = await new.open({**CAPABILITIES, "textDocument": formats})
    monkeypatch.setattr(editor.council, "_play", play)
    await editor.verify()
    contents = editor.hover(2, 0)["contents"]
    heading, fence, *rest, end = contents["value"].split("\n")[0:1] + contents["value"].split("\n")[2:]
    assert contents["kind"] == "markdown"
    assert heading == "**Neuron Council: emitted, confidence 0.65**"
    assert (fence, end) == ("``````text", "``````")
    (said,) = [line for line in rest if "x `````" in line]
    assert said.startswith("  neuron: plausible. x ````` [a](command:b) <b> \\u202e^[[2J^@\ufffdyyy")
    assert len(said) == 2000


@pytest.mark.parametrize(("tags", "severity", "code"), [
    (("verified",), 4, "verified"),
    (("council-split", "council-doubted"), 3, "council-split"),
    (("council-split", "council-parked"), 3, "council-parked"),
    (("unverified", "council-flagged", "council-parked"), 2, "council-flagged"),
    (("unverified", "council-flagged"), 2, "council-flagged"),
    (("council-unavailable",), 3, "council-unavailable"),
])  # fmt: skip
async def test_how_severe_a_verdict_is(editor, monkeypatch, tags, severity, code):
    judged = verdict(ContextPack("Tea is a drink."))

    async def play(*_):
        return evolve(judged, outcome=evolve(judged.outcome, tags=tags))

    monkeypatch.setattr(editor.council, "_play", play)
    await editor.verify()
    (published,) = editor.take(PUBLISH)
    (shown,) = published["params"]["diagnostics"]
    assert (shown["severity"], shown["code"]) == (severity, code)


async def test_what_was_said_against_the_claim_is_in_the_message(editor, monkeypatch):
    judged = verdict(ContextPack("Tea is a drink."))
    votes = (evolve(VOTES[0], label=VOTES[2].label, rationale="It is\nnot \u202eso. " + "x" * 300), *VOTES[1:])

    async def play(*_):
        return evolve(judged, debate=evolve(judged.debate, loops=(evolve(judged.debate.loops[0], votes=votes),)))

    monkeypatch.setattr(editor.council, "_play", play)
    await editor.verify()
    (published,) = editor.take(PUBLISH)
    first, second = published["params"]["diagnostics"][0]["message"].split("\n")
    assert first == "2/3 council members agree this is plausible. (0.65 council-split)"
    assert second.startswith("neuron: It is not \\u202eso. xxx")
    assert len(second) == 200


# Edits


async def test_an_edit_of_the_text_clears_its_verdict(quick):
    await quick.verify()
    assert quick.shown() == [TEA]
    quick.edit((at(2, 4, 2, 6), "was"))
    assert quick.shown() == []
    assert quick.hover(2, 2) is None


@pytest.mark.parametrize(("changes", "moved"), [
    ([(at(0, 0), "One\nTwo\n")], at(4, 0, 4, 15)),
    ([(at(2, 0), "😀 ")], at(2, 3, 2, 18)),
    ([(at(2, 15), " too")], TEA),
    ([(at(0, 0, 2, 0), "")], at(0, 0, 0, 15)),
    ([(at(3, 0, 9, 0), "")], TEA),
    ([(at(1, 0), "\n"), (at(3, 0), "a ")], at(3, 2, 3, 17)),
    ([(None, "New.\n" + TEXT)], at(3, 0, 3, 15)),
    ([(TEA, "Tea is a drink.")], TEA),
    ([(None, TEXT)], TEA),
])  # fmt: skip
async def test_an_edit_elsewhere_moves_it(quick, changes, moved):
    await quick.verify()
    assert quick.shown() == [TEA]
    quick.edit(*changes)
    await asyncio.sleep(0.01)
    assert quick.shown() == [moved]
    start = moved["start"]
    assert quick.hover(start["line"], start["character"])["range"] == moved


@pytest.mark.parametrize(
    ("encoding", "place"), [("utf-8", at(2, 21, 2, 41)), ("utf-16", WAIT), ("utf-32", at(2, 18, 2, 38))]
)
async def test_places_are_counted_as_agreed(new, encoding, place):
    editor = await new.open({**CAPABILITIES, "general": {"positionEncodings": [encoding, "utf-16"]}})
    assert editor.announced["positionEncoding"] == encoding
    await editor.verify(place)
    assert [call["pack"].claim for call in editor.council.calls] == ["wait for it, please."]


async def test_a_verdict_lands_where_the_text_has_gone_meanwhile(editor):
    editor.run({"uri": URI, "range": TEA, "version": 1})
    editor.edit((at(0, 0), "Line\n"), version=5)
    await editor.settled()
    (asked,) = editor.take(CREATE)
    editor.protocol.dispatch(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": None}).encode())
    await editor.settled()
    assert editor.shown() == [at(3, 0, 3, 15)]


@pytest.mark.parametrize("what", ["edit", "close", "clear", "progress", "shutdown", "again"])
async def test_what_is_judged_is_stopped(editor, what):
    editor.run({"uri": URI, "range": WAIT})
    await editor.settled()
    (asked,) = editor.take(CREATE)
    editor.protocol.dispatch(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": None}).encode())
    await editor.settled()
    assert len(editor.council.calls) == 1
    match what:
        case "edit":
            editor.edit((at(2, 22), "x"))
        case "close":
            editor.tell("didClose", {"textDocument": {"uri": URI}})
        case "clear":
            assert editor.actions(WAIT)[-1]["title"] == "Stop the council"
            editor.run({"uri": URI, "range": WAIT}, "neuron-council.clear")
        case "progress":
            editor.send(None, "window/workDoneProgress/cancel", {"token": asked["params"]["token"]})
        case "shutdown":
            editor.send(1, "shutdown")
        case "again":
            editor.edit((at(2, 19, 2, 23), "tell"))
    await editor.settled()
    assert editor.council.calls == []
    assert editor.progress() == ["begin", "report", "report", "end"]
    assert editor.shown() is None
    assert editor.server.editor._tasks == set()
    assert editor.server.editor._tokens == {}


async def test_the_reply_to_a_shutdown_is_behind_all_that_is_said_of_what_is_judged(new):
    bench = await new.open(text="Stubborn is a word.")
    await bench.verify(at(0, 0, 0, 19))
    bench.send(1, "shutdown")
    await asyncio.sleep(0.4)  # it takes half of that to end
    assert [each.get("id") for each in bench.sink[-2:]] == [None, 1]
    assert bench.progress()[-1] == "end"
    assert bench.server.editor._tasks == set()


async def test_closing_clears_and_opening_begins_anew(editor):
    await editor.verify()
    editor.take(PUBLISH)
    editor.tell("didClose", {"textDocument": {"uri": URI}})
    assert editor.shown() == []
    assert editor.hover(2, 2) is None
    assert editor.server.editor._documents == {}
    editor.tell("didOpen", {"textDocument": {"uri": URI, "languageId": "text", "version": 1, "text": TEXT}})
    assert editor.actions(TEA)
    assert editor.hover(2, 2) is None


async def test_opening_again_is_an_edit(quick):
    await quick.verify()
    quick.take(PUBLISH)
    quick.tell("didOpen", {"textDocument": {"uri": URI, "languageId": "text", "version": 9, "text": "x\n" + TEXT}})
    await asyncio.sleep(0.01)
    assert quick.shown() == [at(3, 0, 3, 15)]
    assert quick.actions(at(3, 0, 3, 15))[0]["command"]["arguments"][0]["version"] == 9


async def test_moves_are_published_when_the_typing_rests(editor, monkeypatch):
    await editor.verify()
    assert editor.shown() == [TEA]
    monkeypatch.setattr(editors, "QUIET_S", 0.05)
    for number in range(200):
        editor.edit((at(0, 0), "x\n"), version=number)
        await asyncio.sleep(0)
    assert editor.take(PUBLISH) == []
    await asyncio.sleep(0.1)
    (published,) = editor.take(PUBLISH)
    assert published["params"]["diagnostics"][0]["range"] == at(202, 0, 202, 15)


async def test_again_and_clear_are_offered_where_a_verdict_is(editor):
    await editor.verify()
    again, clear = editor.actions(at(2, 5), only=["neuron-council.verify-again", "neuron-council.clear"])
    assert again["command"]["arguments"] == [{"uri": URI, "range": TEA, "version": 1, "fresh": True}]
    assert clear["title"] == "Clear the verdict of the council"
    editor.take(PUBLISH)
    editor.run(clear["command"]["arguments"][0], clear["command"]["command"])
    assert editor.shown() == []
    assert editor.actions(at(2, 5), only=["neuron-council.clear"]) == []


async def test_versions_are_told_to_clients_that_read_them(new):
    capabilities = {**SILENT, "textDocument": {"publishDiagnostics": {"versionSupport": True}}}
    editor = await new.open(capabilities, version=4)
    editor.run({"uri": URI, "range": TEA, "version": 4})
    await editor.settled()
    assert {each["params"]["version"] for each in editor.take(PUBLISH)} == {4}


# The claim that nobody could judge, judged later


async def test_a_change_without_a_version_outdates_what_was_offered(new):
    bench = await new.open({"textDocument": {"publishDiagnostics": {"versionSupport": True}}})
    argument = bench.actions(TEA)[0]["arguments"][0]
    bench.edit((at(2, 0, 2, 3), "Gin"), version=None)
    bench.run(argument)
    assert bench.said() == ["The council was not asked: the text has changed since. Select it again."]
    bench.run(bench.actions(TEA)[0]["arguments"][0])
    await bench.settled()
    pending, judged = (each["params"] for each in bench.take(PUBLISH))
    assert len(judged["diagnostics"]) == 1
    assert "version" not in {**pending, **judged}


@pytest.mark.parametrize("knows", [True, False])
async def test_a_new_verdict_takes_the_place_of_the_one_it_supersedes(new, knows):
    editor = await new.open({**CAPABILITIES, "experimental": {"neuronCouncil": knows}})
    await editor.verify()
    old = editor.take(PUBLISH)[0]["params"]["diagnostics"][0]["data"]["id"]
    later = verdict(ContextPack("Tea is a drink."), ident="00000000-0000-4000-8000-000000000000")
    for superseded in (old, "11111111-1111-4111-8111-111111111111"):
        editor.council.announce(type("News", (), {"old": superseded, "verdict": later}))
    (published,) = editor.take(PUBLISH)
    assert published["params"]["diagnostics"][0]["data"] == {"id": later.id}
    assert len(editor.take("council/reevaluated")) == (2 if knows else 0)


@pytest.mark.parametrize(
    ("capabilities", "acknowledges"),
    [({}, True), (CAPABILITIES, False), ({**CAPABILITIES, "experimental": {"neuronCouncil": True}}, True)],
)
async def test_the_council_knows_who_can_acknowledge(new, capabilities, acknowledges):
    editor = await new.open(capabilities)
    await editor.settled()
    assert editor.council.acknowledges is acknowledges


async def test_nothing_is_published_behind_a_shutdown(editor):
    await editor.verify()
    old = editor.take(PUBLISH)[0]["params"]["diagnostics"][0]["data"]["id"]
    editor.send(1, "shutdown")
    await editor.settled()
    later = verdict(ContextPack("Tea is a drink."), ident="00000000-0000-4000-8000-000000000000")
    editor.council.announce(type("News", (), {"old": old, "verdict": later}))
    assert editor.shown() is None


# What is odd


@pytest.mark.parametrize("method", ["didOpen", "didChange", "didClose"])
@pytest.mark.parametrize("params", [
    None, [], 7, {}, {"textDocument": 7}, {"textDocument": {"uri": 7}}, {"textDocument": {"uri": "file:///unknown"}},
    {"textDocument": {"uri": "file:///unknown", "version": 1}, "contentChanges": [{"text": "x"}]},
])  # fmt: skip
async def test_notifications_at_fault_change_nothing(editor, method, params):
    await editor.verify()
    editor.tell(method, params)
    await editor.settled()
    assert editor.shown() == [TEA]
    assert editor.hover(2, 2)


@pytest.mark.parametrize("changes", [
    7, [7], [{"text": 7}], [{"range": TEA}], [{"text": "x", "range": at(-1, 0)}],
    [{"text": "fine", "range": at(0, 0)}, {"text": "x", "range": 7}], {"text": "x"},
])  # fmt: skip
async def test_a_text_that_is_not_known_any_more_is_forgotten(editor, caplog, changes):
    caplog.set_level(logging.WARNING)
    await editor.verify()
    editor.take(PUBLISH)
    editor.tell("didChange", {"textDocument": {"uri": URI, "version": 2}, "contentChanges": changes})
    assert editor.shown() == []
    assert editor.actions(TEA) == []
    assert "textDocument/didChange is not understood" in caplog.text
    assert "notes.txt" not in caplog.text


OTHERS = [
    f"{about}/{what}"
    for about, whats in {
        "textDocument": ["didSave", "willSave", "unheard"],
        "workspace": ["didChangeConfiguration", "didChangeWatchedFiles", "didChangeWorkspaceFolders"],
    }.items()
    for what in whats
]


async def test_other_notifications_of_editors_are_passed_over(editor):
    for method in ("initialized", "$/setTrace", "$/unheard", *OTHERS):
        for params in (None, {}, [1], {"settings": {}}):
            editor.send(None, method, params)
    await editor.settled()
    assert editor.sink == []


async def test_what_is_written_goes_to_no_log(editor, caplog):
    caplog.set_level(logging.DEBUG)
    await editor.verify(at(3, 0, 3, 7))
    editor.edit((at(3, 0), "crash "), version=1)
    await editor.verify(at(3, 0, 3, 13))
    editor.tell("didChange", {"textDocument": {"uri": URI}, "contentChanges": ["Quokka"]})
    assert "Quokka" not in caplog.text
    assert "notes.txt" not in caplog.text


async def test_nothing_is_kept_of_what_is_closed(editor):
    for number in range(50):
        uri = f"file:///{number}"
        editor.tell("didOpen", {"textDocument": {"uri": uri, "languageId": "x", "version": 0, "text": TEXT}})
        editor.run({"uri": uri, "range": WAIT})
        editor.tell("didClose", {"textDocument": {"uri": uri}})
    await editor.settled()
    state = editor.server.editor
    assert (list(state._documents), state._tasks, state._tokens) == ([URI], set(), {})
    assert editor.protocol._asked == {}

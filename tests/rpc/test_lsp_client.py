"""Happy paths with a client of the Language Server Protocol that is not ours."""

import asyncio

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient

from wire_harness import FAKE

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIMIT_S = 60


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory):
    """A home of the server's own: the client hands this process's environment on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEURON_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest_lsp.fixture(scope="module", config=ClientServerConfig(server_command=list(FAKE)))
async def client(lsp_client: LanguageClient):
    result = await asyncio.wait_for(
        lsp_client.initialize_session(types.InitializeParams(capabilities=types.ClientCapabilities())), LIMIT_S
    )
    assert result.server_info.name == "neuron-council"
    yield
    await asyncio.wait_for(lsp_client.shutdown_session(), LIMIT_S)


async def ask(client, method, params=None, **named):
    return await asyncio.wait_for(client.protocol.send_request_async(method, params, **named), LIMIT_S)


async def test_a_verdict(client):
    verdict = await ask(client, "council/verify", {"claim": "Tea is a drink.", "context": "Notes."})
    assert (verdict.confidence, verdict.status, verdict.votes[2].failure.kind) == (0.65, "emitted", "timeout")


async def test_health(client):
    assert (await ask(client, "council/health")).status == "ok"


async def test_a_refusal(client):
    with pytest.raises(JsonRpcException) as caught:
        await ask(client, "council/verify", {"claim": 7})
    assert (caught.value.code, caught.value.message) == (-32602, "claim: must be a string")


async def test_progress_and_cancel(client):
    client.progress_reports["t"] = []
    waiting = asyncio.ensure_future(
        ask(client, "council/verify", {"claim": "wait", "workDoneToken": "t"}, msg_id="cancel-me")
    )
    async with asyncio.timeout(LIMIT_S):
        while len(client.progress_reports["t"]) < 3:  # noqa: ASYNC110 - the client has no event for it
            await asyncio.sleep(0.01)
    client.cancel_request(types.CancelParams(id="cancel-me"))
    with pytest.raises(JsonRpcException) as caught:
        await waiting
    assert caught.value.code == types.LSPErrorCodes.RequestCancelled
    begin, *reports, end = client.progress_reports["t"]
    assert isinstance(begin, types.WorkDoneProgressBegin)
    assert [report.percentage for report in reports] == [33, 67]
    assert isinstance(end, types.WorkDoneProgressEnd)


# The same server as a language server

URI = "file:///notes.txt"
EDITOR = types.ClientCapabilities(
    general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf16]),
    text_document=types.TextDocumentClientCapabilities(
        # No literals, so commands come: lsprotocol takes a code action that holds a command for a command.
        code_action=types.CodeActionClientCapabilities(),
        hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
    ),
    window=types.WindowClientCapabilities(work_done_progress=True),
)


@pytest_lsp.fixture(scope="module", config=ClientServerConfig(server_command=list(FAKE)))
async def editor(lsp_client: LanguageClient):
    result = await asyncio.wait_for(lsp_client.initialize_session(types.InitializeParams(capabilities=EDITOR)), LIMIT_S)
    assert result.capabilities.hover_provider is True
    assert result.capabilities.text_document_sync == types.TextDocumentSyncOptions(
        open_close=True, change=types.TextDocumentSyncKind.Incremental
    )
    yield
    await asyncio.wait_for(lsp_client.shutdown_session(), LIMIT_S)


def place(line, character):
    return types.Position(line=line, character=character)


async def test_an_editor(editor):
    document = types.TextDocumentIdentifier(uri=URI)
    selection = types.Range(start=place(0, 3), end=place(0, 18))
    editor.text_document_did_open(
        types.DidOpenTextDocumentParams(
            types.TextDocumentItem(uri=URI, language_id="plaintext", version=1, text="😀 Tea is a drink.\n")
        )
    )
    actions = await editor.text_document_code_action_async(
        types.CodeActionParams(document, selection, types.CodeActionContext(diagnostics=[]))
    )
    assert [action.title for action in actions] == ["Verify with the council"]
    command = types.ExecuteCommandParams(actions[0].command, actions[0].arguments)
    done = editor.workspace_execute_command_async(command)
    await asyncio.wait_for(done, LIMIT_S)
    async with asyncio.timeout(LIMIT_S):
        while not editor.diagnostics.get(URI):  # noqa: ASYNC110 - what the client awaits may be the one before
            await asyncio.sleep(0.01)
    (diagnostic,) = editor.diagnostics[URI]
    assert diagnostic.range == selection
    assert (diagnostic.source, diagnostic.code) == ("neuron-council", "council-split")
    (reports,) = editor.progress_reports.values()
    assert [report.kind for report in reports] == ["begin", "report", "report", "report", "end"]
    hover = await editor.text_document_hover_async(types.HoverParams(document, place(0, 5)))
    assert "neuron: plausible. It is." in hover.contents.value
    editor.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(uri=URI, version=2),
            [types.TextDocumentContentChangePartial(types.Range(place(0, 4), place(0, 5)), "x")],
        )
    )
    async with asyncio.timeout(LIMIT_S):
        while editor.diagnostics[URI]:  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.01)
    assert await editor.text_document_hover_async(types.HoverParams(document, place(0, 5))) is None

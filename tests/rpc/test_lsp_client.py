"""Happy paths with a client of the Language Server Protocol that is not ours."""

import asyncio

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient

from wire_harness import FAKE

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIMIT_S = 10


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

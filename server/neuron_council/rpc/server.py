"""The server: one client's session over two descriptors, from the first byte to the exit code."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cattrs
from pygls.exceptions import JsonRpcInvalidRequest, JsonRpcParseError
from pygls.lsp.server import LanguageServer

from neuron_council import __version__, config
from neuron_council.errors import ConfigError
from neuron_council.rpc import log as logs
from neuron_council.rpc import wire
from neuron_council.rpc.client import client
from neuron_council.rpc.framing import MAX_BODY, Decoder, FramingError, Oversize
from neuron_council.rpc.lifecycle import Stop, Watch, heed_signals
from neuron_council.rpc.methods import METHODS, Method, Session
from neuron_council.rpc.protocol import CouncilProtocol
from neuron_council.rpc.stdio import say
from neuron_council.rpc.transport import Reader, Writer

if TYPE_CHECKING:
    from neuron_council.config import Settings
    from neuron_council.council import Council
    from neuron_council.ledger.ledger import Announcement
    from neuron_council.rpc.client import Client
    from neuron_council.rpc.editor import Editor
    from neuron_council.rpc.params import InitializeParams

log = logging.getLogger(__name__)

CLOSE_S = 1.0
"""Seconds that the council has to let go of its backends."""
DRAIN_S = 0.25
"""Seconds for what the client sent before it could know of the end; it is answered too."""
FLUSH_S = 0.5
"""Seconds that the client has to read the last replies."""
LEFT_S = 0.5
"""Seconds that nothing is read, for want of room, before it is looked whether the client has closed stdin meanwhile."""

Load = Callable[[Path, Mapping[str, str], Any], "Settings"]
Convene = Callable[["Settings"], "Council"]


def convene(settings: Settings) -> Council:
    """The council. Imported here, since `initialize` need not wait for its HTTP client."""
    from neuron_council.council import Council

    return Council(settings)


def edit(client: Client, protocol: CouncilProtocol, session: Callable[[], Awaitable[Session]]) -> Editor:
    """The features of an editor. Imported here, since other clients need not wait for them."""
    from neuron_council.rpc.editor import Editor

    return Editor(client, protocol, session)


class CouncilServer(LanguageServer):
    """What the protocol calls on: the configuration, the council and the way out."""

    protocol: CouncilProtocol

    def __init__(
        self, environ: Mapping[str, str], stop: Stop, watch: Watch, load: Load = config.load, convene: Convene = convene
    ) -> None:
        super().__init__(
            "neuron-council", __version__, protocol_cls=CouncilProtocol, converter_factory=cattrs.Converter
        )
        self.exit = stop
        self._environ = environ
        self._watch = watch
        self._load = load
        self._convene = convene
        self._session: asyncio.Task[Session] | None = None
        self.editor: Editor | None = None
        for method in METHODS.values():
            self.feature(method.name)(partial(self._answer, method))

    def configure(self, params: InitializeParams) -> None:
        """Read the configuration, and have the council convene behind the reply. Raises ConfigError."""
        try:
            settings = self._load(config.home(self._environ), self._environ, params.initialization_options)
        except ConfigError as error:
            say(f"neuron-council: {error}")
            raise
        for warning in settings.warnings:
            say(f"neuron-council: {warning}")
        if params.process_id is not None:
            self._watch.client(params.process_id)
        told = client(params.capabilities)
        if told.is_editor:
            self.editor = edit(told, self.protocol, self._convened)
        self._session = asyncio.get_running_loop().create_task(self._open(settings, told))

    async def close(self) -> None:
        """Reply to what is in flight, and let the council go."""
        await self.protocol.settle()
        if self._session is None or self._session.cancel():
            return
        if not self._session.cancelled() and self._session.exception() is None:
            council = self._session.result().council
            try:
                await asyncio.wait_for(council.close(), CLOSE_S)
            except Exception as error:  # noqa: BLE001 - the process ends, whatever the council says to it
                logs.incident(log, error)

    async def _open(self, settings: Settings, client: Client) -> Session:
        council = self._convene(settings)
        await council.start(partial(self._announce, client), acknowledges=client.knows_council)
        return Session(council, settings, self.protocol.notify, self.protocol.hint)

    def _announce(self, client: Client, news: Announcement) -> None:
        if client.knows_council:
            self.protocol.notify("council/reevaluated", wire.reevaluated(news))
        if self.editor is not None:
            self.editor.supersede(news.old, news.verdict)

    async def _convened(self) -> Session:
        if self._session is None:
            raise RuntimeError("a method ran before initialize")
        return await asyncio.shield(self._session)  # cancelling one request must not cancel the council

    async def _answer(self, method: Method, params: Any) -> Any:
        return await method.answer(await self._convened(), params)


async def serve(
    stdin: int,
    stdout: int,
    environ: Mapping[str, str],
    parent: int,
    *,
    load: Load = config.load,
    convene: Convene = convene,
) -> int:
    """Serve one client until it leaves, and return the exit code.

    0 after `shutdown`, 1 after an `exit` without one, the end of stdin, a stdout or PARENT that is gone, 128 + n after
    signal n.
    """
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_log_unhandled)
    stop = Stop()
    watch = Watch(stop)
    server = CouncilServer(environ, stop, watch, load, convene)
    writer = Writer(stdout, loop, on_broken=partial(stop, 1, "stdout is closed"))
    server.protocol.set_writer(writer)
    heed_signals(stop)
    watch.parent(parent)
    reader = Reader(stdin, loop)
    pump = asyncio.create_task(_pump(reader, writer, server.protocol, stop))
    await stop.wait()
    server.protocol.end()
    await server.close()
    await reader.emptied(DRAIN_S)
    pump.cancel()
    writer.close(FLUSH_S)
    return stop.code


async def _pump(reader: Reader, writer: Writer, protocol: CouncilProtocol, stop: Stop) -> None:
    """Hand what is read to the protocol, no faster than the client reads the replies."""
    decoder = Decoder()
    try:
        async for chunk in reader.chunks():
            for body in decoder.feed(chunk):
                if isinstance(body, Oversize):
                    too_long = f"a message of {body.length:,} bytes, {MAX_BODY:,} at most are taken; it was passed over"
                    protocol.refuse(None, JsonRpcInvalidRequest(too_long))
                else:
                    protocol.dispatch(body)
            while not await _has_room(writer, protocol):
                if reader.is_left:
                    stop(protocol.exit_code, "stdin is closed, and what it holds cannot be taken")
        decoder.close()
        stop(protocol.exit_code, "stdin is closed")
    except FramingError as error:
        protocol.refuse(None, JsonRpcParseError(f"the stream cannot be read any further: {error}"))
        stop(1, f"framing is lost: {error}")
    except Exception as error:  # noqa: BLE001 - a server that does not read any more must end
        stop(1, f"reading failed, incident {logs.incident(log, error)}")


async def _has_room(writer: Writer, protocol: CouncilProtocol) -> bool:
    """Wait until more may be read, for LEFT_S seconds at most; whether it may."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LEFT_S):
            await writer.drained()
            await protocol.room()
            return True
    return False


def _log_unhandled(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what a task left behind: the frames of its exception, or asyncio's own words, never a value."""
    if isinstance(error := context.get("exception"), BaseException):
        logs.incident(log, error)
    else:
        log.error("asyncio: %s", context.get("message", "an unknown fault").partition(" <")[0])


def run(stdin: int, stdout: int, environ: Mapping[str, str], parent: int, **parts: Any) -> int:
    """Serve from a process of its own, with its log, and return the exit code.

    The caller is to leave by `os._exit`: a thread that reads or writes, or a model that computes, is not waited for.
    """
    home = config.home(environ)
    try:
        logs.begin(home)
    except OSError as error:
        say(f"neuron-council: {home}/logs/council.log cannot be written ({error.strerror}), so nothing is logged")
    log.info("neuron-council %s begins, process %d", __version__, os.getpid())
    loop = asyncio.new_event_loop()
    code = loop.run_until_complete(serve(stdin, stdout, environ, parent, **parts))
    logging.shutdown()
    return code

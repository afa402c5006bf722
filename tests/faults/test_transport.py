"""The wire under faults: slow, flooding, silent and broken clients."""

import asyncio
import os
import threading
import time

import pytest

from neuron_council.rpc import transport
from neuron_council.rpc.transport import Reader, Writer
from wire_harness import Wire, framed, notification, request


def resident_kb(pid, key="VmRSS"):
    with open(f"/proc/{pid}/status") as status:  # noqa: PTH123 - of another process
        return int(status.read().partition(f"{key}:")[2].split()[0])


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


async def read_all(reader):
    return b"".join([chunk async for chunk in reader.chunks()])


async def eventually(condition):
    """Wait for what another thread brings about."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - of a thread, which sets no event
            await asyncio.sleep(0.002)


async def test_the_reader_stops_at_the_end(pipe):
    source, sink = pipe
    os.write(sink, b"some ")
    os.write(sink, b"bytes")
    os.close(sink)
    assert await read_all(Reader(source, asyncio.get_running_loop())) == b"some bytes"


async def test_the_reader_waits_at_a_descriptor_that_does_not_block(pipe):
    source, sink = pipe
    os.set_blocking(source, False)
    reader = asyncio.ensure_future(read_all(Reader(source, asyncio.get_running_loop())))
    await asyncio.sleep(0.05)
    os.write(sink, b"late")
    os.close(sink)
    assert await asyncio.wait_for(reader, 5) == b"late"


async def test_the_reader_reads_no_further_than_is_taken(pipe, monkeypatch):
    monkeypatch.setattr(transport, "CHUNK", 1)
    source, sink = pipe
    os.write(sink, b"0123456789")
    chunks = Reader(source, asyncio.get_running_loop()).chunks()
    assert await anext(chunks) == b"0"
    await asyncio.sleep(0.05)
    assert os.read(source, 100) == b"23456789"
    os.close(sink)
    assert [chunk async for chunk in chunks] == [b"1"]


async def test_the_reader_takes_an_error_for_the_end():
    directory = os.open("/", os.O_RDONLY)  # which read refuses
    assert await read_all(Reader(directory, asyncio.get_running_loop())) == b""
    os.close(directory)


@pytest.mark.parametrize("blocking", [True, False])
async def test_the_writer_writes_whole_frames_in_order_through_a_full_pipe(pipe, blocking, monkeypatch):
    source, sink = pipe
    waits, wait = [], transport._wait
    monkeypatch.setattr(transport, "_wait", lambda *what: (waits.append(what), wait(*what)))
    os.set_blocking(sink, blocking)
    writer = Writer(sink, asyncio.get_running_loop(), on_broken=pytest.fail)
    frames = [bytes([n]) * 100_000 for n in range(60)]
    for frame in frames:
        writer.write(frame)
    assert writer.is_congested
    drained = asyncio.ensure_future(writer.drained())
    await asyncio.sleep(0.02)
    assert not drained.done()
    got = bytearray()

    def read():
        while len(got) < 6_000_000:
            got.extend(os.read(source, 1 << 20))

    await asyncio.wait_for(asyncio.to_thread(read), 10)
    await asyncio.wait_for(drained, 5)
    assert got == b"".join(frames)
    assert bool(waits) is not blocking  # it waits for room and does not try again and again
    writer.close(5)


async def test_the_writer_tells_once_that_nobody_reads(pipe):
    source, sink = pipe
    told = []
    writer = Writer(sink, asyncio.get_running_loop(), on_broken=lambda: told.append(1))
    os.close(source)
    for _ in range(100):
        writer.write(b"x" * 100_000)
    await asyncio.wait_for(writer.drained(), 5)
    writer.close(5)
    await eventually(lambda: not writer._backlog)
    assert told == [1]


async def test_closing_waits_no_longer_than_is_said(pipe):
    source, sink = pipe
    writer = Writer(sink, asyncio.get_running_loop(), on_broken=lambda: None)
    writer.write(b"x" * 1_000_000)
    begun = time.monotonic()
    writer.close(0.1)
    assert 0.1 <= time.monotonic() - begun < 20
    os.close(source)  # lets the thread go
    writer.close(5)


def test_a_flood_is_answered_and_not_kept(tmp_path):
    with Wire(tmp_path) as wire:
        before = resident_kb(wire.process.pid)
        frame = [framed(request(n, "council/health")) for n in range(20_000)]
        sender = threading.Thread(target=wire.raw, args=(b"".join(frame),))
        sender.start()
        assert all(wire.reply(n)["result"] for n in range(20_000))
        sender.join()
        assert resident_kb(wire.process.pid) - before < 20_000
        assert wire.leave() == 0


def test_a_flood_of_notifications_leaves_nothing(tmp_path):
    with Wire(tmp_path) as wire:
        wire.ask("first", "council/health")
        before = resident_kb(wire.process.pid)
        notes = (notification("$/setTrace", {"value": "off"}), notification("$/cancelRequest", {"id": 1}))
        wire.raw(b"".join(map(framed, notes)) * 10_000)
        assert wire.ask("last", "council/health")["result"]
        assert resident_kb(wire.process.pid) - before < 5_000


def test_a_client_that_does_not_read_is_not_worked_for(tmp_path):
    with Wire(tmp_path, read=False) as wire:
        # Each reply has a megabyte, and few requests fit into what is read at once.
        params = {"claim": "large", "context": "x" * 20_000}
        frames = b"".join(framed(request(n, "council/verify", params)) for n in range(1, 1_000))
        sender = threading.Thread(target=_send_quietly, args=(wire, frames))
        sender.start()
        peaks = []
        while len(peaks) < 5 or peaks[-1] != peaks[-5]:
            time.sleep(0.1)
            peaks.append(resident_kb(wire.process.pid))
            assert len(peaks) < 100
        assert sender.is_alive()
        assert peaks[-1] < 150_000
        wire.process.kill()
        sender.join()


def _send_quietly(wire, data):
    try:
        wire.raw(data)
    except OSError:
        return


def test_a_slow_reader_gets_everything(tmp_path):
    with Wire(tmp_path, read=False) as wire:
        wire.send(*(request(n, "council/verify", {"claim": "large"}) for n in range(1, 8)), request("bye", "shutdown"))
        got = bytearray()
        while b'"id":"bye"' not in got[-200:]:
            got += wire.process.stdout.read(200_000)
            time.sleep(0.001)
        assert got.count(b'"confidence":0.65') + got.count(b'"code":-32800') == 7
        assert got.count(b"Content-Length: ") == 9

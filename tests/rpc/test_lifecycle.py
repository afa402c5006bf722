"""How the process ends, and what it leaves behind."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from neuron_council.rpc.lifecycle import Watch
from wire_harness import FAKE, PATIENCE_S, Wire, framed, notification, request

ENDS_S = 20.0


def in_flight(wire, word="wait"):
    """Have a claim judged that is not answered."""
    wire.send(request("w", "council/verify", {"claim": f"{word} for Quokka", "workDoneToken": "t"}))
    for _ in range(3):
        wire.progress("t")


def cancelled(wire):
    """Whether the claim in flight got its one reply before stdout ended."""
    return [(m["id"], m["error"]["code"]) for m in wire.rest() if m.get("id") == "w"] == [("w", -32800)]


@pytest.fixture
def wire(tmp_path):
    with Wire(tmp_path) as wire:
        yield wire
        assert b"Traceback" not in wire.stderr
        assert wire.noise == b""


def ended_in_time(wire):
    begun = time.monotonic()
    code = wire.ended()
    assert time.monotonic() - begun < ENDS_S
    return code


@pytest.mark.parametrize("word", ["wait", "stubborn", "deaf"])
def test_shutdown_and_exit_with_a_claim_in_flight(wire, word):
    in_flight(wire, word)
    wire.send(request("bye", "shutdown"), notification("exit"))
    assert ended_in_time(wire) == 0
    replies = [message for message in wire.rest() if "id" in message]
    assert [(m["id"], m.get("error", {}).get("code")) for m in replies] == [("w", -32800), ("bye", None)]


def test_exit_waits_for_no_reply_to_shutdown(wire):
    wire.send(request("bye", "shutdown"))
    assert wire.reply("bye")["result"] is None
    assert wire.ask("late", "council/health")["error"]["code"] == -32600
    wire.send(notification("exit"))
    assert wire.ended() == 0


def test_exit_alone(wire):
    in_flight(wire)
    wire.send(notification("exit"))
    assert ended_in_time(wire) == 1
    assert cancelled(wire)


def test_the_end_of_stdin(wire):
    in_flight(wire)
    wire.process.stdin.close()
    assert ended_in_time(wire) == 1
    assert cancelled(wire)


def test_the_end_of_stdin_after_shutdown(wire):
    wire.ask("bye", "shutdown")
    wire.process.stdin.close()
    assert ended_in_time(wire) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals(wire, number):
    in_flight(wire, "deaf" if number is signal.SIGTERM else "wait")
    wire.process.send_signal(number)
    assert ended_in_time(wire) == 128 + number
    assert cancelled(wire)
    assert wire.stderr == b""


def test_what_comes_before_the_client_can_know_of_a_signal_is_answered(tmp_path, wire):
    in_flight(wire, "stubborn")
    wire.process.send_signal(signal.SIGTERM)
    log = tmp_path / "logs" / "council.log"
    until = time.monotonic() + PATIENCE_S
    while "ending with exit code" not in log.read_text():
        assert time.monotonic() < until
        time.sleep(0.002)
    wire.send(*(request(n, "council/verify", {"claim": "wait " + "x" * 6500}) for n in range(9)))
    assert ended_in_time(wire) == 128 + signal.SIGTERM
    replies = [(m["id"], m["error"]["code"]) for m in wire.rest() if m.get("id") in range(9)]
    assert sorted(replies) == [(n, -32800) for n in range(9)]


def test_a_signal_before_the_first_message(tmp_path):
    with Wire(tmp_path, initialize=False) as wire:
        wire.process.send_signal(signal.SIGINT)
        assert wire.ended() in (-signal.SIGINT, 128 + signal.SIGINT)
        assert b"Traceback" not in wire.stderr


def test_a_client_that_reads_nothing_more_does_not_hold_it(tmp_path):
    with Wire(tmp_path, read=False) as wire:
        wire.send(*(request(n, "council/verify", {"claim": "large"}) for n in range(3)))
        assert wire.process.stdout.read(1) == b"C"
        wire.process.send_signal(signal.SIGTERM)
        assert ended_in_time(wire) == 128 + signal.SIGTERM


@pytest.mark.parametrize("more", [1, 800])
def test_the_end_of_stdin_of_a_client_that_reads_nothing(tmp_path, more):
    """The server waits for the client to read, and takes nothing more from stdin meanwhile, its end included."""
    with Wire(tmp_path, read=False) as wire:
        wire.send(*(request(n, "council/verify", {"claim": "large"}) for n in range(9)))
        assert wire.process.stdout.read(1) == b"C"
        time.sleep(0.3)  # until all nine are answered
        wire.send(*(request(n, "council/health") for n in range(more)))
        wire.process.stdin.close()
        assert ended_in_time(wire) == 1


def test_a_stdout_that_is_gone(tmp_path):
    with Wire(tmp_path, read=False) as wire:
        wire.process.stdout.close()
        wire.send(request(1, "council/health"))
        assert ended_in_time(wire) == 1
        assert b"Traceback" not in wire.stderr


def test_a_stderr_that_is_gone(tmp_path):
    (tmp_path / "council.toml").write_text("[council\n")
    reader, writer = os.pipe()
    os.close(reader)
    with Wire(tmp_path, initialize=False, stderr=writer) as wire:
        os.close(writer)
        assert wire.ask(1, "initialize", {})["error"]["code"] == -32803
        assert wire.ask(2, "council/health")["error"]["code"] == -32002
        wire.send(notification("exit"))
        assert wire.ended() == 1


PARENT = """
import os, subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdin=os.dup(0), stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123 - of another process
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes through /proc")  # noqa: PTH112
@pytest.mark.parametrize("sandbox", [False, True], ids=["watched", "polled"])
def test_it_ends_with_its_parent_while_stdin_stays_open(tmp_path, sandbox):
    command = list(FAKE)
    if sandbox:
        # A system without pidfd_open, by a module that is run before the program.
        (tmp_path / "sitecustomize.py").write_text("import os\nif hasattr(os, 'pidfd_open'):\n    del os.pidfd_open\n")
    reader, writer = os.pipe()
    environ = {"PATH": os.environ["PATH"], "NEURON_HOME": str(tmp_path), "PYTHONPATH": str(tmp_path) if sandbox else ""}
    pipes = {"stdin": reader, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", PARENT, *command], env=environ, **pipes) as parent:
        try:
            os.write(writer, framed(request(1, "initialize", {})))
            pid = int(parent.stdout.readline())
            parent.kill()
            until = time.monotonic() + PATIENCE_S
            while not is_gone(pid):
                assert time.monotonic() < until
                time.sleep(0.02)
        finally:
            parent.kill()
            os.close(reader)
            os.close(writer)


def test_it_ends_with_the_process_that_initialize_names(tmp_path):
    editor = subprocess.Popen(["sleep", "60"])
    with Wire(tmp_path, initialize=False) as wire:
        wire.ask(1, "initialize", {"processId": editor.pid})
        assert wire.ask(2, "council/health")["result"]
        editor.kill()
        editor.wait()
        assert wire.ended() == 1


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 2**40, 2**70])
async def test_a_process_that_cannot_be_seen_is_not_watched(pid):
    ends = []
    watch = Watch(lambda *end: ends.append(end))
    watch.client(pid)
    await asyncio.sleep(0.01)
    assert (ends, watch._watched) == ([], set())


def mode(path):
    return oct(path.stat().st_mode & 0o777)


def test_the_log_is_there_from_the_start_the_users_alone_and_holds_no_claim(tmp_path):
    home = tmp_path / "deep" / "home"
    with Wire(home, initialize=False, umask=0) as wire:
        assert wire.ask(1, "council/health")["error"]["code"] == -32002
        log = home / "logs" / "council.log"
        assert (mode(home), mode(log.parent), mode(log)) == ("0o700", "0o700", "0o600")
        wire.ask(2, "initialize", {})
        for word in ("crash", "refuse", "nan", "print", "large"):
            wire.ask(3, "council/verify", {"claim": f"{word} Quokka", "context": "Quokka notes"})
        wire.ask(4, "council/verify", {"claim": "Quokka", "context": ["Quokka"], "id": "Quokka"})
        wire.raw(framed(b'{"Quokka'))
        in_flight(wire)
        wire.send(notification("exit"))
        wire.ended()
        text = log.read_text()
        assert "builtins.ValueError at fake_council.py" in text
        assert "ending with exit code 1: the client said exit" in text
        assert "Quokka" not in text
        assert b"Quokka" not in wire.stderr


def test_a_log_that_was_open_to_others_is_closed_to_them(tmp_path):
    (tmp_path / "logs").mkdir(mode=0o755)
    log = tmp_path / "logs" / "council.log"
    log.write_text("before\n")
    log.chmod(0o644)
    with Wire(tmp_path) as wire:
        assert wire.leave() == 0
    assert (mode(log.parent), mode(log)) == ("0o700", "0o600")
    assert log.read_text().startswith("before\n")


def test_a_home_that_cannot_be_written_is_said_and_served(tmp_path):
    home = tmp_path / "home"
    home.write_text("a file, not a folder")
    with Wire(home, initialize=False) as wire:
        wire.send(request(1, "initialize", {}))
        assert "council.toml" in wire.reply(1)["error"]["message"]
        wire.send(notification("exit"))
        assert wire.ended() == 1
        assert b"council.log cannot be written" in wire.stderr
        assert b"Traceback" not in wire.stderr


def test_the_program_serves_and_says_its_version():
    program = [sys.executable, "-m", "neuron_council"]
    said = subprocess.run([*program, "--version"], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert said.stdout.startswith("neuron-council 0.")
    closed = subprocess.run(
        ["sh", "-c", '"$@" serve <&-', "sh", *program], capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert (closed.returncode, closed.stdout) == (1, b"")
    assert b"needs an open stdin and stdout" in closed.stderr

"""Servers that are killed at any moment: two of them on one ledger, a backend that goes away and comes back.

The moments are drawn from a seed, and what is in flight then is up to the machine; what must hold holds at each.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from neuron_council.ledger.ledger import FILE
from support import CONTEXT, Stub
from wire_harness import Wire, request

SERVE = (
    sys.executable,
    "-c",
    # A lease is shorter than usual, so that what a killed server held is taken over within the test.
    "import runpy, sys; from neuron_council import reevaluator; reevaluator.LEASE_S = 1.0; "
    "sys.argv = ['neuron-council', 'serve']; runpy.run_module('neuron_council', run_name='__main__', alter_sys=True)",
)
CALL_S = 0.04
"""Seconds that a model takes."""
WINDOW = 4
"""Claims that a client has in flight."""
SETTLED_S = 120.0
"""Seconds within which the queue must be empty once the backend is back."""

Json = dict[str, Any]


class Client:
    """An editor: it starts its server and asks; where the server dies it starts another and asks again, same ids."""

    def __init__(self, home: Path, url: str, seed: int) -> None:
        self.home = home
        self.url = url
        self.chance = random.Random(seed)  # noqa: S311 - moments, no secrets
        self.answers: dict[str, Json] = {}
        self.told: list[tuple[str, str]] = []
        self.deaths = 0
        self.wire = self._server()

    def _server(self) -> Wire:
        return Wire(self.home, SERVE, env={"OLLAMA_HOST": self.url})

    def restart(self) -> None:
        self.wire.__exit__()
        self.wire = self._server()

    def kill(self) -> None:
        self.wire.process.kill()
        self.deaths += 1

    def verify(self, claims: Iterable[Json], kills: int) -> None:
        """Have each of CLAIMS answered, while the server is killed KILLS times."""
        waiting = {claim["id"]: claim for claim in claims}
        fatal = sorted(self.chance.sample(range(len(waiting)), kills))
        in_flight: set[str] = set()
        sent = 0
        deadly: threading.Timer | None = None
        while waiting:
            try:
                for ident in [ident for ident in waiting if ident not in in_flight][: WINDOW - len(in_flight)]:
                    self.wire.send(request(ident, "council/verify", waiting[ident]))
                    in_flight.add(ident)
                    sent += 1
                    if deadly is None and fatal and sent > fatal[0]:
                        fatal.pop(0)
                        deadly = threading.Timer(self.chance.uniform(0, 3 * CALL_S), self.kill)
                        deadly.start()
                answered = self._take()
            except (EOFError, BrokenPipeError):
                deadly = self._over(deadly)
                in_flight.clear()
                continue
            if answered is not None:
                assert "result" in answered, answered
                self.answers[answered["id"]] = answered["result"]
                del waiting[answered["id"]]
                in_flight.remove(answered["id"])
        if deadly is not None:
            self._over(deadly)

    def _over(self, deadly: threading.Timer | None) -> None:
        assert deadly is not None, f"the server died by itself: {self.wire.stderr[-2000:]!r}"
        deadly.join()
        self.restart()

    def _take(self, timeout: float = 15.0) -> Json | None:
        """The next reply; None where it was an announcement."""
        message = self.wire.next(timeout=timeout)
        if message.get("method") == "council/reevaluated":
            self.told.append((message["params"]["supersedes"], message["params"]["verdict"]["id"]))
            return None
        return message

    def ask(self, method: str, params: Json | None = None) -> Any:
        """The result of METHOD; announcements before it are noted."""
        ident = uuid.uuid4().hex
        self.wire.send(request(ident, method, params))
        while (reply := self._take()) is None or reply["id"] != ident:
            pass
        return reply["result"]

    def pages(self) -> list[Json]:
        """Every line of the list, oldest first."""
        lines: list[Json] = []
        cursor: str | None = None
        while True:
            page = self.ask("council/list", {"limit": 40, **({"cursor": cursor} if cursor else {})})
            lines += page["verdicts"]
            cursor = page["next_cursor"]
            if cursor is None:
                return lines[::-1]


def claims(client: int, first: int, count: int, shared: int) -> list[Json]:
    """COUNT claims with ids of their own, every second with a context; the first SHARED are the other client's too."""
    return [
        {
            "id": str(uuid.uuid4()),
            "claim": f"Claim {number}{'' if number - first < shared else ' of one' if client else ' of two'} is made.",
            **({"context": CONTEXT} if number % 2 else {}),
        }
        for number in range(first, first + count)
    ]


def harass(clients: list[Client]) -> None:
    """Kill each server once while both work the queue."""
    for client in clients:
        client.ask("council/reevaluate")  # instead of waiting until it looks
    for client in clients:
        time.sleep(client.chance.uniform(0.2, 0.6))
        client.kill()
        client.restart()


def settle(client: Client) -> None:
    """Wait until the queue is empty."""
    give_up = time.monotonic() + SETTLED_S
    while client.ask("council/health")["pending"]:
        assert time.monotonic() < give_up, "what was queued is not settled"
        time.sleep(0.05)


@pytest.mark.parametrize("seed", [1])
def test_what_was_answered_or_queued_outlives_the_server(stub: Stub, tmp_path: Path, seed: int) -> None:
    stub.script(default={"delay": CALL_S}, models={"dolphin3:8b": {"ballot": "confabulation"}})
    clients = [Client(tmp_path, stub.url, 2 * seed + number) for number in range(2)]
    try:
        with ThreadPoolExecutor(2) as both:

            def phase(first: int, count: int, shared: int, kills: int) -> None:
                works = [(client, claims(number, first, count, shared)) for number, client in enumerate(clients)]
                for each in [both.submit(client.verify, asked, kills) for client, asked in works]:
                    each.result(120)

            phase(0, 20, 4, kills=2)
            stub.kill()
            phase(100, 12, 4, kills=1)
            stub.start()
            stub.script(default={"delay": 3 * CALL_S}, models={"dolphin3:8b": {"ballot": "confabulation"}})
            harass(clients)
            stub.script(default={"delay": CALL_S}, models={"dolphin3:8b": {"ballot": "confabulation"}})
            phase(200, 18, 4, kills=1)
        settle(clients[0])
        check(clients, tmp_path)
    finally:
        for client in clients:
            client.wire.__exit__()


def check(clients: list[Client], home: Path) -> None:
    one, two = clients
    assert min(one.deaths, two.deaths) >= 3
    answers = [answer for client in clients for answer in client.answers.values()]
    assert len(answers) == 100
    away = [answer for answer in answers if answer["status"] == "unavailable"]
    assert len(away) == 24
    assert not any(answer["warnings"] for answer in answers if answer["status"] != "unavailable")

    # Every answered verdict is in the ledger, whole, and replayable.
    for answer in answers:
        shown = one.ask("council/show", {"id": answer["id"]})
        assert {key: shown[key] for key in answer} == {**answer, "cached": False}
    replayed = one.ask("council/replay")
    lines = one.pages()
    assert (replayed["checked"], replayed["differing"]) == (len(lines), [])

    # Under the client's own id, unless another claim's debate answered it.
    for client in clients:
        for ident, answer in client.answers.items():
            assert answer["id"] == ident or answer["cached"] or answer["id"] in {line["id"] for line in lines}

    # Nothing that was queued is lost, and nothing is evaluated twice.
    queued = {line["id"] for line in lines if line["status"] == "unavailable"}
    assert {answer["id"] for answer in away} <= queued
    new = [line for line in lines if line["supersedes"] is not None]
    assert {line["status"] for line in new} == {"emitted"}
    waited = {line["claim"] for line in lines if line["status"] == "unavailable"}
    assert Counter(line["claim"] for line in new) == dict.fromkeys(waited, 1)
    judged = Counter(line["claim"] for line in lines if line["status"] == "emitted")
    assert set(judged) == {line["claim"] for line in lines}
    # Two clients may each ask for a claim that both have, and get a verdict each where the backend is there.
    assert {claim for claim, count in judged.items() if count > 1 and (claim in waited or "of" in claim)} == set()
    assert max(judged.values()) <= 2

    # What supersedes is told at every start until it is acknowledged, and then no more.
    told = {(old, line["id"]) for line in new for old in queued if old in _olds(home, line["id"])}
    assert {old for old, _ in told} == queued
    for client in clients:
        client.told.clear()
        client.restart()
        while len(set(client.told)) < len(told):
            client._take()
        assert set(client.told) == told
    assert one.ask("council/acknowledge", {"ids": [line["id"] for line in new]}) == {"acknowledged": len(new)}
    two.told.clear()
    two.restart()
    assert two.ask("council/health")["pending"] == 0
    assert two.pages() == lines
    assert two.told == []
    assert two.wire.leave() == 0
    assert two.wire.stderr == b""
    db = sqlite3.connect(home / FILE)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert db.execute("SELECT count(*) FROM pending").fetchone() == (0,)
    db.close()
    assert not list((home / "council").glob("*.corrupt-*"))


def _olds(home: Path, ident: str) -> set[str]:
    """The ids that the verdict IDENT is announced for."""
    db = sqlite3.connect(home / FILE)
    try:
        query = "SELECT old FROM announcement JOIN verdict ON verdict.seq = announcement.verdict WHERE verdict.id = ?"
        return {old for (old,) in db.execute(query, (ident,))}
    finally:
        db.close()

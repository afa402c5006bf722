#!/usr/bin/env python3
"""A scripted stand-in for the council's server, standard library only, for tests of the client.

    fake_server.py LOG SCRIPT

LOG is a file that gets every message received, one JSON object a line. SCRIPT is a JSON object; every key is optional:

  start        {"stderr": TEXT, "exit": STATUS}: write and leave before anything is read
  initialize   "silent", or {"error": {...}}, or {"result": {...}}, or {"exit": STATUS}, with "gate" as of a step
  shutdown     "silent": neither `shutdown` nor `exit` nor the end of stdin ends the server
  announce     [{"supersedes": ID, "verdict": VERDICT}, ...]: sent right behind the reply to `initialize`, with the
               fields of VERDICT in place of the usual ones
  verify       [STEP, ...], the n-th for the n-th `council/verify`, the last for all later ones
  fatal        a claim at which the server leaves with status 9
  answers      {METHOD: {"result": ...} or {"error": {...}} or {"exit": STATUS}}, for other methods, else {}
  ledger       how many verdicts the ledger has, see `Ledger`, which answers then; or a list of the fields of each, the
               newest first

STEP is an object; every key is optional:

  delay        seconds before the answer; a cancellation ends it with error -32800
  notes        texts sent as progress before the answer
  gate         a file; each of the notes, and then the answer, waits until that has one more byte
  flood        how many further progress notifications are sent
  stderr       text written to stderr first; stderr_size repeats it up to so many characters
  exit         leave with this status instead of an answer
  silent       true: never answer, not even to a cancellation
  error        the error object to answer with
  verdict      fields that replace those of the usual verdict
  result       the whole result, in place of a verdict
  extra        true: the reply has a key that JSON-RPC does not know; "error": the error object has it
  raw          text written to stdout before the answer
  answered     a file that is made when the answer has been written
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

Json = dict[str, Any]

TAGS = {0.85: ["verified"], 0.65: ["council-split"], 0.3: ["unverified", "council-flagged"]}


class Server:
    """Reads frames, answers by the script, and keeps a record of what it read."""

    def __init__(self, log: Path, script: Json) -> None:
        self.log = log
        self.script = script
        self.verified = 0
        self.ledger = Ledger(script["ledger"]) if "ledger" in script else None
        self.writing = threading.Lock()
        self.cancelled: dict[object, threading.Event] = {}

    def read(self) -> Json | None:
        """The next message, None at the end of stdin."""
        length = 0
        while (line := sys.stdin.buffer.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = sys.stdin.buffer.read(length)
        return json.loads(body) if body else None

    def write(self, **message: object) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with self.writing:
            sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            sys.stdout.buffer.flush()

    def serve(self) -> None:
        start = self.script.get("start")
        if start:
            sys.stderr.write(start.get("stderr", ""))
            sys.stderr.flush()
            os._exit(start.get("exit", 1))
        while message := self.read():
            with self.log.open("a") as log:
                log.write(json.dumps(message) + "\n")
            self.handle(message)
        if self.script.get("shutdown") == "silent":
            threading.Event().wait()

    def handle(self, message: Json) -> None:
        match message.get("method"):
            case "initialize":
                self.initialize(message["id"])
            case "council/verify":
                steps = self.script.get("verify", [{}])
                step = steps[min(self.verified, len(steps) - 1)] or {}
                self.verified += 1
                threading.Thread(target=self.verify, args=(message, step), daemon=True).start()
            case "window/workDoneProgress/cancel":
                self.cancelled.setdefault(message["params"]["token"], threading.Event()).set()
            case str(method) if method.startswith("council/"):
                how = (self.script.get("answers") or {}).get(method)
                if how is None and self.ledger:
                    how = self.ledger.answer(method, message.get("params") or {})
                self.answer(message["id"], how or {})
            case "shutdown" if self.script.get("shutdown") != "silent":
                self.write(id=message["id"], result=None)
            case "exit" if self.script.get("shutdown") != "silent":
                os._exit(0)

    def answer(self, number: int, how: Json) -> None:
        if "exit" in how:
            os._exit(how["exit"])
        if "error" in how:
            self.write(id=number, error=how["error"])
        else:
            self.write(id=number, result=how.get("result", {}))

    def initialize(self, number: int) -> None:
        how = self.script.get("initialize", {})
        if how == "silent":
            return
        if "exit" in how:
            os._exit(how["exit"])
        self.pass_gate(how, 0, threading.Event())
        if "error" in how:
            self.write(id=number, error=how["error"])
        else:
            council = {"protocol": 1, "methods": ["council/verify"]}
            self.write(
                id=number,
                result=how.get(
                    "result",
                    {
                        "capabilities": {"experimental": {"neuronCouncil": council}},
                        "serverInfo": {"name": "neuron-council", "version": "0.1.0"},
                    },
                ),
            )
            for news in self.script.get("announce") or []:
                late = verdict({"id": "new", "claim": "A claim"}, news.get("verdict", {}))
                self.write(method="council/reevaluated", params={"supersedes": news["supersedes"], "verdict": late})

    def verify(self, message: Json, step: Json) -> None:
        number, params = message["id"], message["params"]
        if params.get("claim") == self.script.get("fatal"):
            os._exit(9)
        token = params["workDoneToken"]
        cancelled = self.cancelled.setdefault(token, threading.Event())
        if "stderr" in step:
            text = step["stderr"]
            sys.stderr.write(text * max(1, step.get("stderr_size", 0) // len(text)))
            sys.stderr.flush()
        if "exit" in step:
            threading.Event().wait(step.get("delay", 0))
            os._exit(step["exit"])
        if step.get("silent"):
            return
        self.progress(token, kind="begin", title="Council")
        for count, note in enumerate(step.get("notes", [])):
            self.pass_gate(step, count, cancelled)
            self.progress(token, kind="report", message=note)
        for count in range(step.get("flood", 0)):
            self.progress(token, kind="report", message=f"note {count}")
        self.pass_gate(step, len(step.get("notes", [])), cancelled)
        stopped = cancelled.wait(step.get("delay", 0))
        self.progress(token, kind="end")
        if "raw" in step:
            with self.writing:
                sys.stdout.write(step["raw"])
                sys.stdout.flush()
        extra = {"surplus": True} if step.get("extra") is True else {}
        if stopped:
            self.write(id=number, error={"code": -32800, "message": "cancelled"})
        elif "error" in step:
            surplus = {"surplus": True} if step.get("extra") == "error" else {}
            self.write(id=number, error={**step["error"], **surplus})
        elif "result" in step:
            self.write(id=number, result=step["result"], **extra)
        else:
            judged = verdict(params, step.get("verdict", {}))
            if self.ledger:
                self.ledger.add(judged)
            self.write(id=number, result=judged, **extra)
        if "answered" in step:
            Path(step["answered"]).touch()

    @staticmethod
    def pass_gate(step: Json, passed: int, cancelled: threading.Event) -> None:
        """Waits until the gate of STEP, if it has one, lets more than PASSED through; a cancellation ends it."""
        while "gate" in step and len(Path(step["gate"]).read_bytes()) <= passed and not cancelled.wait(0.01):
            pass

    def progress(self, token: object, **value: object) -> None:
        self.write(method="$/progress", params={"token": token, "value": value})


class Ledger:
    """Verdicts, the newest first, answered for as the real ledger does.

    Of those that are only counted the n-th oldest, from 0 on, is on "Claim n", has the id of `neuron-council-test-uuid`
    and is parked where n is a multiple of 10.
    """

    def __init__(self, verdicts: int | list[Json]) -> None:
        changes = [self.counted(n) for n in reversed(range(verdicts))] if isinstance(verdicts, int) else verdicts
        self.at = 1_700_000_000 + len(changes)
        self.verdicts = [
            {**verdict({"id": "", "claim": ""}, each), "at": self.at - n, "review": None, "supersedes": None, **each}
            for n, each in enumerate(changes)
        ]

    def counted(self, n: int) -> Json:
        parked = {"status": "parked", "tags": ["council-split", "council-parked"], "confidence": 0.65}
        return {"id": f"00000000-0000-4000-8000-{n:012}", "claim": f"Claim {n}", **({} if n % 10 else parked)}

    def add(self, judged: Json) -> None:
        self.at += 1
        self.verdicts.insert(0, {**judged, "at": self.at, "review": None, "supersedes": None})

    def answer(self, method: str, params: Json) -> Json:
        if method == "council/list":
            return {"result": self.page(params)}
        found = [each for each in self.verdicts if each["id"] == params.get("id")]
        if method == "council/reevaluate":
            return {"result": {"queued": len(params.get("ids") or [])}}
        if not found:
            return {"error": {"code": -32001, "message": f"No verdict has the id {params.get('id')}."}}
        if method == "council/forget":
            self.verdicts.remove(found[0])
            return {"result": {"forgotten": 1}}
        if method == "council/review":
            if not {"council-parked", "council-flagged", "council-split"} & set(found[0]["tags"]):
                return {"error": {"code": -32602, "message": "id: Only a verdict that is parked, flagged or split."}}
            found[0]["review"] = {"decision": params["decision"], "note": params.get("note"), "at": self.at}
        return {"result": {"context": f"The context of {found[0]['claim']}", **found[0]}}

    def page(self, params: Json) -> Json:
        found = [
            each
            for each in self.verdicts
            if (params.get("tag") is None or params["tag"] in each["tags"])
            and (params.get("status") is None or params["status"] == each["status"])
            and (params.get("text") or "").lower() in str(each["claim"]).lower()
            and (params.get("reviewed") is None or params["reviewed"] == (each["review"] is not None))
            and (params.get("cursor") is None or each["at"] < int(params["cursor"]))
        ]
        limit = params.get("limit", 50)
        return {
            "verdicts": found[:limit],
            "next_cursor": str(found[limit - 1]["at"]) if len(found) > limit else None,
            "counts": {
                "total": len(self.verdicts),
                "awaiting": sum(each["status"] == "parked" and not each["review"] for each in self.verdicts),
                "flagged": sum("council-flagged" in each["tags"] for each in self.verdicts),
                "split": sum("council-split" in each["tags"] for each in self.verdicts),
                "unavailable": sum(each["status"] == "unavailable" for each in self.verdicts),
                "pending": 0,
            },
        }


def verdict(params: Json, changes: Json) -> Json:
    """A verdict of three members on the claim of PARAMS, with the fields of CHANGES in place of the usual ones."""
    votes = [
        {
            "member": member,
            "model": f"{member}:latest",
            "role": "contrarian" if member == "dolphin" else "member",
            "vote": "plausible",
            "axes": {"coherent": 5, "factual": 5, "grounded": None},
            "confidence": 0.9,
            "strength": 5.0,
            "probabilities": None,
            "rationale": f"{member} sees nothing against it.",
            "latency_ms": 700,
            "failure": None,
        }
        for member in ("neuron", "neuron-ft", "dolphin")
    ]
    finding = {"oracle": "evidence-present", "hard": True, "proven": True, "evidence": "3 votes with a rationale"}
    confidence = changes.get("confidence", 0.85)
    return {
        "id": params.get("id"),
        "claim": params["claim"],
        "confidence": confidence,
        "council_votes": ["plausible"] * 3,
        "summary": "3/3 council members agree this is plausible.",
        "tags": TAGS.get(confidence, []),
        "latency_ms": 1420,
        "status": "emitted",
        "tier": "T3",
        "majority": "plausible",
        "cached": False,
        "warnings": [],
        "votes": votes,
        "report": {
            "loop_count": 1,
            "parked_reason": None,
            "quorum": 2,
            "movement": [],
            "challenge": None,
            "consensus": {"valid": 3, "plausible": 3, "uncertain": 0, "confabulation": 0, "spread": 0.0},
            "lenses": [{"lens": "faithfulness", "status": "verified", "findings": [finding]}],
            "dissent": [],
        },
        **changes,
    }


if __name__ == "__main__":
    Server(Path(sys.argv[1]), json.loads(sys.argv[2]) or {}).serve()

#!/usr/bin/env python3
"""A scripted stand-in for the council's server, standard library only, for tests of the client.

    fake_server.py LOG SCRIPT

LOG is a file that gets every message received, one JSON object a line. SCRIPT is a JSON object; every key is optional:

  start        {"stderr": TEXT, "exit": STATUS}: write and leave before anything is read
  initialize   "silent", or {"error": {...}}, or {"result": {...}}, or {"exit": STATUS}, with "delay" in seconds
  shutdown     "silent": neither `shutdown` nor `exit` nor the end of stdin ends the server
  announce     [{"supersedes": ID, "verdict": VERDICT}, ...]: sent right behind the reply to `initialize`, with the
               fields of VERDICT in place of the usual ones
  verify       [STEP, ...], the n-th for the n-th `council/verify`, the last for all later ones
  answers      {METHOD: {"result": ...} or {"error": {...}} or {"exit": STATUS}}, for other methods, else {}

STEP is an object; every key is optional:

  delay        seconds before the answer; a cancellation ends it with error -32800
  notes        texts sent as progress before the answer
  flood        how many further progress notifications are sent
  stderr       text written to stderr first; stderr_size repeats it up to so many characters
  exit         leave with this status instead of an answer
  silent       true: never answer, not even to a cancellation
  error        the error object to answer with
  verdict      fields that replace those of the usual verdict
  result       the whole result, in place of a verdict
  extra        true: the reply has a key that JSON-RPC does not know; "error": the error object has it
  raw          text written to stdout before the answer
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
                self.answer(message["id"], (self.script.get("answers") or {}).get(method, {}))
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
        threading.Event().wait(how.get("delay", 0))
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
        for note in step.get("notes", []):
            self.progress(token, kind="report", message=note)
        for count in range(step.get("flood", 0)):
            self.progress(token, kind="report", message=f"note {count}")
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
            self.write(id=number, result=verdict(params, step.get("verdict", {})), **extra)

    def progress(self, token: object, **value: object) -> None:
        self.write(method="$/progress", params={"token": token, "value": value})


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

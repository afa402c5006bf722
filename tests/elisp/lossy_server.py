#!/usr/bin/env python3
"""The real server, killed between its answer and its client, standard library only.

    lossy_server.py COMMAND...

Runs COMMAND between stdin and stdout until it has written a verdict; that is kept back, and COMMAND is killed (-9).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import IO


def pump(source: IO[bytes], sink: IO[bytes]) -> None:
    """Copy SOURCE to SINK as it comes, to its end."""
    while data := source.read1():  # type: ignore[attr-defined]  # every buffered stream has it
        sink.write(data)
        sink.flush()
    sink.close()


def main() -> int:
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin
    assert server.stdout
    threading.Thread(target=pump, args=(sys.stdin.buffer, server.stdin), daemon=True).start()
    while head := server.stdout.readline():
        length = int(head.partition(b":")[2])
        frame = head + server.stdout.readline() + server.stdout.read(length)
        if b'"council_votes"' in frame:
            break
        sys.stdout.buffer.write(frame)
        sys.stdout.buffer.flush()
    server.kill()
    return 1


if __name__ == "__main__":
    os._exit(main())  # a thread that still reads stdin would hold up an ordinary exit

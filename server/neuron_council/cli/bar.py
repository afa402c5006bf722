"""A progress bar on a terminal, with the time that is left."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

CELLS = 24


class Bar:
    """Draws on STREAM where that is a terminal, and is silent elsewhere. CLOCK gives seconds."""

    def __init__(self, total: int, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """TOTAL is what there is to do; the clock runs from now."""
        self._total = total
        self._done = 0
        self._stream = sys.stderr if stream is None else stream
        self._is_shown = self._stream is not None and self._stream.isatty()
        self._clock = clock
        self._began = clock()

    def begin(self) -> None:
        """Count the time from now on, and draw."""
        self._began = self._clock()
        self._draw(self.text())

    def wait(self, reason: str) -> None:
        """Say what is waited for before it begins."""
        self._draw(reason)

    def advance(self) -> None:
        """One more is done."""
        self._done += 1
        self._draw(self.text())

    def close(self) -> None:
        """Leave the line to whoever writes next."""
        self._draw("")

    def text(self) -> str:
        """The bar as it is now."""
        filled = CELLS * self._done // self._total if self._total else CELLS
        share = 100 * self._done // self._total if self._total else 100
        return f"[{'#' * filled}{'.' * (CELLS - filled)}] {self._done}/{self._total} {share:3d} %  {self._left()}"

    def _left(self) -> str:
        if not self._done:
            return "ETA -:--"
        seconds = round((self._clock() - self._began) / self._done * (self._total - self._done))
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return f"ETA {hours}:{minutes:02}:{seconds:02}" if hours else f"ETA {minutes}:{seconds:02}"

    def _draw(self, text: str) -> None:
        if self._is_shown:
            with suppress(OSError):
                self._stream.write(f"\r{text[: shutil.get_terminal_size().columns - 1]}\x1b[K")
                self._stream.flush()

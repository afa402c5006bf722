"""The log: a rotated file that is the user's alone, and that holds nothing the user wrote."""

from __future__ import annotations

import logging
import os
import secrets
import traceback
from io import FileIO, TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

MAX_BYTES = 1024 * 1024
BACKUPS = 3
MAX_CAUSES = 5

_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"


class _PrivateFile(RotatingFileHandler):
    """A rotated file that only its owner can read, whatever the umask and whatever it was before."""

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802 - logging's own name
        """Whether to rotate. Another server of this home may have done so: then write to the new file."""
        if self.stream is not None and not _is_at(self.stream, self.baseFilename):
            self.stream.close()
            self.stream = self._open()
        return bool(super().shouldRollover(record))

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(
            self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600
        )
        os.fchmod(descriptor, 0o600)
        return TextIOWrapper(FileIO(descriptor, "a"), encoding="utf-8", errors="replace", write_through=True)


def _is_at(stream: TextIOWrapper, path: str) -> bool:
    """Whether PATH is still the file that STREAM writes to."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), Path(path).stat())
    except OSError:
        return False


def begin(home: Path) -> None:
    """Log to HOME/logs/council.log from now on; the file is there at once. Raises OSError where it cannot be made.

    Other libraries' loggers are held to warnings, and pygls' is silent: it prints parameters, which are the user's.
    """
    logging.raiseExceptions = False  # a full disk must not fill stderr
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    root = logging.getLogger()
    root.addHandler(logging.NullHandler())
    folder = home / "logs"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)
    handler = _PrivateFile(folder / "council.log", maxBytes=MAX_BYTES, backupCount=BACKUPS, encoding="utf-8")
    handler.setFormatter(logging.Formatter(_FORMAT))
    root.addHandler(handler)
    logging.getLogger("neuron_council").setLevel(logging.INFO)


def incident(log: logging.Logger, error: BaseException) -> str:
    """Log where ERROR came from, and return the id under which it stands there.

    The types and the frames are logged, the messages are not: they can quote a claim.
    """
    name = secrets.token_hex(4)
    told: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(told) < MAX_CAUSES:
        frames = " < ".join(
            f"{Path(each.filename).name}:{each.lineno} {each.name}"
            for each in reversed(traceback.extract_tb(seen.__traceback__))
        )
        if isinstance(seen, BaseExceptionGroup) and seen.exceptions:
            seen = seen.exceptions[0]
            continue
        told.append(f"{type(seen).__module__}.{type(seen).__qualname__} at {frames or 'no frame'}")
        seen = seen.__cause__ or seen.__context__
    log.error("incident %s: %s", name, "; after ".join(told))
    return name

"""The log file: rotated, the user's alone, and told where an error came from but not what it said."""

import logging

import pytest

from neuron_council.rpc import log as logs


@pytest.fixture
def log(tmp_path):
    """A logger whose records go to a file under tmp_path; what `begin` changes is put back."""
    names = (None, "pygls", "neuron_council")
    before = [(logging.getLogger(name), logging.getLogger(name).level) for name in names]
    handlers, raises = list(logging.getLogger().handlers), logging.raiseExceptions
    logs.begin(tmp_path)
    yield logging.getLogger("neuron_council.test")
    for handler in set(logging.getLogger().handlers) - set(handlers):
        logging.getLogger().removeHandler(handler)
        handler.close()
    for logger, level in before:
        logger.setLevel(level)
    logging.raiseExceptions = raises


def test_it_is_rotated_and_stays_private(log, tmp_path):
    (handler,) = [h for h in logging.getLogger().handlers if isinstance(h, logging.FileHandler)][-1:]
    handler.maxBytes = 300
    for number in range(40):
        log.info("line %d of the log", number)
    files = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert files == ["council.log", *(f"council.log.{n}" for n in range(1, logs.BACKUPS + 1))]
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "logs").iterdir()} == {0o600}
    assert "line 39 of the log" in (tmp_path / "logs" / "council.log").read_text()


def test_other_libraries_are_held_to_warnings_and_pygls_is_silent(log, tmp_path):
    log.info("ours")
    logging.getLogger("httpx").info("theirs: Quokka")
    logging.getLogger("pygls.protocol").error("params: Quokka")
    logging.getLogger("asyncio").warning("slow")
    text = (tmp_path / "logs" / "council.log").read_text()
    assert "ours" in text
    assert "slow" in text
    assert "Quokka" not in text


def test_an_incident_tells_types_and_frames_and_no_message(log, tmp_path):
    def inner():
        raise KeyError("Quokka")

    try:
        try:
            inner()
        except KeyError as cause:
            raise ValueError("Quokka too") from cause
    except ValueError as error:
        name = logs.incident(log, error)
    (line,) = (tmp_path / "logs" / "council.log").read_text().splitlines()
    assert f"incident {name}: builtins.ValueError at test_log.py:" in line
    assert "; after builtins.KeyError at test_log.py:" in line
    assert " inner < " in line
    assert "Quokka" not in line


def test_text_that_utf8_cannot_carry_is_logged_anyway(log, tmp_path):
    log.warning("a %s", "\ud83d")
    assert (tmp_path / "logs" / "council.log").read_text().endswith("a ?\n")


def test_what_another_server_rotated_away_is_written_to_no_more(log, tmp_path):
    current = tmp_path / "logs" / "council.log"
    log.warning("before")
    current.rename(current.with_name("council.log.1"))
    log.warning("after")
    assert "after" in current.read_text()
    assert "after" not in current.with_name("council.log.1").read_text()

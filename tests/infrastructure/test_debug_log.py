from __future__ import annotations

import logging
import stat
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.events.event import ErrorOccurred, Event, TextDelta
from quorum.domain.events.masking import SecretMask
from quorum.infrastructure import debug_log as log_file
from quorum.infrastructure.debug_log import MOST_RUNS, DebugLog, open_debug_log
from quorum.infrastructure.event_observers import LoggingObserver, log_events
from quorum.infrastructure.secrets.known import mask_logs


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


def opened(environ: dict[str, str]) -> tuple[DebugLog, logging.Logger]:
    log = open_debug_log(environ, SecretMask().mask_text)
    logger = logging.Logger("test")
    logger.addHandler(log)
    return log, logger


def test_the_file_and_its_folder_are_for_their_owner_alone(environ: dict[str, str]) -> None:
    log, logger = opened(environ)
    logger.info("hello")
    log.close()

    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.path.parent.stat().st_mode) == 0o700
    assert log.path.read_text().endswith("MainThread INFO test: hello\n")


def test_secrets_are_masked_by_their_looks_and_by_what_a_session_knows(environ: dict[str, str]) -> None:
    log, logger = opened(environ)
    logger.info("key sk-ant-api03-%s", "A1b2C3d4" * 12)
    known = SecretMask()
    known.learn("house", "correct horse battery")
    end = mask_logs(known.mask_text)
    try:
        logger.error("it was %s", "correct horse battery")
        try:
            raise ValueError("correct horse battery")
        except ValueError:
            logger.exception("failed")
    finally:
        end()
        log.close()

    text = log.path.read_text()
    assert "A1b2C3d4" not in text
    assert "correct horse battery" not in text
    assert text.count("[secret:") >= 3


def test_a_record_cannot_forge_another_nor_act_on_a_terminal(environ: dict[str, str]) -> None:
    log, logger = opened(environ)
    logger.info("one\n2026-01-01T00:00:00.000Z MainThread INFO quorum: ended\x1b[2J\r")
    log.close()

    first, second = log.path.read_text().splitlines()
    assert first.endswith("one")
    assert second.startswith("    2026")
    assert not set("\x1b\r") & set(log.path.read_text())


def test_a_run_keeps_what_it_logged_last_within_a_bound(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "MOST_BYTES", 2000)
    log, logger = opened(environ)
    for number in range(200):
        logger.info("record %d", number)
    log.close()

    files = sorted(log.path.parent.iterdir())
    assert files == [log.path, log.path.with_name(f"{log.path.name}.1")]
    assert all(file.stat().st_size <= 2000 and stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    assert "record 199" in log.path.read_text()


def test_the_latest_runs_are_kept_and_other_files_stay(environ: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "state" / "quorum" / "log"
    folder.mkdir(parents=True)
    (folder / "notes.txt").touch()
    for day in range(10, 30):
        (folder / f"debug-202001{day}-000000-1.log").touch()
        (folder / f"debug-202001{day}-000000-1.log.1").touch()

    log, _ = opened(environ)
    log.close()

    runs = {file.name.removesuffix(".1") for file in folder.iterdir()} - {"notes.txt"}
    assert (folder / "notes.txt").exists()
    assert len(runs) == MOST_RUNS
    assert "debug-20200110-000000-1.log" not in runs


def test_a_link_in_its_place_is_not_followed(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "state" / "quorum" / "log"
    folder.mkdir(parents=True)
    monkeypatch.setattr(log_file.time, "strftime", lambda *_: "20260101-000000")
    monkeypatch.setattr(log_file.os, "getpid", lambda: 7)
    (folder / "debug-20260101-000000-7.log").symlink_to(tmp_path / "target")

    with pytest.raises(ConfigError, match="cannot be written"):
        open_debug_log(environ, str)
    assert not (tmp_path / "target").exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match=r"debug log .*file/quorum/log.* cannot be written"):
        open_debug_log({"XDG_STATE_HOME": str(tmp_path / "file")}, str)


def test_a_full_disk_ends_the_log_and_nothing_else(
    environ: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    log, logger = opened(environ)
    log.stream.close()
    log.stream = open("/dev/full", "w", encoding="utf-8")  # noqa: SIM115 - the handler closes it
    log.maxBytes = 0

    logger.info("one")
    logger.info("two")

    assert log.failure is not None
    assert "space" in log.failure
    assert capsys.readouterr() == ("", "")
    with pytest.raises(OSError, match="space"):
        log.stream.close()
    log.stream = None  # type: ignore[assignment]
    log.close()


class Heard:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, event: Event) -> None:
        self.events.append(event)


def test_events_are_logged_without_their_texts_and_handed_on(caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard()
    events = [TextDelta(text="the answer"), ErrorOccurred(message="the answer")]
    with caplog.at_level(logging.DEBUG, "quorum.events"):
        for event in events:
            LoggingObserver(heard).notify(event)

    assert heard.events == events
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("error_occurred")
    assert "answer" not in caplog.text


def test_without_a_debug_log_nothing_stands_between_a_run_and_its_observer() -> None:
    heard = Heard()

    assert log_events(heard) is heard

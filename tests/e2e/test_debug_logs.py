"""The log that `--debug` writes, as a person gets it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.support.headless_run import Ended, environment, run_quorum_now
from tests.support.terminal import Terminal


def quorum(home: Path, *arguments: str) -> Ended:
    return run_quorum_now(*arguments, cwd=home, env=environment(home))


def logs(home: Path) -> list[Path]:
    return sorted((home / "state" / "quorum" / "log").glob("debug-*.log"))


def test_a_run_is_logged_without_its_prompt_and_the_place_is_named_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("buy milk\n")

    ended = quorum(tmp_path, "run", "--debug", "read notes.txt")

    (log,) = logs(tmp_path)
    text = log.read_text()
    assert ended.code == 0
    assert f"the debug log is {log}" in ended.err
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert "call_finished tool=read_file outcome=ok" in text
    assert text.splitlines()[-1].endswith("INFO quorum: ended")
    assert "milk" not in text
    assert "notes.txt" not in text


@pytest.mark.long
def test_without_the_option_nothing_is_logged(tmp_path: Path) -> None:
    quorum(tmp_path, "run", "hello")

    assert logs(tmp_path) == []


@pytest.mark.long
def test_an_error_at_the_start_is_in_the_log_with_its_traceback(tmp_path: Path) -> None:
    ended = quorum(tmp_path, "run", "--debug", "-m", "nothing/such", "hello")

    (log,) = logs(tmp_path)
    assert ended.code == 2
    assert "Traceback" in log.read_text()
    assert "Traceback" not in ended.err


@pytest.mark.long
def test_a_log_that_cannot_be_written_is_said_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "state").touch()

    ended = quorum(tmp_path, "run", "--debug", "hello")

    assert (ended.code, ended.out) == (2, "")
    assert "the debug log" in ended.err
    assert "cannot be written" in ended.err


@pytest.mark.long
def test_the_app_shows_nothing_of_its_log_until_it_is_left(tmp_path: Path) -> None:
    with Terminal(tmp_path, tmp_path, rows=24, columns=80, arguments=["--debug"]) as terminal:
        terminal.submit("hello")
        terminal.wait_for("hello")
        terminal.wait_until(
            lambda: "turn_finished" in "".join(log.read_text() for log in logs(tmp_path)), "the end of the turn"
        )
        assert "DEBUG quorum" not in terminal.painted
        assert "the debug log is" in terminal.quit()


@pytest.mark.long
def test_the_doctor_names_the_folder(tmp_path: Path) -> None:
    ended = quorum(tmp_path, "doctor")

    assert f"written with --debug only, to {tmp_path / 'state' / 'quorum' / 'log'}" in ended.out

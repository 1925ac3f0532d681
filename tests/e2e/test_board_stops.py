"""The process of a session that an app has open is ended from elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.headless_run import Ended, environment, run_quorum_now
from tests.support.terminal import Terminal


@pytest.mark.long
def test_another_app_is_ended_from_the_board_and_its_session_is_free(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    with (
        Terminal(project, home, rows=30, columns=120, arguments=[]) as other,
        Terminal(project, home, rows=30, columns=120, arguments=[]) as app,
    ):
        other.wait_until_ready()
        other.submit("run sleep 600")
        other.wait_for("y yes")
        app.wait_until_ready()
        app.submit("/board")
        app.wait_for("run sleep 600")
        app.type("s")
        app.wait_for(f"process {other.process.pid} is asked to end, with this session: y confirms")
        app.type("y")
        app.wait_for("was asked to end")
        assert other.has_ended(60)

    listed = command(project, home, "board", "--json")
    assert json.loads(listed.out)["open"] == []


def command(project: Path, home: Path, *words: str) -> Ended:
    return run_quorum_now(*words, cwd=project, env=environment(home))


def test_a_session_that_no_process_has_open_is_named_where_it_is_to_be_stopped(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    ran = command(project, home, "run", "hello", "--model", "offline/offline", "--output", "json")
    session_id = json.loads(ran.out)["session_id"]

    stopped = command(project, home, "sessions", "stop", session_id)

    assert stopped.code != 0
    assert f"no process has session {session_id} open any more" in stopped.err


@pytest.mark.long
def test_an_app_is_ended_from_the_command_line_and_its_sessions_are_named(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    with Terminal(project, home, rows=30, columns=120, arguments=[]) as app:
        app.wait_until_ready()
        app.submit("run sleep 600")
        app.wait_for("y yes")
        (session,) = json.loads(command(project, home, "sessions", "list", "--json").out)

        stopped = command(project, home, "sessions", "stop", session["id"])

        assert stopped.out == f"process {app.process.pid} was asked to end; it has {session['id']}\n"
        assert app.has_ended(60)

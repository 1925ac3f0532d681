"""The board of one app ends the process of a session that another one has open."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.headless_run import QUORUM, environment
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
        app.wait_for("run_command sleep 600")
        app.type("s")
        app.wait_for(f"process {other.process.pid} is asked to end, with this session: y confirms")
        app.type("y")
        app.wait_for("was asked to end")
        assert other.has_ended(60)

    listed = subprocess.run(
        [QUORUM, "board", "--json"], cwd=project, env=environment(home), capture_output=True, check=True
    )
    assert json.loads(listed.stdout)["open"] == []

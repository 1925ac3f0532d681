"""The first start of the installed app, where the sandbox works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.terminal import Terminal


@needs_bubblewrap
@pytest.mark.long(after=1)
@pytest.mark.parametrize(("rows", "columns"), [(40, 120), (24, 80)])
def test_the_first_command_of_all_has_the_mode_offered_and_the_next_start_is_in_it(
    rows: int, columns: int, tmp_path: Path
) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    variables = {"QUORUM_REVIEW__OFFER_SANDBOXED": "true"}

    with Terminal(project, home, rows=rows, columns=columns, arguments=[], variables=variables) as terminal:
        terminal.wait_until_ready()
        terminal.submit("run echo first > first.txt")
        terminal.wait_for("Let edits and sandboxed commands run unasked?")
        terminal.press_when_awake("y", "mode: sandboxed")
        terminal.wait_for("exit code 0")
        terminal.quit()
    with Terminal(project, home, rows=rows, columns=columns, arguments=[], variables=variables) as terminal:
        terminal.wait_for("offline")
        terminal.wait_for("sandboxed")
        terminal.submit("run echo made > made.txt")
        terminal.wait_for("exit code 0")
        assert "run unasked" not in terminal.painted
        terminal.quit()

    assert (project / "first.txt").read_text() == "first\n"
    assert (project / "made.txt").read_text() == "made\n"

"""Front ends that can work in no layer say so at the start, and what to do instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.errors import UsageError
from tests.support.command_line import run_command
from tests.support.headless_run import configure, environment, run_quorum_now


def test_an_editor_has_several_sessions_in_one_process_so_none_is_in_a_layer(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="another --mode, or work in a terminal with quorum --mode staged"):
        run_command(["acp", "--mode", "staged"], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("where", ["flag", "settings"])
def test_a_fleet_refuses_the_mode_before_a_session_is_taken(tmp_path: Path, where: str) -> None:
    configure(tmp_path, '[review]\nmode = "staged"\n' if where == "settings" else "")
    flag = ("--mode", "staged") if where == "flag" else ()

    ended = run_quorum_now("fleet", "work", "--until-empty", *flag, cwd=tmp_path, env=environment(tmp_path))

    assert ended.code == 2
    assert "is none for a fleet" in ended.err
    assert "quorum run --mode staged" in ended.err

"""Front ends that can work in no layer say so at the start, and what to do instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.errors import UsageError
from tests.support.command_line import run_command
from tests.support.headless_run import configure, environment, run_quorum_now


def test_what_works_for_an_editor_in_a_layer_does_not_begin_outside_of_one() -> None:
    with pytest.raises(UsageError, match="no layer can be had: the workspace is the whole file system"):
        run_command(["acp", "--layer-of", ""], Path("/"))


@pytest.mark.long
@pytest.mark.parametrize("where", ["flag", "settings"])
def test_a_fleet_refuses_the_mode_before_a_session_is_taken(tmp_path: Path, where: str) -> None:
    configure(tmp_path, '[review]\nmode = "staged"\n' if where == "settings" else "")
    flag = ("--mode", "staged") if where == "flag" else ()

    ended = run_quorum_now("fleet", "work", "--until-empty", *flag, cwd=tmp_path, env=environment(tmp_path))

    assert ended.code == 2
    assert "is none for a fleet" in ended.err
    assert "quorum run --mode staged" in ended.err

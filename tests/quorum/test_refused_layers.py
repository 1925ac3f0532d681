"""Front ends that can work in no layer say so at the start, and what to do instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.cli.fleet import check_worker
from quorum.domain.review.mode import Mode
from quorum.errors import UsageError
from tests.support.command_line import run_command


def test_an_editor_has_several_sessions_in_one_process_so_none_is_in_a_layer(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="another --mode, or work in a terminal with quorum --mode staged"):
        run_command(["acp", "--mode", "staged"], tmp_path)


def test_a_fleet_refuses_the_mode_before_a_session_is_taken_where_no_layer_can_be_mounted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/self/task")  # in which nothing can be made
    with pytest.raises(UsageError, match=r"cannot be chosen on this machine: .*name another --mode"):
        check_worker(Mode.STAGED)
    check_worker(Mode.ASK)

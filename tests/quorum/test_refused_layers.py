"""Front ends that can work in no layer say so at the start, and what to do instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.cli.fleet import check_worker
from quorum.domain.review.mode import Mode
from quorum.errors import UsageError
from tests.support.command_line import run_command


def test_what_works_for_an_editor_in_a_layer_does_not_begin_outside_of_one() -> None:
    with pytest.raises(UsageError, match="no layer can be had: the workspace is the whole file system"):
        run_command(["acp", "--layer-of", ""], Path("/"))


def test_a_fleet_refuses_the_mode_before_a_session_is_taken_where_no_layer_can_be_mounted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/self/task")  # in which nothing can be made
    with pytest.raises(UsageError, match=r"cannot be chosen on this machine: .*name another --mode"):
        check_worker(Mode.STAGED)
    check_worker(Mode.ASK)

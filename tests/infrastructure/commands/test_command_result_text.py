from __future__ import annotations

import pytest

from quorum.domain.errors import ToolError
from quorum.infrastructure.execution.commands.environment import render_result
from quorum.infrastructure.execution.commands.process import Ending


def test_processes_that_could_not_be_ended_are_named() -> None:
    text = render_result(Ending(exit_code=0, ended=1, left=(41, 42)), "out", 60)

    assert text.splitlines() == [
        "out",
        "exit code 0",
        "1 background process was ended",
        "2 processes could not be ended and may still run: 41, 42",
    ]


def test_a_timeout_does_not_count_what_it_ended_but_names_what_is_left() -> None:
    with pytest.raises(ToolError) as caught:
        render_result(Ending(exit_code=None, timed_out=True, ended=3, left=(41,)), "", 60)

    assert str(caught.value).splitlines() == [
        "the command was ended after 60 s, its time limit; give it a larger timeout_secs if it needs more; "
        "it had printed nothing",
        "1 process could not be ended and may still run: 41",
    ]


def test_a_warden_lost_after_the_command_had_ended_is_a_remark_only() -> None:
    text = render_result(Ending(exit_code=3, ended=2, supervisor_lost=True), "", 60)

    assert text.startswith("exit code 3\nthe process that watches over the command was killed")
    assert text.endswith("2 processes of the command were found and ended")

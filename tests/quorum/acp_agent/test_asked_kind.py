"""The kind of work that a permission request names."""

from __future__ import annotations

import pytest

from quorum.acp_agent.client_approver import _choose_asked_kind
from quorum.acp_agent.tool_calls import choose_kind


@pytest.mark.parametrize("tool", ["read_file", "glob_search"])
def test_a_question_about_a_read_is_of_no_kind_that_clients_allow_by_themselves(tool: str) -> None:
    assert choose_kind(tool) in ("read", "search")
    assert _choose_asked_kind(tool) == "other"


def test_other_questions_keep_the_kind_of_their_call() -> None:
    assert _choose_asked_kind("run_command") == choose_kind("run_command") == "execute"

"""What reviewers of a change can look at: the copy of the repository, and nothing beyond it."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.application.event_bus import EventBus
from quorum.application.review.ballot_paper import QuorumPolicy
from quorum.application.review.voting import Voting
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import ToolCall
from quorum.domain.events.masking import SecretMask
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.changes.folder_tools import LookingParts, make_folder_tools
from tests.support.builders import a_call
from tests.support.fake_gateway import FakeGateway


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "paint.py").write_text("colours = 3\n")
    (tmp_path / "private.txt").write_text("not yours\n")
    return tmp_path / "copy"


async def look(copy: Path, call: ToolCall) -> tuple[list[Outcome], str]:
    outcomes: list[Outcome] = []
    parts = LookingParts(
        voting=Voting(gateway=FakeGateway({}), policy=QuorumPolicy(reviewers=()), events=EventBus([])),
        limits=OutputLimits(),
        mask=SecretMask(),
        hooks=(),
        most_rounds=3,
        scope=RequestedScope(task="review a change"),
    )
    open_tools = make_folder_tools(parts, sensitive=("**/.env",))(copy)
    tools = open_tools(lambda _tool, _arguments, outcome, _size: outcomes.append(outcome))
    (result,) = await tools.run([call], 0)
    return outcomes, result.output


async def test_a_reviewer_reads_a_file_of_the_copy(copy: Path) -> None:
    outcomes, output = await look(copy, a_call("read_file", {"path": "paint.py"}))

    assert outcomes == [Outcome.OK]
    assert "colours = 3" in output


@pytest.mark.parametrize(
    "call",
    [
        a_call("read_file", {"path": "../private.txt"}),
        a_call("read_file", {"path": "/etc/passwd"}),
        a_call("list_directory", {"path": ".."}),
        a_call("grep_search", {"pattern": "yours", "path": ".."}),
        a_call("glob_search", {"pattern": "*.txt", "path": ".."}),
    ],
    ids=lambda call: f"{call.tool_name} {call.arguments['path']}",
)
async def test_nothing_beyond_the_copy_is_read_and_nobody_is_asked_to_allow_it(
    copy: Path, call: ToolCall
) -> None:
    outcomes, output = await look(copy, call)

    assert outcomes in ([Outcome.REJECTED], [Outcome.ERROR])
    assert "not yours" not in output
    assert "root:" not in output
    assert "private.txt" not in output.replace("../private.txt", "").replace(str(copy.parent), "")

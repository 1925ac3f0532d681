"""A link that is changed between the decision about a call and its run: the call is decided about anew."""

import os
from pathlib import Path

import pytest

from quorum.domain.calls.execution import Outcome
from quorum.domain.events.event import CallFinished
from quorum.domain.review.questions import Approve, Reject, ReviewAnswer, ReviewRequest
from quorum.domain.text.json_value import JsonValue
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.real_session import SessionStage, call


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {}),
        ("grep_search", {"pattern": "TOKEN"}),
        ("write_file", {"content": "new\n"}),
        ("edit_file", {"old_text": "TOKEN=1", "new_text": "TOKEN=2"}),
    ],
)
async def test_a_link_that_leads_to_a_sensitive_file_by_then_is_asked_about_anew(
    tool: str, arguments: dict[str, JsonValue], tmp_path: Path
) -> None:
    stage = SessionStage(tmp_path, more_settings=f'[permissions]\nask = ["{tool}"]')
    (stage.root / "a.txt").write_text("TOKEN=1, it says\n")
    (stage.root / ".env").write_text("TOKEN=1\n")
    link = stage.root / "x"
    link.symlink_to("a.txt")

    def swap_and_approve(request: ReviewRequest) -> ReviewAnswer:
        if any("sensitive" in reason for reason in request.reasons):
            return Reject()
        link.unlink()
        os.symlink(".env", link)
        return Approve(request.packet.digest)

    observer, person = RecordingObserver(), FakePerson(swap_and_approve)
    async with stage.opened(person=person, observer=observer) as session:
        await session.turn(call(tool, path="x", **arguments))

    (end,) = [event for event in observer.events if isinstance(event, CallFinished)]
    assert end.outcome is Outcome.REJECTED
    assert "TOKEN" not in end.output
    first, second = person.requests
    assert first.packet.digest != second.packet.digest
    assert (stage.root / ".env").read_text() == "TOKEN=1\n"

"""A link that is changed between the decision about a call and its run: the call is decided about anew."""

import os
import subprocess
import sys
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


_SWAPPING = """
import ctypes, os, sys
libc, folder, link = ctypes.CDLL(None), os.fsencode(sys.argv[1]), os.fsencode(sys.argv[1] + "-link")
print("ready", flush=True)
while os.getppid() == int(sys.argv[2]):
    libc.renameat2(-100, folder, -100, link, 2)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges two names at once")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"path": "d/x.txt", "content": "new\n"}),
        ("edit_file", {"path": "d/x.txt", "old_text": "one", "new_text": "two"}),
        (
            "apply_patch",
            {"patch": "*** Begin Patch\n*** Update File: d/x.txt\n@@\n-one\n+two\n*** End Patch\n"},
        ),
        ("read_file", {"path": "d/x.txt"}),
    ],
)
async def test_a_folder_that_is_swapped_all_the_time_leads_no_call_out_of_the_workspace(
    tool: str, arguments: dict[str, JsonValue], tmp_path: Path
) -> None:
    stage = SessionStage(tmp_path, more_settings='[review]\nmode = "accept-edits"', model="openai/gpt-5-codex")
    inside, outside = stage.root / "d", tmp_path / "outside"
    for folder, text in ((inside, "one\n"), (outside, "one, outside\n")):
        folder.mkdir()
        (folder / "x.txt").write_text(text)
    (stage.root / "d-link").symlink_to(outside)
    observer = RecordingObserver()
    command = [sys.executable, "-c", _SWAPPING, str(inside), str(os.getpid())]

    with subprocess.Popen(command, stdout=subprocess.PIPE) as swapping:  # noqa: ASYNC220 - it ends with the block
        try:
            assert swapping.stdout is not None
            swapping.stdout.readline()
            async with stage.opened(person=FakePerson(lambda _: Reject()), observer=observer) as session:
                for _ in range(12):
                    await session.turn(call(tool, **arguments))
        finally:
            swapping.kill()

    ends = [event for event in observer.events if isinstance(event, CallFinished)]
    assert len(ends) == 12
    assert not any("outside\n" in end.output and end.outcome is Outcome.OK for end in ends)
    assert {file.name: file.read_text() for file in outside.iterdir()} == {"x.txt": "one, outside\n"}

"""Two subagents side by side in a process that is killed after any event: none is asked again by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.conversation.history import ToolResults
from quorum.domain.events.event import CallStarted, SubagentFinished, SubagentStarted, TurnFinished
from quorum.domain.events.report import RunStatus
from quorum.infrastructure.container import Container
from tests.support.builders import calls_response
from tests.support.disk_images import DiskImage, DiskImages
from tests.support.real_session import LedgerThat, SessionStage, call, says
from tests.support.session_parts import change_ledger
from tests.support.subagent_stage import Answers, task, task_rig

READ = call("read_file", path="a.txt")


def scripts() -> dict[str, Answers]:
    return {name: [calls_response(READ), says(f"{name} has read it")] for name in ("one", "two")}


@pytest.mark.long
async def test_what_a_subagent_said_before_the_kill_is_its_result_and_the_rest_is_said_to_be_cut(
    tmp_path: Path,
) -> None:
    stage = SessionStage(tmp_path)
    (stage.root / "a.txt").write_text("alpha")
    images = DiskImages(stage.home / "state", tmp_path, lambda event: isinstance(event, CallStarted))

    def adjust(container: Container) -> None:
        change_ledger(container, lambda ledger: LedgerThat(ledger, after=images.copy_after))

    async with task_rig(stage, scripts(), adjust=adjust) as rig:
        report = await rig.turn([task("one"), task("two")])
    assert report.status is RunStatus.COMPLETED, report.error
    killed = images.select(without=[TurnFinished])
    assert {"call_started", "subagent_started", "subagent_finished", "call_finished"} <= {
        image.last for image in killed
    }
    for image in killed:
        await _continue(SessionStage(tmp_path, state_home=image.state_home), image)


async def _continue(stage: SessionStage, image: DiskImage) -> None:
    at = f"after {len(image.events)} events, the last {image.last}"
    finished = {each.subagent_id for each in image.events if isinstance(each, SubagentFinished)}
    started = {each.subagent_id: each.prompt for each in image.events if isinstance(each, SubagentStarted)}
    async with task_rig(stage, scripts()) as rig:
        rig.script()
        report = await rig.session.agent.run.execute("go on")
        messages = rig.session.state.messages
        await rig.session.check()
    assert report.status is RunStatus.COMPLETED, (at, report.error)
    assert rig.gateway.asked == [], at
    (given,) = [each for each in messages if isinstance(each, ToolResults)]
    outputs = [result.output for result in given.results]
    assert len(outputs) == 2, at
    for id_ in finished:
        assert f"{started[id_]} has read it" in outputs, at
    cut = ("interrupted", "not run", "its effect is unknown")
    for output in outputs:
        assert output.endswith("has read it") or any(each in output for each in cut), (at, output)

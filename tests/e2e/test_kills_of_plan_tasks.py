"""Tasks of a plan in a process that is killed after any event: what is done is not asked for again."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.events.event import PlanApproved, StateMerged, TurnFinished
from domain.events.report import RunStatus
from domain.plan.phase import PhaseScope
from domain.plan.progress import PLAN_VALUE
from domain.text.json_value import JsonValue
from infrastructure.container import Container
from tests.support.builders import calls_response
from tests.support.disk_images import DiskImage, DiskImages
from tests.support.fake_ports import FakePerson
from tests.support.real_session import LedgerThat, SessionStage, call, says, write
from tests.support.subagent_stage import Answers, TaskRig, task_rig

FILES = {"lexer": "src/lexer.py", "docs": "docs/a.md", "parser": "src/parser.py"}
TASKS: JsonValue = [
    {"id": "lexer", "description": "cut it up", "writes": ["src/lexer.py"]},
    {"id": "docs", "description": "tell of it", "writes": ["docs/*.md"]},
    {"id": "parser", "description": "read it", "depends_on": ["lexer"], "writes": ["src/parser.py"]},
]
PLAN = call("create_plan", objective="a parser", reasoning="it is asked for", tasks=TASKS)


def scripts() -> dict[str, Answers]:
    return {id_: [calls_response(write(path, "x")), says(f"{id_} is written")] for id_, path in FILES.items()}


def run_all(rig: TaskRig) -> None:
    """Two tasks at the same time, and one that follows one of them."""
    rig.script([call("run_task", id=id_) for id_ in FILES])


def statuses(rig: TaskRig) -> dict[str, str]:
    progress = rig.session.agent.plans.progress
    return {} if progress is None else {id_: status.value for id_, status in progress.statuses.items()}


def list_done(image: DiskImage) -> set[str]:
    """The tasks whose end the process had recorded on the record of the session."""
    values = [each.changed.get(PLAN_VALUE) for each in image.events if isinstance(each, StateMerged)]
    last = next((steps for steps in reversed(values) if isinstance(steps, list)), [])
    return {str(step["id"]) for step in last if isinstance(step, dict) and step["status"] == "done"}


@pytest.mark.long
async def test_a_task_that_is_done_is_not_asked_for_again_wherever_the_process_is_killed(
    tmp_path: Path,
) -> None:
    stage = SessionStage(tmp_path)
    images = DiskImages(stage.home / "state", tmp_path, lambda event: isinstance(event, PlanApproved))

    def adjust(container: Container) -> None:
        container.ledger.override(LedgerThat(container.ledger(), after=images.copy_after))

    async with task_rig(stage, scripts(), person=FakePerson(), adjust=adjust) as rig:
        await rig.session.agent.plans.set_scope(PhaseScope.PLAN_ONLY)
        rig.script([PLAN], [call("run_task", id=id_) for id_ in FILES])
        report = await rig.session.agent.run.execute("make a parser")
    assert report.status is RunStatus.COMPLETED, report.error
    killed = images.select(without=[TurnFinished])
    assert {"call_started", "subagent_started", "subagent_finished", "state_merged", "call_finished"} <= {
        image.last for image in killed
    }
    for image in killed:
        await _continue(SessionStage(tmp_path, state_home=image.state_home), image)


async def _continue(stage: SessionStage, image: DiskImage) -> None:
    at = f"after {len(image.events)} events, the last {image.last}"
    async with task_rig(stage, scripts(), person=FakePerson()) as rig:
        before = statuses(rig)
        done = {id_ for id_, status in before.items() if status == "done"}
        if before:
            assert list_done(image) <= done, at
            assert "in_progress" not in before.values(), at
            run_all(rig)
        else:
            rig.script()
        report = await rig.session.agent.run.execute("go on")
        asked = [id_ for id_ in FILES for each in rig.gateway.asked if f"Task {id_} of" in str(each.sent[0])]
        after = statuses(rig)
        await rig.session.check()
    assert report.status is RunStatus.COMPLETED, (at, report.error)
    assert sorted(asked) == sorted(set(before) - done), at
    assert after == {}, (at, "all are done, so the plan is in force no more")

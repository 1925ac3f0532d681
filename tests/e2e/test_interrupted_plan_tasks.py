"""Tasks of a plan, interrupted or killed after any event: what is done is not asked for again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quorum.domain.events.event import Event, PlanApproved, StateMerged, TurnFinished
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.plan.progress import PLAN_VALUE
from quorum.domain.text.json_value import JsonValue
from quorum.infrastructure.container import Container
from tests.support.builders import calls_response
from tests.support.disk_images import DiskImage, DiskImages
from tests.support.fake_ports import FakePerson
from tests.support.real_session import LedgerThat, SessionStage, call, says, write
from tests.support.session_parts import change_ledger
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
        change_ledger(container, lambda ledger: LedgerThat(ledger, after=images.copy_after))

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


@pytest.mark.long
async def test_a_task_that_is_done_is_not_asked_for_again_wherever_esc_interrupts(tmp_path: Path) -> None:
    kinds: list[str] = []
    for place in range(0, 60, 4):  # the turn has some sixty events from the approval on
        folder = tmp_path / str(place)
        folder.mkdir()
        if (kind := await _interrupt_at(SessionStage(folder), place)) is not None:
            kinds.append(kind)
    assert len(set(kinds)) > 3, kinds


async def _interrupt_at(stage: SessionStage, place: int) -> str | None:
    """Carry the plan out, interrupted once so many events were recorded since its approval; then carry it out
    in another process. The type of that event, None where the turn had ended before."""
    turns: list[asyncio.Task[RunReport]] = []
    seen: list[str] = []

    def interrupt(event: Event) -> None:
        if seen or isinstance(event, PlanApproved):
            seen.append(event.type)
        if len(seen) == place + 1 and not turns[0].cancelling():
            turns[0].cancel()

    def adjust(container: Container) -> None:
        change_ledger(container, lambda ledger: LedgerThat(ledger, after=interrupt))

    async with task_rig(stage, scripts(), person=FakePerson(), adjust=adjust) as rig:
        await rig.session.agent.plans.set_scope(PhaseScope.PLAN_ONLY)
        rig.script([PLAN], [call("run_task", id=id_) for id_ in FILES])
        turns.append(asyncio.create_task(rig.session.agent.run.execute("make a parser")))
        report = await turns[0]
        assert report.status in (RunStatus.INTERRUPTED, RunStatus.COMPLETED), (seen, report.error)
        assert "in_progress" not in statuses(rig).values(), seen
        before = statuses(rig)
        await rig.session.check()
    async with task_rig(stage, scripts(), person=FakePerson()) as later:
        assert statuses(later) == before, seen
        if before:
            run_all(later)
        else:
            later.script()
        again = await later.session.agent.run.execute("go on")
        asked = [id_ for id_ in FILES for each in later.gateway.asked if f"Task {id_} of" in str(each.sent[0])]
        assert again.status is RunStatus.COMPLETED, (seen, again.error)
        assert sorted(asked) == sorted(id_ for id_, status in before.items() if status != "done"), seen
        assert statuses(later) == {}, seen
    return seen[place] if len(seen) > place else None

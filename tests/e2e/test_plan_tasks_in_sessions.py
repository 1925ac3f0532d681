"""Tasks of an approved plan carried out by subagents, with everything behind them real but the models."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import ToolCall
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import BatchPlanned, CallFinished, PlanWithdrawn
from quorum.domain.events.report import RunStatus
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.review.questions import Approve, Reject, ReviewAnswer, ReviewRequest
from quorum.domain.text.json_value import JsonValue
from tests.support.builders import calls_response
from tests.support.fake_ports import FakePerson
from tests.support.fake_session import Step
from tests.support.real_session import SessionStage, call, says, write
from tests.support.subagent_stage import Answers, TaskRig, task_rig

TASKS: JsonValue = [
    {"id": "lexer", "description": "cut it up", "writes": ["src/lexer.py"]},
    {"id": "docs", "description": "tell of it", "writes": ["docs/*.md"]},
    {"id": "parser", "description": "read it", "depends_on": ["lexer"], "writes": ["src/parser.py"]},
]


def plan(tasks: JsonValue = TASKS) -> ToolCall:
    return call("create_plan", objective="a parser", reasoning="it is asked for", tasks=tasks)


def run_task(id_: str) -> ToolCall:
    return call("run_task", id=id_)


def writes(path: str, text: str = "done") -> Answers:
    return [calls_response(write(path, "x")), says(text)]


def approve_plans_alone(request: ReviewRequest) -> ReviewAnswer:
    if request.packet.call.tool_name == "create_plan":
        return Approve(request.packet.digest)
    return Reject("not that file")


def statuses(rig: TaskRig) -> list[str]:
    progress = rig.session.agent.plans.progress
    return [] if progress is None else [progress.statuses[task.id].value for task in progress.plan.tasks]


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    return SessionStage(tmp_path)


async def carry_out(rig: TaskRig, *batches: list[ToolCall]) -> None:
    await rig.session.agent.plans.set_scope(PhaseScope.PLAN_ONLY)
    rig.script([plan()], *batches)


@pytest.mark.long
async def test_independent_tasks_run_at_the_same_time_and_the_one_behind_them_begins_when_it_can(
    stage: SessionStage,
) -> None:
    gates = {name: asyncio.Event() for name in ("lexer", "docs", "parser")}
    tasks: dict[str, Answers] = {
        name: [Step(answer=calls_response(write(path, "x")), gate=gates[name]), says(f"{name} is written")]
        for name, path in {"lexer": "src/lexer.py", "docs": "docs/a.md", "parser": "src/parser.py"}.items()
    }
    person = FakePerson()
    async with task_rig(stage, tasks, person=person) as rig:
        await carry_out(rig, [run_task("lexer"), run_task("docs"), run_task("parser")])
        turn = asyncio.create_task(rig.session.agent.run.execute("go"))
        await rig.gateway.all_wait(2)  # both are at their models
        gates["lexer"].set()
        await rig.gateway.are_asked(3)  # the parser has begun, though the docs are not done
        assert statuses(rig) == [
            "done",
            "in_progress",
            "in_progress",
        ]
        gates["docs"].set()
        gates["parser"].set()
        report = await turn
    assert report.status is RunStatus.COMPLETED, report.error
    assert [request.packet.call.tool_name for request in person.requests] == ["create_plan"]
    for path in ("src/lexer.py", "docs/a.md", "src/parser.py"):
        assert (stage.root / path).read_text() == "x"
    prompt = rig.gateway.asked[2].sent[0].messages[0]
    assert "lexer is written" in str(prompt)
    (lanes,) = [e.lanes for e in rig.seen.events if isinstance(e, BatchPlanned) and len(e.lanes) == 3]
    assert [lane.follows for lane in lanes] == [(), (), (0,)]
    assert any(isinstance(event, PlanWithdrawn) for event in rig.seen.events), "all is done"


async def test_without_run_task_the_model_carries_the_tasks_out_itself_and_is_told_so(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path, more_settings='[tools]\ndisabled = ["run_task"]')
    tasks: JsonValue = [{"id": "lexer", "description": "cut it up", "writes": ["src/lexer.py"]}]
    begin = call("update_task", id="lexer", status="started")
    end = call("update_task", id="lexer", status="done")
    person = FakePerson(approve_plans_alone)
    async with task_rig(stage, {}, person=person) as rig:
        await rig.session.agent.plans.set_scope(PhaseScope.PLAN_ONLY)
        rig.script([plan(tasks)], [begin], [write("src/lexer.py", "x")], [end])
        report = await rig.session.agent.run.execute("go")
    assert report.status is RunStatus.COMPLETED, report.error
    assert (stage.root / "src" / "lexer.py").read_text() == "x"
    assert len(person.requests) == 1, "the task is in the scope of the plan"
    approved = next(
        e.output for e in rig.seen.events if isinstance(e, CallFinished) and e.tool == "create_plan"
    )
    assert "There is no run_task here: carry out each task yourself" in approved
    assert any(isinstance(event, PlanWithdrawn) for event in rig.seen.events), "all is done"


async def test_a_task_writes_what_it_declares_and_is_asked_about_what_another_one_declares(
    stage: SessionStage,
) -> None:
    person = FakePerson(approve_plans_alone)
    tasks: dict[str, Answers] = {
        "lexer": [
            calls_response(write("src/lexer.py", "x"), write("docs/a.md", "x"), write("src/parser.py", "x")),
            says("the lexer is written"),
        ]
    }
    async with task_rig(stage, tasks, person=person) as rig:
        await carry_out(rig, [run_task("lexer")])
        await rig.session.agent.run.execute("go")
    asked = person.requests[1:]
    assert [request.packet.call.arguments["path"] for request in asked] == ["docs/a.md", "src/parser.py"]
    for request in asked:
        assert "it lies outside of what the task lexer declares" in request.reasons
        assert request.packet.asked_by == "task lexer of the plan"
    assert (stage.root / "src" / "lexer.py").exists()
    assert not (stage.root / "docs").exists()


async def test_a_task_that_says_it_failed_blocks_what_comes_after_it_and_the_ending_says_so(
    stage: SessionStage,
) -> None:
    tasks: dict[str, Answers] = {
        "lexer": [calls_response(call("fail_task", reason="there is no grammar")), says("there is no grammar")],
        "docs": [says("told")],
    }
    async with task_rig(stage, tasks) as rig:
        await carry_out(rig, [run_task("lexer"), run_task("docs"), run_task("parser")])
        report = await rig.session.agent.run.execute("go")
        assert statuses(rig) == ["failed", "done", "blocked"]
        offered = [
            {str(schema["name"]) for schema in sent.tools} for sent in (s.sent[0] for s in rig.gateway.asked)
        ]
    assert [call_.outcome for call_ in report.calls] == [Outcome.OK, Outcome.ERROR, Outcome.OK, Outcome.ERROR]
    assert report.status is RunStatus.FAILED
    assert report.error == "of the plan failed: lexer; parser cannot be started because of it"
    for tools in offered:
        assert {"fail_task", "write_file", "run_command"} <= tools
        assert not {"run_task", "update_task", "create_plan", "task"} & tools


async def test_a_model_that_is_down_fails_the_task_and_not_the_one_beside_it(stage: SessionStage) -> None:
    down = ProviderError("the model is down", kind=ProviderErrorKind.BAD_REQUEST)
    tasks: dict[str, Answers] = {"lexer": [down], "docs": [says("told")]}
    async with task_rig(stage, tasks) as rig:
        await carry_out(rig, [run_task("lexer"), run_task("docs")])
        await rig.session.agent.run.execute("go")
        assert statuses(rig) == ["failed", "done", "blocked"]


async def test_without_a_plan_nobody_is_offered_to_run_its_tasks(stage: SessionStage) -> None:
    async with task_rig(stage, {}) as rig:
        report = await rig.turn([run_task("lexer")])
        offered = {str(schema["name"]) for schema in rig.gateway.sessions[-1].sent[-1].tools}
    assert report.calls[0].outcome is Outcome.ERROR
    assert not {"run_task", "fail_task"} & offered


@pytest.mark.long
async def test_an_undo_gives_back_the_files_of_a_task_and_the_plan_with_none_of_it_begun(
    stage: SessionStage,
) -> None:
    async with task_rig(stage, {"lexer": list(writes("src/lexer.py"))}) as rig:
        await carry_out(rig)
        await rig.session.agent.run.execute("plan")
        await rig.turn([run_task("lexer")])
        assert statuses(rig)[0] == "done"
        await rig.session.undo(1)
        assert statuses(rig)[0] == "pending"
        assert not (stage.root / "src" / "lexer.py").exists()

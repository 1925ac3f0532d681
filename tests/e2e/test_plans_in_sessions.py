"""Plans through all of a real session: what is offered and withheld, what an approval allows, what outlives."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import ToolCall
from quorum.domain.errors import ConfigError, PlanRefused
from quorum.domain.events.event import PlanApproved, PlanWithdrawn
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.review.questions import (
    Approve,
    DecisionLabel,
    Edit,
    NobodyThere,
    Reject,
    ReviewAnswer,
    ReviewRequest,
)
from quorum.domain.text.json_value import JsonValue
from tests.support.fake_ports import FakePerson
from tests.support.real_session import RealSession, SessionStage, call, shell, write

TASKS: JsonValue = [
    {"id": "parser", "description": "write it", "writes": ["src/**"], "commands": ["touch made"]},
    {"id": "docs", "description": "tell of it", "depends_on": ["parser"], "writes": ["docs/*.md"]},
]


def plan(tasks: JsonValue = TASKS) -> ToolCall:
    return call("create_plan", objective="a parser", reasoning="it is asked for", tasks=tasks)


def task(id_: str, status: str) -> ToolCall:
    return call("update_task", id=id_, status=status)


def offered(session: RealSession) -> set[str]:
    return {str(schema["name"]) for schema in session.requests[-1].tools}


def decisions(report: RunReport) -> list[DecisionLabel]:
    return [record.decision for record in report.calls]


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    return SessionStage(tmp_path)


async def plan_first(session: RealSession, *after: ToolCall) -> RunReport:
    await session.agent.plans.set_scope(PhaseScope.PLAN_ONLY)
    return await session.turn(plan(), *after, prompt="make a parser")


async def test_while_a_plan_is_made_only_reading_is_offered_and_nothing_else_runs(stage: SessionStage) -> None:
    person = FakePerson()
    async with stage.opened(person=person) as session:
        await session.turn(prompt="hello")
        assert "write_file" in offered(session)
        assert not {"create_plan", "update_task"} & offered(session)
        await session.agent.plans.set_scope(PhaseScope.PLAN_ONLY)
        report = await session.turn(write("src/a", "x"), shell("touch made"), shell("ls"))
        assert {"read_file", "create_plan"} <= offered(session)
        assert not {"write_file", "edit_file", "run_command", "update_plan", "update_task"} & offered(session)
    assert [record.outcome for record in report.calls] == [Outcome.ERROR] * 3  # none of them was offered
    assert not person.requests
    assert not (stage.root / "src").exists()
    assert not (stage.root / "made").exists()


@pytest.mark.long
async def test_an_approved_plan_allows_what_it_declares_and_everything_else_is_asked_about(
    stage: SessionStage,
) -> None:
    person = FakePerson()
    stage_calls = (write("src/a", "x"), shell("touch made"), write("other", "x"), shell("touch more"))
    async with stage.opened(person=person) as session:
        report = await plan_first(session, *stage_calls)
        assert "update_task" in offered(session)
        assert not {"create_plan", "update_plan"} & offered(session)
        assert session.state.phase.scope is PhaseScope.FULL
    assert [request.packet.call.tool_name for request in person.requests] == [
        "create_plan",
        "write_file",
        "run_command",
    ]
    assert "it lies outside of the approved plan" in person.requests[1].reasons
    allowed = [DecisionLabel.ALLOWED] * 2
    assert decisions(report) == [DecisionLabel.APPROVED, *allowed, *[DecisionLabel.APPROVED] * 2]
    assert (stage.root / "src" / "a").read_text() == "x"


@pytest.mark.parametrize("mode", ["auto", "accept-edits"])
async def test_no_mode_stands_in_for_what_lies_outside_of_the_plan(tmp_path: Path, mode: str) -> None:
    stage = SessionStage(tmp_path, more_settings=f'[review]\nmode = "{mode}"\n')
    person = FakePerson(
        lambda request: (
            Approve(request.packet.digest) if request.packet.call.tool_name == "create_plan" else Reject("no")
        )
    )
    async with stage.opened(person=person) as session:
        report = await plan_first(session, write("src/a", "x"), write("other", "x"))
    assert [record.outcome for record in report.calls] == [Outcome.OK, Outcome.OK, Outcome.REJECTED]


@pytest.mark.long
async def test_a_plan_allows_nothing_that_a_rule_denies_or_that_is_always_asked_about(tmp_path: Path) -> None:
    stage = SessionStage(
        tmp_path,
        more_settings='[permissions]\ndeny = ["write_file(src/secret/**)"]\nask = ["run_command(touch *)"]\n',
    )
    everything: JsonValue = [
        {"id": "all", "description": "x", "writes": ["**"], "commands": ["touch made", "rm -rf *"]}
    ]
    person = FakePerson()
    async with stage.opened(person=person) as session:
        await session.agent.plans.set_scope(PhaseScope.PLAN_ONLY)
        report = await session.turn(
            plan(everything),
            write("src/secret/a", "x"),
            shell("touch made"),
            write(".github/workflows/x.yml", "x"),
            write(".env", "A=1"),
            shell("rm -rf /"),
        )
    assert report.calls[1].decision is DecisionLabel.DENIED
    asked = [request.packet.call.tool_name for request in person.requests]
    assert asked == ["create_plan", "run_command", "write_file", "write_file", "run_command"]


async def test_a_plan_that_does_not_hold_together_goes_back_to_the_model_and_nobody_is_asked(
    stage: SessionStage,
) -> None:
    person = FakePerson()
    circle: JsonValue = [
        {"id": "a", "description": "x", "depends_on": ["b"]},
        {"id": "b", "description": "x", "depends_on": ["a"]},
    ]
    async with stage.opened(person=person) as session:
        await session.agent.plans.set_scope(PhaseScope.PLAN_ONLY)
        report = await session.turn(plan(circle))
        said = str(session.container.parts().core.conversation.messages)
    assert report.calls[0].outcome is Outcome.ERROR
    assert "a → b → a" in said
    assert not person.requests


async def test_a_rejected_plan_is_not_in_force_and_the_reason_goes_to_the_model(stage: SessionStage) -> None:
    person = FakePerson(lambda _request: Reject("too much"))
    async with stage.opened(person=person) as session:
        report = await plan_first(session, write("src/a", "x"))
        assert session.state.phase.approved is None
        assert session.state.phase.is_planning
        assert "too much" in str(session.container.parts().core.conversation.messages)
    assert [record.outcome for record in report.calls] == [Outcome.REJECTED, Outcome.ERROR]
    assert not (stage.root / "src").exists()


async def test_an_edited_plan_is_asked_about_again_and_only_that_one_is_in_force(stage: SessionStage) -> None:
    def answer(request: ReviewRequest) -> ReviewAnswer:
        arguments = request.packet.call.arguments
        tasks = arguments["tasks"]
        assert isinstance(tasks, list | tuple)
        return (
            Edit({**arguments, "tasks": list(tasks)[:1]}) if len(tasks) > 1 else Approve(request.packet.digest)
        )

    person = FakePerson(answer)
    async with stage.opened(person=person) as session:
        await plan_first(session)
        approved = session.state.phase.approved
        assert approved is not None
        assert [each.id for each in approved.plan.tasks] == ["parser"]
    assert len(person.requests) == 2


async def test_the_plan_is_in_force_again_when_the_session_is_resumed(stage: SessionStage) -> None:
    async with stage.opened(person=FakePerson()) as session:
        await plan_first(session)
        digest = session.state.phase.approved
    person = FakePerson()
    async with stage.opened(person=person) as session:
        assert session.state.phase.approved == digest
        report = await session.turn(write("src/a", "x"), write("other", "y"))
        await session.check()
    assert decisions(report) == [DecisionLabel.ALLOWED, DecisionLabel.APPROVED]
    assert len(person.requests) == 1


@pytest.mark.long
async def test_going_back_to_before_a_plan_withdraws_it_and_a_redo_brings_it_back(stage: SessionStage) -> None:
    async with stage.opened() as session:
        await session.turn(prompt="hello")
        await plan_first(session)
        approved = session.state.phase.approved
        await session.undo()
        assert session.state.phase.approved is None
        assert session.state.phase.is_planning
    async with stage.opened() as session:
        assert session.state.phase.approved is None
        undo = session.agent.rewind.last_undo
        assert undo is not None
        await session.agent.rewind.redo(undo, await session.agent.rewind.plan_redo(undo), frozenset())
        assert session.state.phase.approved == approved
        await session.check()


async def test_a_new_plan_takes_the_place_of_the_former_and_can_be_withdrawn(stage: SessionStage) -> None:
    other: JsonValue = [{"id": "only", "description": "x", "writes": ["new/**"]}]
    person = FakePerson()
    async with stage.opened(person=person) as session:
        await plan_first(session)
        await session.agent.plans.set_scope(PhaseScope.PLAN_ONLY)
        await session.turn(plan(other), write("src/a", "x"), write("new/a", "x"))
        assert [r.packet.call.tool_name for r in person.requests] == ["create_plan"] * 2 + ["write_file"]
        held = next(
            one for one in await session.agent.rules.list_rules() if one.rule.text == "write_file(new/**)"
        )
        with pytest.raises(ConfigError, match="part of the approved plan"):
            await session.agent.rules.remove(held)
        await session.agent.plans.withdraw("you withdrew it")
        with pytest.raises(PlanRefused):
            await session.agent.plans.withdraw("again")
        await session.turn(write("new/b", "x"))
    assert len(person.requests) == 4


class Absent(FakePerson):
    """Nobody."""

    is_there = False

    async def review(self, request: ReviewRequest, _context: object) -> ReviewAnswer:
        self.requests.append(request)
        return NobodyThere()


async def test_without_a_person_the_run_ends_with_the_plan_and_nothing_is_in_force(stage: SessionStage) -> None:
    person = Absent()
    async with stage.opened(person=person) as session:
        await session.agent.plans.set_scope(PhaseScope.PLAN_ONLY)
        session.script[:] = session.answers([plan(), write("src/a", "x")])[:1]
        report = await session.agent.run.execute("make a parser")
        assert session.state.phase.approved is None
        assert session.state.phase.is_planning
        await session.check()
    assert report.status is RunStatus.COMPLETED
    assert not person.requests
    assert not (stage.root / "src").exists()


async def test_outside_of_plan_mode_a_plan_is_not_offered_and_none_comes_into_force(
    stage: SessionStage,
) -> None:
    async with stage.opened(person=Absent()) as session:
        report = await session.turn(plan())
        assert session.state.phase.approved is None
    assert [record.outcome for record in report.calls] == [Outcome.ERROR]


async def test_a_rule_that_allows_plans_spares_no_approval(tmp_path: Path) -> None:
    stage = SessionStage(
        tmp_path, more_settings='[permissions]\nallow = ["create_plan"]\n[review]\nmode = "auto"\n'
    )
    person = FakePerson(lambda _request: Reject())
    async with stage.opened(person=person) as session:
        await plan_first(session)
        assert session.state.phase.approved is None
    assert len(person.requests) == 1


async def test_tasks_are_marked_in_their_order_and_the_plan_ends_with_the_last(stage: SessionStage) -> None:
    async with stage.opened() as session:
        report = await plan_first(session, task("docs", "started"), task("parser", "started"))
        assert [record.outcome for record in report.calls] == [Outcome.OK, Outcome.ERROR, Outcome.OK]
        steps = session.state.values["plan"]
        assert steps == [
            {"id": "parser", "text": "parser: write it", "status": "in_progress"},
            {"id": "docs", "text": "docs: tell of it", "status": "pending"},
        ]
    async with stage.opened() as session:
        await session.turn(task("parser", "done"), task("docs", "started"), task("docs", "done"))
        assert session.state.phase.approved is None
        archive = session.agent.record.archive
        events = [record.event for record in await archive.read(session.agent.session_id)]
    assert [type(e) for e in events if isinstance(e, PlanApproved | PlanWithdrawn)] == [
        PlanApproved,
        PlanWithdrawn,
    ]


async def test_a_failed_task_blocks_what_depends_on_it(stage: SessionStage) -> None:
    async with stage.opened() as session:
        report = await plan_first(session, task("parser", "failed"), task("docs", "started"))
        assert report.calls[-1].outcome is Outcome.ERROR
        assert report.status is RunStatus.FAILED
        assert report.error == "of the plan failed: parser; docs cannot be started because of it"
        assert (await session.turn(prompt="what now?")).status is RunStatus.COMPLETED
        said = str(session.container.parts().core.conversation.messages)
        assert "Blocked by it: docs" in said
        assert session.state.values["plan"] == [
            {"id": "parser", "text": "parser: write it", "status": "failed"},
            {"id": "docs", "text": "docs: tell of it", "status": "blocked"},
        ]
        await session.turn(task("parser", "started"), task("parser", "done"), task("docs", "started"))
        assert session.state.phase.approved is not None

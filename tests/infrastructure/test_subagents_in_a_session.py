"""Subagents of a real session: what they share with it, what is their own, and what is recorded."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from quorum.domain.calls.execution import Outcome
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import (
    CallFinished,
    ReviewRequested,
    SessionResumed,
    SessionStarted,
    SubagentFinished,
    SubagentStarted,
    TurnFinished,
)
from quorum.domain.events.report import RunStatus
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import Approve, NobodyThere, RejectAndInterrupt, ReviewAnswer, ReviewRequest
from quorum.domain.sessions.session_summary import NamedSession, select_own_sessions
from quorum.domain.subagent_task import SubagentTask
from tests.support.builders import a_context, calls_response
from tests.support.fake_ports import FakePerson
from tests.support.fake_session import Step
from tests.support.real_session import SessionStage, call, says, write
from tests.support.subagent_stage import TaskRig, task, task_rig

DOWN = ProviderError("the server is down", kind=ProviderErrorKind.CONFIGURATION)


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    return SessionStage(tmp_path)


def results(rig: TaskRig) -> list[tuple[str, bool]]:
    """What the owner's model read of the last batch."""
    messages = rig.session.container.parts().core.conversation.messages
    last = next(m for m in reversed(messages) if isinstance(m, ToolResults))
    return [(result.output, result.is_error) for result in last.results]


def without_ids(read: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """The same without the ids of stored outputs, which differ from one storing to the next."""
    return [(re.sub(r"\[blob:[0-9a-f-]+\]", "[blob]", text), is_error) for text, is_error in read]


async def test_only_the_last_text_goes_back_and_the_rest_is_a_session_of_its_own(stage: SessionStage) -> None:
    (stage.root / "a.txt").write_text("alpha\n", encoding="utf-8")
    reads = calls_response(call("read_file", path="a.txt"))
    async with task_rig(stage, {"look": [reads, says("alpha is in line 1")]}) as rig:
        report = await rig.turn(task("look"))
        assert results(rig) == [("alpha is in line 1", False)]
        assert report.text == "all done"
        archive = rig.session.agent.record.archive
        listed = await archive.list_sessions()
        assert [each.id for each in select_own_sessions(listed)] == [rig.id]
        (sub,) = (each for each in listed if each.owner == rig.id)
        assert (sub.id, sub.title, sub.turns, sub.cwd) == (f"{rig.id}-t1", "look", 1, str(stage.root))
        assert (await archive.verify(sub.id)).holds
        events = [record.event for record in await archive.read(sub.id)]
        assert isinstance(events[0], SessionStarted)
        assert events[0].form == "ask"
        await rig.session.check()


async def test_the_model_for_exploration_has_the_tasks_that_no_definition_is_named_for(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path, more_settings='[models]\nexploration = "local/small"\n')
    async with task_rig(stage, {"look": [says("found")]}) as rig:
        await rig.turn(task("look"))
        assert [session.model for session in rig.gateway.asked] == ["local/small"]
        assert rig.session.agent.models.current != "local/small"


async def test_its_tools_only_look_and_it_gives_no_tasks_itself(stage: SessionStage) -> None:
    answers = [calls_response(task("deeper"), write("b.txt", "b")), says("no")]
    async with task_rig(stage, {"look": answers}) as rig:
        await rig.turn(task("look"))
        offered = {str(tool["name"]) for tool in rig.gateway.asked[0].sent[0].tools}
        assert {"read_file", "grep_search"} <= offered
        assert not offered & {"task", "write_file", "edit_file", "run_command", "jobs"}
        ends = [e for e in rig.inner(f"{rig.id}-t1") if isinstance(e, CallFinished)]
        assert [e.outcome for e in ends] == [Outcome.ERROR, Outcome.ERROR]
    assert not (stage.root / "b.txt").exists()


@pytest.mark.long
@pytest.mark.parametrize("down", [(), ("b",), ("a", "b", "c")], ids=["none", "one", "all"])
async def test_each_task_gets_exactly_one_result_in_order_whoever_fails_and_whoever_is_slow(
    stage: SessionStage, down: tuple[str, ...]
) -> None:
    gates = {name: asyncio.Event() for name in "abc"}
    scripts = {
        name: [DOWN if name in down else Step(answer=says(f"from {name}"), gate=gates[name])] for name in "abc"
    }
    async with task_rig(stage, scripts) as rig:
        rig.script([task(name) for name in "abc"])
        running = asyncio.create_task(rig.session.agent.run.execute("go"))
        await rig.gateway.are_asked(3)
        for name in "cba":
            gates[name].set()
        report = await asyncio.wait_for(running, 60)
        assert report.status is RunStatus.COMPLETED
        wanted = [
            ("the task failed: the server is down", True) if name in down else (f"from {name}", False)
            for name in "abc"
        ]
        assert results(rig) == wanted
        await rig.session.check()


@pytest.mark.long(after=1)
@pytest.mark.parametrize("step", ["thinking", "review", "opening"])
async def test_esc_ends_every_subagent_and_each_call_has_its_result(stage: SessionStage, step: str) -> None:
    at_review = asyncio.Event()

    async def never(_request: ReviewRequest) -> ReviewAnswer:
        at_review.set()
        await asyncio.Event().wait()
        raise AssertionError

    (stage.root / ".env").write_text("KEY=1\n", encoding="utf-8")
    hangs = Step(answer=says("late"), gate=asyncio.Event())
    asks = calls_response(call("read_file", path=".env"))
    scripts = {"a": [asks if step == "review" else hangs], "b": [hangs]}
    async with task_rig(stage, scripts, person=FakePerson(never)) as rig:
        rig.script([task("a"), task("b")])
        running = asyncio.create_task(rig.session.agent.run.execute("go"))
        async with asyncio.timeout(60):
            match step:
                case "review":
                    await at_review.wait()
                case "opening":
                    while not rig.seen.of(SubagentStarted):  # noqa: ASYNC110 - there is nothing to wait for
                        await asyncio.sleep(0)
                case "thinking":
                    await rig.gateway.all_wait(2)
            running.cancel()
            report = await running
        assert report.status is RunStatus.INTERRUPTED
        assert len(results(rig)) == 2
        assert all(is_error for _, is_error in results(rig))
        ends = [event.outcome.status for event in rig.seen.events if isinstance(event, SubagentFinished)]
        assert ends == [RunStatus.INTERRUPTED] * len(rig.seen.of(SubagentStarted))
        await rig.session.check()
        assert (await rig.turn(prompt="and now?")).status is RunStatus.COMPLETED


@pytest.mark.long
async def test_a_review_of_its_call_names_the_task_and_the_person_stops_the_whole_turn_from_it(
    stage: SessionStage,
) -> None:
    (stage.root / ".env").write_text("KEY=1\n", encoding="utf-8")
    person = FakePerson(lambda _request: RejectAndInterrupt())
    hangs = Step(answer=says("late"), gate=asyncio.Event())
    asks = calls_response(call("read_file", path=".env"), text="I look at the key.")
    scripts = {"read the settings": [asks], "other": [hangs]}
    async with task_rig(stage, scripts, person=person) as rig:
        report = await asyncio.wait_for(rig.turn([task("other"), task("read the settings")]), 60)
        assert report.status is RunStatus.INTERRUPTED
        assert person.requests[0].packet.asked_by == "task: read the settings"
        assert person.requests[0].preamble == "I look at the key."
        assert [is_error for _, is_error in results(rig)] == [True, False]
        assert "the person stopped the turn" in results(rig)[1][0]
        asked = [e for e in rig.inner(f"{rig.id}-t2") if isinstance(e, ReviewRequested)]
        assert asked[0].packet.asked_by == "task: read the settings"


@pytest.mark.parametrize("last", [says("no settings"), DOWN], ids=["answers", "fails"])
async def test_a_call_of_it_that_nobody_can_approve_is_the_ending_of_that_run_and_of_no_later_one(
    stage: SessionStage, last: LlmResponse | ProviderError
) -> None:
    (stage.root / ".env").write_text("KEY=1\n", encoding="utf-8")
    asks = calls_response(call("read_file", path=".env"))
    async with task_rig(stage, {"a": [asks, last]}, person=FakePerson(lambda _: NobodyThere())) as rig:
        report = await rig.turn(task("a"))
        assert (report.status, report.exit_code) == (RunStatus.NEEDS_APPROVAL, 3)
        (end,) = rig.seen.of(SubagentFinished)
        assert isinstance(end, SubagentFinished)
        assert end.outcome.needs_approval
        assert (await rig.turn(prompt="and now?")).status is RunStatus.COMPLETED


@pytest.mark.long
async def test_one_question_is_on_the_screen_at_a_time_whoever_asks(stage: SessionStage) -> None:
    (stage.root / ".env").write_text("KEY=1\n", encoding="utf-8")
    person = FakePerson()
    asks = [calls_response(call("read_file", path=".env")), says("read")]
    async with task_rig(stage, {name: list(asks) for name in "abc"}, person=person) as rig:
        await rig.turn([task(name) for name in "abc"])
    assert len(person.requests) == 3
    assert person.most_at_once == 1


async def test_what_it_spends_counts_in_the_report_and_on_the_record_of_its_owner(stage: SessionStage) -> None:
    async with task_rig(stage, {"look": [says("found")]}) as rig:
        report = await rig.turn(task("look"))
        usage = rig.session.state.spending.usage
        assert report.usage == usage
        inner = [e for e in rig.inner(f"{rig.id}-t1") if isinstance(e, TurnFinished)]
        assert inner[0].report.usage.output <= usage.output


@pytest.mark.long
async def test_a_file_that_it_changes_is_given_back_by_an_undo_of_its_owners_turn(stage: SessionStage) -> None:
    (stage.root / "a.txt").write_text("before\n", encoding="utf-8")
    changes = calls_response(
        call("read_file", path="a.txt"), call("edit_file", path="a.txt", old_text="before", new_text="after")
    )
    async with task_rig(stage, {"change a.txt": [changes, says("changed")]}) as rig:
        runner = rig.session.container.parts().agent.subagents
        container = rig.session.container

        async def give(_arguments: object, context: object) -> str:
            task = SubagentTask(prompt="change a.txt", tools=frozenset({"read_file", "edit_file"}))
            return str((await runner.run(task, context)).message)

        tool = container.parts().calls.tool_set.find("task").tool
        tool.execute = give
        await rig.turn(task("change a.txt"))
        assert (stage.root / "a.txt").read_text(encoding="utf-8") == "after\n"
        await rig.session.undo()
        assert (stage.root / "a.txt").read_text(encoding="utf-8") == "before\n"


async def test_the_mode_of_its_owner_holds_for_it_at_any_time(stage: SessionStage) -> None:
    (stage.root / ".env").write_text("KEY=1\n", encoding="utf-8")
    person = FakePerson(lambda request: Approve(request.packet.digest))
    gate = asyncio.Event()
    scripts = {
        "w": [Step(answer=calls_response(write("n.txt", "n")), gate=gate), says("written")],
    }
    async with task_rig(stage, scripts, person=person) as rig:
        runner = rig.session.container.parts().agent.subagents
        working = asyncio.create_task(
            runner.run(SubagentTask(prompt="w", tools=frozenset({"write_file"})), a_context())
        )
        await rig.gateway.are_asked(1)
        await rig.session.agent.review.set_mode(Mode.READ_ONLY)
        gate.set()
        await asyncio.wait_for(working, 60)
        (end,) = (e for e in rig.inner(f"{rig.id}-t1") if isinstance(e, CallFinished))
        assert end.outcome is Outcome.REJECTED
        assert not person.requests
    assert not (stage.root / "n.txt").exists()


@pytest.mark.long
@pytest.mark.parametrize(
    "answer", [says("found"), says("found\n" * 9_000), DOWN], ids=["answered", "long", "failed"]
)
async def test_a_task_whose_end_is_on_its_own_record_alone_gives_it_after_a_restart(
    stage: SessionStage, answer: LlmResponse | ProviderError
) -> None:
    async with task_rig(stage, {"look": [answer]}) as rig:
        await rig.turn(task("look"))
        expected = results(rig)
        archive = rig.session.agent.record.archive
        records = await archive.read(rig.id)
        (end,) = (at for at, each in enumerate(records) if isinstance(each.event, SubagentFinished))
        copy = await archive.fork(rig.id, before=end)
    async with task_rig(stage, {}, choice=NamedSession(copy)) as rig:
        assert without_ids(results(rig)) == without_ids(expected)
        (resumed,) = rig.seen.of(SessionResumed)
        assert isinstance(resumed, SessionResumed)
        assert not [told for told in resumed.told if "unknown" in told]
        assert len(rig.seen.of(SubagentFinished)) == 1
        assert not rig.gateway.asked
        await rig.session.check()


@pytest.mark.long
async def test_its_session_can_be_opened_and_continued_by_its_id(stage: SessionStage) -> None:
    async with task_rig(stage, {"look": [says("found")]}) as rig:
        await rig.turn(task("look"))
        id_ = f"{rig.id}-t1"
    async with stage.opened(NamedSession(id_)) as again:
        assert again.agent.is_resumed
        assert again.container.parts().core.conversation.messages[0] == UserMessage("look")
        again.script[:] = [says("more")]
        assert (await again.agent.run.execute("go on")).text == "more"


@pytest.mark.long
async def test_the_latest_session_of_a_folder_is_none_of_a_subagent(stage: SessionStage) -> None:
    async with task_rig(stage, {"look": [says("found")]}) as rig:
        await rig.turn(task("look"))
        owner = rig.id
    async with stage.opened(NamedSession(f"{owner}-t1")) as again:
        again.script[:] = [says("more")]
        await again.agent.run.execute("used last")
    async with stage.opened() as latest:
        assert latest.agent.session_id == owner

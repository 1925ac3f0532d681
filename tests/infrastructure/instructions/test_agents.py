"""Agent definitions: which files are one, what is trusted, what a subagent gets of it, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.domain.calls.execution import Outcome
from quorum.domain.errors import ConfigError
from quorum.domain.events.event import CallFinished, InstructionsLoaded, NoticeGiven, SubagentStarted
from quorum.domain.events.report import RunStatus
from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.instructions.offer_list import AgentDefinition, render_agents
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import Approve
from quorum.domain.sessions.trust import TrustQuestion
from quorum.infrastructure.instructions.agent_catalog import AgentFiles
from tests.support.builders import calls_response
from tests.support.fake_ports import FakePerson
from tests.support.real_session import MODEL, SessionStage, says, write
from tests.support.subagent_stage import TaskRig, task, task_rig


class Trusting(FakePerson):
    """Answers each question of trust alike, and approves every call."""

    def __init__(self, answer: bool = True) -> None:
        super().__init__(lambda request: Approve(request.packet.digest))
        self.answer = answer

    async def trust(self, question: TrustQuestion) -> bool:
        self.trust_questions.append(question)
        return self.answer


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    stage = SessionStage(tmp_path)
    (stage.root / ".git").mkdir()
    return stage


def put(
    base: Path, name: str = "finder", *fields: str, folder: str = ".agents/agents", body: str = "Find callers."
) -> Path:
    file = base / folder / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = "\n".join(("description: Finds callers of functions", *fields))
    file.write_text(f"---\n{lines}\n---\n{body}\n", encoding="utf-8")
    return file


def found(stage: SessionStage) -> dict[str, AgentDefinition]:
    return {each.name: each for each in AgentFiles(stage.root, stage.environ).find()}


def inner_ends(rig: TaskRig) -> list[tuple[str, Outcome]]:
    return [(e.tool, e.outcome) for e in rig.inner(f"{rig.id}-t1") if isinstance(e, CallFinished)]


def owner_system(rig: TaskRig) -> str:
    """The system prompt of the owner's last request."""
    return [sent.system for session in rig.gateway.sessions for sent in session.sent][-1]


def result(rig: TaskRig) -> str:
    """What the owner's model reads of its last task."""
    return [e.output for e in rig.seen.events if isinstance(e, CallFinished) and e.tool == "task"][-1]


@pytest.mark.long
async def test_a_task_for_an_agent_has_its_instructions_and_a_review_names_it(stage: SessionStage) -> None:
    put(stage.root, "writer", "tools: [Read, Write]", body="Write short files.")
    person = Trusting()
    answers = [calls_response(write("b.txt", "b")), says("written")]
    async with task_rig(stage, {"write b": answers}, person=person) as rig:
        await rig.turn(task("write b", agent="writer"))
        assert "- writer: Finds callers of functions" in owner_system(rig)
        assert "Write short files." not in owner_system(rig)
        asked = rig.gateway.asked[0].sent[0]
        assert "Write short files." in asked.system
        assert {str(tool["name"]) for tool in asked.tools} == {"inspect", "read_file", "write_file"}
        assert result(rig) == "written"
        assert inner_ends(rig) == [("write_file", Outcome.OK)]
        (started,) = rig.seen.of(SubagentStarted)
        assert isinstance(started, SubagentStarted)
        assert started.agent == "writer"
    assert (stage.root / "b.txt").read_text(encoding="utf-8") == "b"
    assert [each.packet.asked_by for each in person.requests] == ["task writer: write b"]
    (question,) = person.trust_questions
    assert "tools: read_file, write_file" in question.items[0].wants[1]


async def test_its_calls_are_held_by_the_mode_of_the_session(stage: SessionStage) -> None:
    put(stage.root, "writer", "tools: write_file")
    answers = [calls_response(write("b.txt", "b")), says("no")]
    async with task_rig(stage, {"write b": answers}, person=Trusting()) as rig:
        await rig.session.agent.review.set_mode(Mode.READ_ONLY)
        await rig.turn(task("write b", agent="writer"))
        assert inner_ends(rig) == [("write_file", Outcome.REJECTED)]
    assert not (stage.root / "b.txt").exists()


@pytest.mark.long
async def test_while_a_plan_is_made_it_changes_nothing(stage: SessionStage) -> None:
    from quorum.domain.plan.plan import PhaseScope

    put(stage.root, "writer", "tools: write_file")
    answers = [calls_response(write("b.txt", "b")), says("no")]
    async with task_rig(stage, {"write b": answers}, person=Trusting()) as rig:
        await rig.session.agent.plans.set_scope(PhaseScope.PLAN_ONLY)
        await rig.turn(task("write b", agent="writer"))
        assert inner_ends(rig) == [("write_file", Outcome.REJECTED)]
    assert not (stage.root / "b.txt").exists()


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("fields", "offered"),
    [
        ((), {"read_file", "grep_search"}),
        (("disallowedTools: Grep",), {"read_file"}),
        (("tools: Read, Bash(git log:*), task, create_plan, nothing",), {"read_file"}),
        (("tools: Read, Bash (git log), Bash(unclosed",), {"read_file"}),
        (("tools: Bash",), {"run_command", "jobs"}),
        (("tools: []",), set()),
        (("tools: '*'",), set()),
    ],
)
async def test_a_definition_narrows_the_tools_and_gives_none_that_its_owner_has_not(
    stage: SessionStage, fields: tuple[str, ...], offered: set[str]
) -> None:
    put(stage.root, "finder", *fields)
    async with task_rig(stage, {"look": [says("found")]}, person=Trusting()) as rig:
        await rig.turn(task("look", agent="finder"))
        given = {str(tool["name"]) for tool in rig.gateway.asked[0].sent[0].tools}
    watched = {"read_file", "grep_search", "run_command", "jobs", "write_file", "task", "create_plan"}
    assert given & watched == offered


@pytest.mark.long
async def test_in_a_session_without_a_tool_its_agents_do_not_have_it(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path, more_settings='[tools]\ndisabled = ["write_file"]')
    put(stage.root, "writer", "tools: Read, Write")
    answers = [calls_response(write("b.txt", "b")), says("no")]
    async with task_rig(stage, {"write b": answers}, person=Trusting()) as rig:
        await rig.turn(task("write b", agent="writer"))
        assert inner_ends(rig) == [("write_file", Outcome.ERROR)]
        (said,) = rig.seen.of(NoticeGiven)
        assert isinstance(said, NoticeGiven)
        assert said.message == "the agent writer names tools that it cannot have here: write_file"


async def test_an_unknown_name_is_answered_with_the_nearest_and_starts_nothing(stage: SessionStage) -> None:
    put(stage.root)
    async with task_rig(stage, {}, person=Trusting()) as rig:
        await rig.turn(task("look", agent="findr"))
        assert "there is no agent 'findr'; did you mean finder? Those that can be named: finder." in result(rig)
        assert not rig.seen.of(SubagentStarted)


async def test_without_trust_nothing_of_it_reaches_a_model(stage: SessionStage) -> None:
    put(stage.root)
    async with task_rig(stage, {}, person=Trusting(answer=False)) as rig:
        await rig.turn(task("look", agent="finder"))
        assert "finder" not in owner_system(rig)
        assert "there is no agent 'finder'" in result(rig)
        (loaded,) = rig.seen.of(InstructionsLoaded)
        assert isinstance(loaded, InstructionsLoaded)
        assert "finder.md is not trusted, so it is not offered" in loaded.notices[0]


async def test_a_change_is_asked_about_with_the_next_prompt_and_is_without_effect_until_then(
    stage: SessionStage,
) -> None:
    file = put(stage.root)
    person = Trusting()
    async with task_rig(stage, {"one": [says("1")], "two": [says("2")]}, person=person) as rig:
        await rig.turn(task("one", agent="finder"))
        put(stage.root, body="Do evil.")
        person.answer = False
        await rig.turn(task("two", agent="finder"))
        assert "there is no agent 'finder'" in result(rig)
        assert "finder" not in owner_system(rig)
    assert [each.items[0].changed for each in person.trust_questions] == [False, True]
    assert {each.items[0].file for each in person.trust_questions} == {str(file)}


async def test_what_changes_during_a_turn_does_not_reach_a_task_of_it(stage: SessionStage) -> None:
    put(stage.root)
    async with task_rig(stage, {"look": [says("found")]}, person=Trusting()) as rig:
        refresh = rig.session.container.parts().calls.agents.refresh

        async def then_change() -> object:
            trusted = await refresh()
            put(stage.root, body="Do evil.")
            return trusted

        rig.session.container.parts().calls.agents.refresh = then_change  # type: ignore[method-assign]
        await rig.turn(task("look", agent="finder"))
        assert "Find callers." in rig.gateway.asked[0].sent[0].system
        assert "Do evil." not in rig.gateway.asked[0].sent[0].system


@pytest.mark.long
@pytest.mark.parametrize(
    ("named", "asked", "said"),
    [
        ("inherit", MODEL, ""),
        ("fake/other", "fake/other", ""),
        ("haiku", MODEL, "the agent finder asks for the model haiku, which cannot be had"),
    ],
)
async def test_its_model_answers_and_one_that_cannot_be_had_is_said(
    stage: SessionStage, named: str, asked: str, said: str
) -> None:
    put(stage.root, "finder", f"model: {named}")
    async with task_rig(stage, {"look": [says("found")]}, person=Trusting()) as rig:
        await rig.turn(task("look", agent="finder"))
        (started,) = rig.seen.of(SubagentStarted)
        assert isinstance(started, SubagentStarted)
        assert started.model == asked
        notices = [e.message for e in rig.seen.events if isinstance(e, NoticeGiven)]
        assert [said in notice for notice in notices] == ([True] if said else [])


async def test_a_model_that_the_provider_refuses_fails_the_task_and_not_the_turn(stage: SessionStage) -> None:
    put(stage.root, "finder", "model: forbidden/model")
    async with task_rig(stage, {}, person=Trusting()) as rig:
        refusal = ConfigError("the managed policy does not allow forbidden/model")
        opened = rig.gateway.open_exchange

        def exchange(model: str) -> object:
            if model == "forbidden/model":
                raise refusal
            return opened(model)

        rig.gateway.open_exchange = exchange  # type: ignore[method-assign, assignment]
        report = await rig.turn(task("look", agent="finder"))
        assert report.status is RunStatus.COMPLETED
        assert result(rig) == f"the task failed: {refusal}"


async def test_a_session_without_the_tool_is_not_asked_about_agents(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path, more_settings='[tools]\ndisabled = ["task"]')
    put(stage.root)
    person = Trusting()
    async with task_rig(stage, {}, person=person) as rig:
        await rig.turn()
        assert "finder" not in owner_system(rig)
    assert not person.trust_questions


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("No frontmatter", "bad.md, line 1: the frontmatter needs a description"),
        ("---\nname: a b\ndescription: x\n---\nText", "bad.md, line 2: an agent's name"),
        ('---\ndescription: "x\n---\nText', "bad.md, line 3: no YAML"),
        ("---\ndescription: x\n---\n", "bad.md, line 1: it holds no instructions"),
        ("---\ndescription: x\ntools: {a: b}\n---\nText", "bad.md, line 3: a list of tools"),
        ("---\ndescription: x\n---\n" + "y" * 200_000, "is larger than"),
    ],
)
def test_a_definition_that_cannot_be_used_says_why_and_leaves_the_others_alone(
    stage: SessionStage, text: str, said: str
) -> None:
    put(stage.root, "good")
    put(stage.root, "bad").write_text(text)
    definitions = {Path(each.file).stem: each for each in AgentFiles(stage.root, stage.environ).find()}
    assert said in definitions["bad"].problem
    assert definitions["good"].problem == ""


def test_links_out_of_the_project_and_pipes_are_not_read(stage: SessionStage, tmp_path: Path) -> None:
    folder = put(stage.root, "good").parent
    (folder / "outside.md").symlink_to(put(tmp_path / "elsewhere", "outside"))
    os.mkfifo(folder / "pipe.md")
    (folder / "a\x1b[2J.md").write_text("---\ndescription: x\n---\nText")
    assert set(found(stage)) == {"good"}


def test_the_persons_own_and_the_nearest_of_a_project_are_all_found_in_that_order(stage: SessionStage) -> None:
    put(stage.root, folder=".claude/agents")
    put(stage.root, folder=".agents/agents")
    put(Path(stage.environ["HOME"]), folder=".agents/agents")
    definitions = AgentFiles(stage.root, stage.environ).find()
    assert [each.scope for each in definitions] == [
        InstructionScope.PROJECT,
        InstructionScope.PROJECT,
        InstructionScope.USER,
    ]
    assert definitions[2].label.startswith("~/")


def test_fields_that_change_nothing_here_are_named(stage: SessionStage) -> None:
    put(stage.root, "finder", "permissionMode: bypassPermissions", "color: red", "tools: Bash(rm:*)")
    first, second = found(stage)["finder"].notices
    assert "line 3: quorum does not know permissionMode, and ignores it" in first
    assert "line 5: Bash(rm:*) gives the agent no tool" in second


@pytest.mark.long
def test_what_every_request_carries_of_agents_is_bounded() -> None:
    many = [
        AgentDefinition(
            name=f"a{number:05}",
            scope=InstructionScope.PROJECT,
            file="/a",
            label="a",
            description="word\x1b\n" * 5_000,
        )
        for number in range(10_000)
    ]
    text = render_agents(many)
    assert len(text) < 10_000
    assert "more, which task lists where it is given another name" in text
    assert render_agents([]) == ""

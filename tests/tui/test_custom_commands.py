"""Custom slash commands in the app: in the menu, in the help, sent, in line, and given back."""

import asyncio

import pytest

from quorum.domain.instructions.custom_command import CustomCommand
from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.instructions.offer_list import Skill
from quorum.tui.screens.help import HelpScreen
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent, after_gate, composing, hold, say


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def command(name: str = "fix-issue", **more: str) -> CustomCommand:
    return CustomCommand(
        name=name,
        scope=InstructionScope.PROJECT,
        file=f"/project/.claude/commands/{name}.md",
        label=f".claude/commands/{name}.md",
        digest="0" * 64,
        body="Fix $1",
        **{"description": "Fix an issue", **more},
    )


def with_commands(*commands: CustomCommand):
    def prepare(agent: FakeAgent) -> None:
        agent.custom_commands.there = commands

    return prepare


def rows(stage: Stage) -> list[str]:
    return [row.label for row in stage.prompt.menu._rows] if stage.prompt.menu.display else []


async def typed(stage: Stage, text: str) -> None:
    for letter in text:
        stage.hit(letter)
    await stage.until(lambda: stage.prompt.text.endswith(text))
    await stage.pilot.pause()


async def test_the_menu_has_them_with_what_they_do_and_where_they_are_from(tmp_path):
    found = command(argument_hint="[number]")
    async with on_stage(tmp_path, prepare=with_commands(found)) as stage:
        await typed(stage, "/")
        await stage.until(lambda: any("fix-issue" in row for row in rows(stage)))
        await typed(stage, "fix-i")

        assert rows(stage)[0] == "/fix-issue [number]"
        await stage.shows("Fix an issue (.claude/commands/fix-issue.md)")


async def test_one_that_cannot_be_used_says_so_and_draws_nothing_hostile(tmp_path):
    broken = command(problem="/p/\x1b[2Jbad.md, line 3: no YAML", argument_hint="\x1b[31m")
    async with on_stage(tmp_path, prepare=with_commands(broken)) as stage:
        await typed(stage, "/")
        await stage.until(lambda: any("fix-issue" in row for row in rows(stage)))
        await typed(stage, "fix-i")
        await stage.shows("cannot be used: /p/")

        assert "\x1b" not in rows(stage)[0]


async def test_it_is_sent_as_it_was_typed(tmp_path):
    async with on_stage(tmp_path, say("well"), prepare=with_commands(command())) as stage:
        await stage.send("/fix-issue 12")
        await stage.until(lambda: stage.agent.reports)

        assert stage.agent.prompts == ["/fix-issue 12"]


async def test_init_is_sent_as_it_was_typed_and_comes_back_so(tmp_path):
    async with on_stage(tmp_path, say("well"), hold()) as stage:
        await stage.send("/init the tests")
        await stage.until(lambda: stage.agent.reports)
        assert stage.agent.prompts == ["/init the tests"]

        await stage.send("first")
        await stage.agent.reached.wait()
        await stage.send("/init")
        await stage.until(lambda: stage.app.chat.turns.waiting == 1)
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.prompt.text == "/init")


async def test_init_waits_for_the_session_like_any_prompt(tmp_path):
    box, gate = [], asyncio.Event()
    compose = after_gate(gate, composing(box, say("well")))

    async with on_stage(tmp_path, compose=compose, ready=False) as stage:
        await stage.send("/init")
        await stage.until(lambda: stage.app.chat.turns.waiting == 1)
        gate.set()
        await stage.until(lambda: box and box[0].prompts == ["/init"])


async def test_interrupted_while_it_waits_for_the_session_a_prompt_comes_back(tmp_path):
    box, gate = [], asyncio.Event()
    compose = after_gate(gate, composing(box))

    async with on_stage(tmp_path, compose=compose, ready=False) as stage:
        await stage.send("look at main.py")
        await stage.until(lambda: stage.app.chat.turns.waiting == 1)
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.prompt.text == "look at main.py")
        gate.set()
        await stage.until(lambda: box and stage.app.chat.turns._agent is not None)

        assert box[0].prompts == []
        assert stage.prompt.text == "look at main.py"


async def test_what_is_none_stays_in_the_prompt_and_the_nearest_is_named(tmp_path):
    async with on_stage(tmp_path, prepare=with_commands(command())) as stage:
        await typed(stage, "/")
        await stage.until(lambda: any("fix-issue" in row for row in rows(stage)))
        stage.prompt.replace_text("")
        await stage.send("/fix-isue 12")
        await stage.shows("there is no command /fix-isue; did you mean /fix-issue?")

        assert stage.prompt.text == "/fix-isue 12"
        assert stage.agent.prompts == []


async def test_in_line_it_waits_for_its_own_turn_and_comes_back_as_a_command(tmp_path):
    async with on_stage(tmp_path, hold(), prepare=with_commands(command())) as stage:
        await stage.send("first")
        await stage.agent.reached.wait()
        await stage.send("/fix-issue 12")
        await stage.until(lambda: stage.app.chat.turns.waiting == 1)
        await stage.pilot.press("enter")
        await stage.shows("a slash command waits for its own turn")
        assert stage.agent.steered == []

        await stage.pilot.press("escape")
        await stage.until(lambda: stage.prompt.text)
        assert stage.prompt.text == "/fix-issue 12"


@pytest.mark.long
async def test_one_that_is_interrupted_before_its_turn_began_comes_back(tmp_path, monkeypatch):
    reached = asyncio.Event()

    async def ask(prompt: str, *, is_typed: bool = False) -> None:
        reached.set()
        await asyncio.Event().wait()

    async with on_stage(tmp_path) as stage:
        monkeypatch.setattr(stage.agent, "execute", ask)
        await stage.send("look at main.py")
        await stage.until(reached.is_set)
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.prompt.text == "look at main.py")


async def test_one_named_like_a_built_in_command_never_takes_its_place(tmp_path):
    async with on_stage(tmp_path, prepare=with_commands(command("help"))) as stage:
        await stage.send("/help")
        await stage.until(lambda: isinstance(stage.app.screen, HelpScreen))

        assert stage.agent.prompts == []


@pytest.mark.long
async def test_the_help_lists_them(tmp_path):
    async with on_stage(tmp_path, prepare=with_commands(command())) as stage:
        await typed(stage, "/")
        await stage.until(lambda: any("fix-issue" in row for row in rows(stage)))
        stage.prompt.replace_text("")
        await stage.send("/help /fix-issue")
        await stage.until(lambda: isinstance(stage.app.screen, HelpScreen))

        await stage.shows("Custom commands")
        await stage.shows(".claude/commands/fix-issue.md")


def a_skill(name: str = "pdf", description: str = "Read PDF files") -> Skill:
    return Skill(
        name=name,
        scope=InstructionScope.PROJECT,
        folder=f"/project/.claude/skills/{name}",
        label=f".claude/skills/{name}",
        digest="0" * 64,
        description=description,
    )


async def choose_in_palette(stage: Stage, words: str) -> None:
    await stage.pilot.press("ctrl+p")
    await stage.until(lambda: stage.app.screen is not stage.app.chat)
    await stage.pilot.press(*words)
    await stage.shows(words)
    await stage.pilot.press("enter")
    await stage.until(lambda: stage.app.screen is stage.app.chat)


@pytest.mark.long
async def test_the_palette_has_them_and_begins_the_prompt_with_the_one_chosen(tmp_path):
    async with on_stage(tmp_path, prepare=with_commands(command(argument_hint="[number]"))) as stage:
        await stage.pilot.press("1", "2")
        await choose_in_palette(stage, "fix-issue")
        await stage.until(lambda: stage.prompt.text == "/fix-issue 12")
        assert stage.agent.prompts == []

        await stage.pilot.press("enter")
        await stage.until(lambda: stage.agent.prompts == ["/fix-issue 12"])


@pytest.mark.long
async def test_the_palette_has_trusted_skills_alone_and_draws_nothing_hostile(tmp_path):
    def prepare(agent: FakeAgent) -> None:
        hostile = a_skill("evil", "[bold]x[/] [@click=app.quit]y[/] \x1b[2J")
        agent.surveyed = ((a_skill(), True), (hostile, True), (a_skill("other"), False))

    async with on_stage(tmp_path, prepare=prepare) as stage:
        await stage.pilot.press("ctrl+p")
        await stage.until(lambda: stage.app.screen is not stage.app.chat)
        titles = [entry.title for entry in stage.app.get_system_commands(stage.app.screen)]
        assert [title for title in titles if "skill" in title.lower() and "Use" in title] == [
            "Use the skill pdf",
            "Use the skill evil",
        ]
        await stage.pilot.press(*"Use the skill evil")
        await stage.shows("[bold]x[/] [@click=app.quit]y[/]")
        assert "\x1b[2J" not in stage.text()
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.prompt.text == "Use the skill evil: ")

        assert stage.agent.prompts == []

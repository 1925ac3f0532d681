"""Lines for an instruction file, typed into the prompt: the change is seen before it is made."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quorum.domain.errors import MemoryRefused
from quorum.domain.instructions.instruction import InstructionScope, MemoryDraft, MemoryProposal
from quorum.tui.agent.turns import parse_memory
from quorum.tui.prompt_box.history import escape_command, is_prompt
from quorum.tui.screens.memory_dialog import MemoryDialog
from tests.support.app_stage import Clock, Stage, on_stage
from tests.support.fake_agent import FakeAgent, after_gate, composing, hold, say


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def a_draft(scope: InstructionScope, file: str, before: bytes | None = None) -> MemoryDraft:
    return MemoryDraft(
        scope=scope,
        file=file,
        target=file,
        label=file,
        line="use tabs",
        before=before,
        after=(before or b"") + b"- use tabs\n",
        diff="--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1 +1,3 @@\n Be brief.\n+\n+- use tabs\x1b[2J\n",
    )


PROJECT = a_draft(InstructionScope.PROJECT, "/ws/AGENTS.md", b"Be brief.\n")
USER = a_draft(InstructionScope.USER, "/home/me/.config/quorum/AGENTS.md")


def proposing(agent: FakeAgent) -> None:
    agent.memory.proposal = MemoryProposal(drafts=(PROJECT, USER))


async def asked(stage: Stage) -> None:
    await stage.until(lambda: isinstance(stage.app.screen, MemoryDialog) and stage.app.screen.is_awake)


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("# use tabs", "use tabs"),
        ("# ", ""),
        ("#12 is open", None),
        ("#", None),
        ("## Heading", None),
        (" # use tabs", None),
        ("# Heading\n\ntext", None),
        ("# one\u2028two", None),
    ],
)
def test_only_one_line_that_begins_with_the_mark_and_a_space_is_meant_for_the_file(
    typed: str, line: str | None
) -> None:
    assert parse_memory(typed) == line


def test_what_was_sent_as_a_prompt_stays_one_wherever_it_comes_back() -> None:
    assert parse_memory(escape_command("# use tabs")) is None
    assert escape_command("# use tabs") == " # use tabs"
    assert escape_command("# Heading\ntext") == "# Heading\ntext"
    assert not is_prompt("# use tabs")
    assert is_prompt("#12 is open")


@pytest.mark.long
async def test_the_change_is_shown_and_made_once_it_is_approved_and_nothing_is_sent(tmp_path: Path) -> None:
    async with on_stage(tmp_path, prepare=proposing, size=(80, 24)) as stage:
        stage.prompt.insert("# use tabs")
        await stage.shows("enter adds this line to AGENTS.md")
        await stage.pilot.press("enter")
        await asked(stage)
        for part in ("/ws/AGENTS.md", "Be brief.", "+ - use tabs", "add it as shown", "version "):
            await stage.shows(part)
        assert "\x1b[2J" not in stage.text()
        assert stage.agent.memory.added == []
        await stage.pilot.press("y")
        await stage.shows("added to /ws/AGENTS.md, in effect with the next prompt: use tabs")

        assert (stage.agent.memory.asked, stage.agent.memory.added) == (["use tabs"], [PROJECT])
        assert stage.agent.prompts == []
        await stage.pilot.press("up")
        assert stage.prompt.text == "# use tabs"


@pytest.mark.long
async def test_the_end_of_the_transcript_stays_in_sight_above_the_question(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n\n" for number in range(30))
    async with on_stage(tmp_path, say(f"{text}the last words"), prepare=proposing, size=(80, 24)) as stage:
        await stage.send("go")
        await stage.shows("the last words")
        await stage.send("# use tabs")
        await asked(stage)
        await stage.shows("the last words")
        await stage.shows("add it as shown")
        await stage.pilot.press("n")
        await stage.shows("nothing was added")
        await stage.shows("line 24")  # which stood behind the question


@pytest.mark.long
async def test_the_persons_own_file_can_be_chosen_and_has_to_be_seen_before_it_is_approved(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with on_stage(tmp_path, prepare=proposing, clock=clock) as stage:
        await stage.send("# use tabs")
        await asked(stage)
        clock.now = 1.0
        await stage.press_at("u", 1.0)
        await stage.shows("/home/me/.config/quorum/AGENTS.md")
        await stage.press_at("y", 1.1)
        assert stage.agent.memory.added == []
        await stage.press_at("y", 9.0)
        await stage.until(lambda: stage.agent.memory.added)

        assert stage.agent.memory.added == [USER]


@pytest.mark.long
@pytest.mark.parametrize("keys", [["n"], ["escape"], ["enter", "enter"]], ids="+".join)
async def test_without_approval_nothing_is_added(tmp_path: Path, keys: list[str]) -> None:
    async with on_stage(tmp_path, prepare=proposing) as stage:
        await stage.send("# use tabs")
        await asked(stage)
        await stage.pilot.press(*keys)
        await stage.shows("nothing was added")

        assert stage.agent.memory.added == []
        assert stage.agent.prompts == []


async def test_a_line_that_is_refused_goes_back_to_the_prompt_with_the_reason(tmp_path: Path) -> None:
    def refusing(agent: FakeAgent) -> None:
        agent.memory.problem = MemoryRefused("the mode is read-only")

    async with on_stage(tmp_path, prepare=refusing) as stage:
        await stage.send("# use tabs")
        await stage.shows("the mode is read-only")

        assert stage.prompt.text == "# use tabs"
        assert stage.agent.prompts == []


@pytest.mark.long
async def test_before_the_session_is_there_the_line_stays_in_the_prompt(tmp_path: Path) -> None:
    gate = asyncio.Event()
    box: list[FakeAgent] = []
    compose = after_gate(gate, composing(box, prepare=proposing))

    async with on_stage(tmp_path, compose=compose, ready=False) as stage:
        await stage.send("# use tabs")
        await stage.shows("still starting")
        assert stage.prompt.text == "# use tabs"
        gate.set()
        await stage.shows("fake/model-1")

        assert box[0].memory.asked == []


@pytest.mark.long
async def test_it_works_while_a_turn_runs(tmp_path: Path) -> None:
    async with on_stage(tmp_path, hold(), prepare=proposing) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.send("# use tabs")
        await asked(stage)
        await stage.pilot.press("y")
        await stage.until(lambda: stage.agent.memory.added)

        assert stage.agent.reports == []
        assert stage.agent.steered == []


@pytest.mark.long
async def test_neither_the_command_line_nor_a_prompt_that_comes_back_adds_one(tmp_path: Path) -> None:
    async with on_stage(tmp_path, say("a"), initial_prompt="# use tabs", prepare=proposing) as stage:
        await stage.shows("› # use tabs")
        await stage.until(lambda: stage.agent.reports)
        await stage.pilot.press("up", "enter")
        await stage.until(lambda: len(stage.agent.prompts) == 2)
        await stage.send("# Heading\n\nwith text")
        await stage.until(lambda: len(stage.agent.prompts) == 3)

        assert stage.agent.memory.asked == []

"""A plan in the review dialog: dropped task by task, or edited in the person's own editor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quorum.domain.calls.execution import Seal
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.review.questions import Edit, Reject, ReviewAnswer
from quorum.tui.app.app import QuorumApp
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import a_command, a_packet, a_request, review

TASKS = [
    {"id": "lexer", "description": "cut it up", "depends_on": [], "writes": ["src/lexer.py"], "commands": []},
    {"id": "parser", "description": "read it", "depends_on": ["lexer"], "writes": [], "commands": []},
    {"id": "docs", "description": "tell of it", "depends_on": [], "writes": ["docs/**"], "commands": []},
]
PLAN = {"objective": "a parser", "reasoning": "it is asked for", "tasks": TASKS}


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("VISUAL", raising=False)

    @contextmanager
    def suspend(_app: QuorumApp) -> Iterator[None]:
        yield

    monkeypatch.setattr(QuorumApp, "suspend", suspend)


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a shell script the editor; the file is `$1`."""

    def make(script: str) -> None:
        program = tmp_path / "editor"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("EDITOR", str(program))

    return make


def a_plan() -> ReviewPacket:
    return a_packet("create_plan", PLAN, Seal(cwd="/w"))


async def answer_of(stage: Stage) -> list[ReviewAnswer]:
    await stage.until(lambda: stage.agent.answers)
    return stage.agent.answers


@pytest.mark.long
async def test_tasks_are_dropped_one_by_one_and_what_depends_on_them_is_named_and_goes_with_them(
    tmp_path: Path,
) -> None:
    async with on_stage(tmp_path, review(a_request(a_plan()))) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("t")
        await stage.shows("1 of 3 · parser cannot be done without lexer")
        assert "> [x] lexer: cut it up" in stage.text()
        await stage.pilot.press("ctrl+s")
        await stage.shows("no task is dropped")
        await stage.pilot.press("space")
        await stage.shows("> [ ] lexer")
        assert "  [ ] parser" in stage.text()
        await stage.pilot.press("up", "space", "ctrl+s")  # docs: nothing would be left
        await stage.shows("no task is left")
        await stage.pilot.press("space", "ctrl+s")
        assert await answer_of(stage) == [Edit({**PLAN, "tasks": TASKS[2:]})]


@pytest.mark.long
async def test_leaving_the_tasks_drops_none_and_the_next_plan_is_shown_whole(tmp_path: Path) -> None:
    async with on_stage(tmp_path, review(a_request(a_plan())), review(a_request(a_plan()))) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("t", "space", "escape")
        await stage.asked()
        await stage.pilot.press("n")
        assert await answer_of(stage) == [Reject()]
        await stage.until(lambda: stage.agent.reports)
        await stage.send("again")
        await stage.asked()
        await stage.pilot.press("t")
        await stage.shows("> [x] lexer")


@pytest.mark.long
async def test_only_a_plan_of_several_tasks_is_dropped_task_by_task(tmp_path: Path) -> None:
    async with on_stage(tmp_path, review(a_request(a_command("make all")))) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        assert not dialog.check_action("drop_tasks", ())
        assert dialog.check_action("edit_outside", ())
        assert "tasks" not in stage.text()


async def test_ctrl_g_opens_the_plan_in_the_editor_and_what_is_saved_there_is_asked_about(
    tmp_path: Path, editor: Callable[[str], None]
) -> None:
    editor(f'cp "$1" {tmp_path}/seen.md; echo "$1" > {tmp_path}/name; sed -i "s/\\[x\\] docs/[ ] docs/" "$1"')
    async with on_stage(tmp_path, review(a_request(a_plan()))) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("ctrl+g")
        assert await answer_of(stage) == [Edit({**PLAN, "tasks": TASKS[:2]})]
    assert (tmp_path / "seen.md").read_text().startswith("# Plan\n\na parser\n")
    assert (tmp_path / "name").read_text().endswith("/plan.md\n")


@pytest.mark.long
async def test_what_comes_back_from_the_editor_and_is_no_plan_stays_as_it_was_written(
    tmp_path: Path, editor: Callable[[str], None]
) -> None:
    editor('sed -i "s/^## Tasks/## Deeds/" "$1"')
    async with on_stage(tmp_path, review(a_request(a_plan()))) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("ctrl+g")
        await stage.shows("line 9:")
        assert stage.agent.answers == []
        editor('sed -i "s/^## Deeds/## Tasks/; s/a parser/a good parser/" "$1"')
        await stage.pilot.press("ctrl+g")  # goes on with what is in the dialog
        assert await answer_of(stage) == [Edit({**PLAN, "objective": "a good parser"})]


@pytest.mark.long
@pytest.mark.parametrize(
    ("script", "said"), [("true", "nothing was changed in the editor"), ("exit 3", "status 3")]
)
async def test_an_editor_that_changes_nothing_or_fails_leaves_the_question_as_it_is(
    tmp_path: Path, editor: Callable[[str], None], script: str, said: str
) -> None:
    editor(script)
    async with on_stage(tmp_path, review(a_request(a_plan()))) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("ctrl+g")
        await stage.shows(said)
        await stage.asked()
        await stage.pilot.press("n")
        assert await answer_of(stage) == [Reject()]

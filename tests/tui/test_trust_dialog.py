"""The question whether to trust a folder's settings, as the person meets it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quorum.application.ports.people import Approver, Observer
from quorum.domain.replacing import replace
from quorum.domain.sessions.trust import TrustItem, TrustQuestion
from quorum.tui.screens.trust_dialog import TrustDialog
from tests.support.app_stage import Clock, Stage, on_stage
from tests.support.fake_agent import FakeAgent

ITEM = TrustItem(
    file="/home/me/app/quorum.toml",
    digest="7f3a" + "0" * 57 + "c21",
    wants=('models.decision = "local/llama"', 'hooks[0].command = ["./check", "--all"]'),
    changed=False,
)
QUESTION = TrustQuestion(folder="/home/me/app", items=(ITEM,))
LONG = replace(
    QUESTION, items=(replace(ITEM, wants=tuple(f"tools.custom.t{n}.timeout_secs = 9" for n in range(60))),)
)


class Asking:
    """An app that asks before its agent is there. `answers` is what it returned."""

    def __init__(self, question: TrustQuestion) -> None:
        self.question = question
        self.answers: list[bool] = []
        self.asking: asyncio.Task[bool] | None = None

    async def compose(self, person: Approver, observer: Observer, *_: object) -> FakeAgent:
        self.asking = asyncio.create_task(person.ask(self.question))
        self.answers.append(await self.asking)
        return FakeAgent(person, observer)


@asynccontextmanager
async def asked(
    tmp_path: Path,
    question: TrustQuestion = QUESTION,
    *,
    size: tuple[int, int] = (80, 24),
    clock: Callable[[], float] | None = None,
) -> AsyncIterator[tuple[Stage, Asking]]:
    """The app with the dialog painted and waiting for keys."""
    asking = Asking(question)
    async with on_stage(tmp_path, size=size, clock=clock, compose=asking.compose, ready=False) as stage:
        await stage.until(lambda: isinstance(stage.app.screen, TrustDialog) and stage.app.screen.is_awake)
        yield stage, asking


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["y"], True),
        (["n"], False),
        (["escape"], False),
        (["enter", "enter"], False),
        (["right", "enter"], True),
        (["tab", "tab", "enter"], False),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else "",
)
async def test_each_key_gives_its_answer_and_the_session_begins(tmp_path, keys, answer):
    async with asked(tmp_path) as (stage, asking):
        for key in keys:
            await stage.pilot.press(key)
        await stage.shows("fake/model-1")

        assert asking.answers == [answer]


async def test_folder_file_and_all_that_is_wanted_are_shown(tmp_path):
    async with asked(tmp_path) as (stage, _):
        text = stage.text()

    for part in ("Trust this folder?", QUESTION.folder, ITEM.file, *ITEM.wants, "version 7f3a…c21"):
        assert part in text
    assert "has changed" not in text


async def test_that_the_file_has_changed_is_shown(tmp_path):
    async with asked(tmp_path, replace(QUESTION, items=(replace(ITEM, changed=True),))) as (stage, _):
        await stage.shows("has changed since you trusted it")


async def test_keys_are_dead_for_a_while_and_for_as_long_as_they_keep_arriving(tmp_path):
    clock = Clock()
    clock.now = 1000.0
    async with asked(tmp_path, clock=clock) as (stage, asking):
        for arrived in (999.0, 1000.0, 1000.39, 1000.7):
            await stage.press_at("y", arrived)
        assert isinstance(stage.app.screen, TrustDialog)
        assert asking.answers == []
        await stage.shows("that key came too early and was ignored")

        stage.app.screen.show_awake()
        await stage.shows("version 7f3a")
        await stage.press_at("y", 1001.2)
        await stage.shows("fake/model-1")

        assert asking.answers == [True]


async def test_escape_works_from_the_first_moment(tmp_path):
    clock = Clock()
    clock.now = 1000.0
    async with asked(tmp_path, clock=clock) as (stage, asking):
        await stage.press_at("escape", 1000.0)
        await stage.shows("fake/model-1")

        assert asking.answers == [False]


@pytest.mark.long
async def test_what_does_not_fit_scrolls_and_its_lines_are_counted(tmp_path):
    async with asked(tmp_path, LONG) as (stage, asking):
        await stage.shows("more lines")
        assert "t59.timeout" not in stage.text()
        for _ in range(10):
            await stage.pilot.press("shift+down")
        await stage.shows("t59.timeout")
        await stage.shows("above")
        await stage.shows("not now")

        assert asking.answers == []


@pytest.mark.long
async def test_the_choices_stay_in_sight_when_the_screen_shrinks(tmp_path):
    async with asked(tmp_path, LONG, size=(120, 40)) as (stage, _):
        await stage.pilot.resize_terminal(80, 24)
        await stage.shows("more lines")
        await stage.shows("not now")


async def test_nothing_in_a_folder_or_file_acts_on_the_terminal_or_hides(tmp_path):
    item = replace(ITEM, file="/home/me/[bold]\u202egpj", wants=("hooks[0].command = [/red]\u200b\r",))
    hostile = replace(QUESTION, folder="/home/me/\x1b]52;c;aGk=\x07\nfile    /safe", items=(item,))
    async with asked(tmp_path, hostile) as (stage, _):
        text = stage.text()

    assert "\x1b]52" not in text
    assert "⏎file" in text
    assert "[bold]⟨U+202E⟩gpj" in text
    assert "[/red]⟨U+200B⟩␍" in text


async def test_a_question_that_is_taken_back_leaves_the_screen(tmp_path):
    async with asked(tmp_path) as (stage, asking):
        assert asking.asking is not None
        asking.asking.cancel()
        await stage.until(lambda: stage.app.screen is stage.app.chat)


async def test_the_app_can_be_left_while_it_asks(tmp_path):
    async with asked(tmp_path) as (stage, asking):
        stage.hit("ctrl+c")
        stage.hit("ctrl+c")
        await stage.until(lambda: not stage.app.is_running)

    assert asking.answers == []


async def test_of_several_files_each_is_named_with_what_it_wants(tmp_path):
    instructions = TrustItem(file="/home/me/app/AGENTS.md", digest="9" * 64, wants=("Use tabs.",), changed=True)
    async with asked(tmp_path, replace(QUESTION, items=(ITEM, instructions))) as (stage, _):
        lines = [line.strip(" │") for line in stage.text().splitlines()]

    assert lines.index("/home/me/app/AGENTS.md") < lines.index("This file has changed since you trusted it.")
    assert lines.index("This file has changed since you trusted it.") < lines.index("Use tabs.")


def _many(count: int, lines: int) -> TrustQuestion:
    """So many skills, each with a text of so many lines."""
    items = tuple(
        TrustItem(
            file=f"/home/me/app/.claude/skills/s{number}",
            digest=f"{number:064}",
            wants=(f"the skill s{number}, which the model may load: 3 files, 4.2 kB, 1 executable",),
            text=tuple(f"line {line} of s{number}" for line in range(lines)),
        )
        for number in range(count)
    )
    return TrustQuestion(folder="/home/me/app", items=items)


@pytest.mark.long
async def test_of_many_long_texts_the_summary_comes_first_and_the_texts_are_folded(tmp_path):
    async with asked(tmp_path, _many(16, 400)) as (stage, asking):
        text = stage.text()
        assert "16, each named below with what it may do" in text
        assert "6,400 lines: d shows it, ] goes to the next file" in text
        assert stage.app.screen.query_one("#lines").virtual_size.height < 120

        for _ in range(10):
            await stage.pilot.press("shift+down")
        await stage.shows("the skill s15, which the model may load: 3 files, 4.2 kB, 1 executable")
        await stage.shows("… 400 lines of text")
        assert "line 399 of s15" not in stage.text()
        await stage.pilot.press("y")
        await stage.shows("fake/model-1")

        assert asking.answers == [True]


@pytest.mark.long
async def test_folded_text_can_be_read_in_full_file_by_file(tmp_path):
    async with asked(tmp_path, _many(16, 400)) as (stage, asking):
        for _ in range(3):
            await stage.pilot.press("]")
        await stage.shows("skills/s2")
        await stage.pilot.press("d")
        await stage.shows("line 0 of s2")
        assert stage.text().splitlines()[1].strip(" │").endswith("skills/s2")

        await stage.pilot.press("]")
        await stage.shows("line 0 of s3")
        await stage.pilot.press("shift+down")
        await stage.shows("line 17 of s3")
        await stage.pilot.press("[", "[")
        await stage.shows("line 0 of s2")
        await stage.pilot.press("d")
        await stage.shows("… 400 lines of text")

        assert asking.answers == []


async def test_a_short_text_is_shown_at_once(tmp_path):
    async with asked(tmp_path, _many(2, 3), size=(80, 40)) as (stage, _):
        text = stage.text()

    assert "line 2 of s1" in text
    assert "shows it" not in text


def test_what_an_answer_is_bound_to_covers_every_file_folded_or_not():
    question = _many(16, 400)
    *others, last = question.items

    changed = replace(question, items=(*others, replace(last, digest="f" * 64)))

    assert question.digest != changed.digest


async def test_a_file_that_changed_shows_what_changed_and_all_of_it_on_demand(tmp_path):
    lines = tuple(f"rule {n}" for n in range(30))
    item = TrustItem(
        file="/home/me/app/AGENTS.md",
        digest="7f3a" + "0" * 60,
        wants=("instructions to the model: 30 lines, 300 bytes",),
        changed=True,
        text=(*lines[:20], "rule\x1b[2J twenty", *lines[21:]),
        former=lines,
    )
    question = TrustQuestion(folder="/home/me/app", items=(item,))
    async with asked(tmp_path, question, size=(100, 50)) as (stage, _):
        shown = stage.text()
        assert "This file has changed since you trusted it:" in shown
        assert "- rule 20" in shown
        assert "+ rule␛[2J twenty" in shown
        assert "rule 5" not in shown

        await stage.pilot.press("d")
        await stage.shows("rule 5")


async def test_settings_that_changed_show_which(tmp_path):
    item = replace(ITEM, changed=True, former=(ITEM.wants[0], 'hooks[0].command = ["./check"]'))
    async with asked(tmp_path, replace(QUESTION, items=(item,)), size=(100, 40)) as (stage, _):
        shown = stage.text()
        assert '- hooks[0].command = ["./check"]' in shown
        assert '+ hooks[0].command = ["./check", "--all"]' in shown


async def test_only_what_is_asked_about_is_explained(tmp_path):
    instructions = replace(
        ITEM, file="/home/me/app/AGENTS.md", wants=("instructions: 1 line",), text=("Be kind.",)
    )
    tool = replace(ITEM, file="the tool convert of the MCP server time", wants=("Converts times.",))
    said = {"Settings may start": ITEM, "Instructions are put": instructions, "What a server says": tool}

    for items in ((ITEM,), (instructions,), (tool,), (ITEM, instructions)):
        async with asked(tmp_path, replace(QUESTION, items=items), size=(100, 40)) as (stage, _):
            shown = stage.text()
            assert {words for words in said if words in shown} == {
                words for words, item in said.items() if item in items
            }

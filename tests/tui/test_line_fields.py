"""What is typed and pasted into fields of one line, in every dialog that has one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.widgets import Input

from quorum.domain.mcp.server_question import read_form
from quorum.domain.replacing import replace
from quorum.domain.review.questions import RulePreview
from quorum.tui.keys.keyboard_guard import TYPING_PACE, WENT_TO_PROMPT, mark_as_pasted
from quorum.tui.keys.line_fields import LINE_BREAK_IGNORED, LINES_JOINED, fit_to_field
from quorum.tui.screens.question_card import QuestionCard
from quorum.tui.widgets.dialog_parts import LineInput
from tests.support.app_stage import Clock, Stage, on_stage
from tests.support.examples import examples
from tests.support.fake_agent import FakeAgent, a_command, a_request, review
from tests.support.fake_settings import FakeSettings, a_setting
from tests.support.review_contexts import a_review_context

MAKE = a_command("make all")
FORM = read_form(
    "deployer",
    "deploy",
    "Where?",
    {"type": "object", "properties": {"host": {"type": "string"}, "port": {"type": "integer"}}},
)


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@examples(300)
@given(st.text(alphabet=st.sampled_from("ab \t\r\n\x0b\x85\u2028語y")))
def test_a_paste_keeps_all_words_in_one_line(text):
    fitted, notice = fit_to_field(events.Paste(text), LineInput())
    kept = fitted.text if isinstance(fitted, events.Paste) else ""

    assert kept.split() == text.split()
    assert len(kept.splitlines()) <= 1
    assert (notice == LINES_JOINED) == (sum(1 for line in text.splitlines() if line.strip()) > 1)


def test_a_pasted_line_keeps_its_blanks_and_a_text_area_its_lines():
    assert fit_to_field(events.Paste("  a  b \n"), LineInput())[0].text == "  a  b "
    assert fit_to_field(events.Paste("a\nb"), None)[0].text == "a\nb"


def press(
    stage: Stage, keys: Iterable[str], at: float | None = None, gap: float = 0.0, *, pasted: bool = False
) -> None:
    """Press keys one right after another, and wait for none of them to act."""
    for number, key in enumerate(keys):
        event = events.Key({" ": "space"}.get(key, key), key if len(key) == 1 else None)
        if at is not None:
            event.time = at + number * gap
        if pasted:
            mark_as_pasted([event], is_behind_text=True)
        stage.app.post_message(event)


async def open_always(agent: FakeAgent) -> None:
    request = replace(a_request(MAKE), proposals=("run_command(make all)",))
    await agent.ask(request, a_review_context(preview=lambda _rule: RulePreview(covers_this=True)))


async def open_form(agent: FakeAgent) -> None:
    await agent._person.ask(FORM)


async def open_review(stage: Stage, key: str) -> None:
    await stage.send("go")
    await stage.asked()
    press(stage, key)


async def open_field_of_form(stage: Stage) -> None:
    await stage.send("go")
    await stage.until(lambda: isinstance(stage.app.screen, QuestionCard) and stage.app.screen.is_awake)
    press(stage, "e")


async def open_settings(stage: Stage) -> None:
    stage.app.open_settings = lambda: FakeSettings(a_setting("tui.theme", '"quorum"'))
    await stage.send("/config")
    await stage.until(lambda: getattr(stage.app.screen, "_rows", ()))
    press(stage, ["enter"])


async def open_with(stage: Stage, command: str, key: str = "") -> None:
    await stage.send(command)
    await stage.until(lambda: stage.app.screen is not stage.app.chat)
    await stage.pilot.pause()
    press(stage, key)


async def press_in_chat(stage: Stage, key: str) -> None:
    press(stage, [key])


FIELDS: dict[str, tuple[Callable[[Stage], object], object]] = {
    "reason": (lambda stage: open_review(stage, "r"), review(a_request(MAKE))),
    "rule": (lambda stage: open_review(stage, "a"), open_always),
    "form": (open_field_of_form, open_form),
    "setting": (open_settings, None),
    "new rule": (lambda stage: open_with(stage, "/permissions", "a"), None),
    "tried call": (lambda stage: open_with(stage, "/permissions", "t"), None),
    "help": (lambda stage: open_with(stage, "/help"), None),
    "models": (lambda stage: open_with(stage, "/model"), None),
    "palette": (lambda stage: press_in_chat(stage, "ctrl+p"), None),
    "find": (lambda stage: press_in_chat(stage, "ctrl+f"), None),
}


@pytest.mark.long(after=1)
@pytest.mark.parametrize("name", FIELDS)
async def test_pasted_lines_are_joined_in_every_field_and_none_of_their_breaks_is_enter(tmp_path: Path, name):
    open_field, scene = FIELDS[name]
    async with on_stage(tmp_path, *([scene] if scene else [])) as stage:
        await open_field(stage)
        wanted = {"setting": "value", "rule": "rule", "new rule": "rule"}.get(name)
        await stage.until(lambda: isinstance(now := stage.app.focused, Input) and wanted in (None, now.id))
        field = stage.app.focused
        before, screen = field.value, stage.app.screen
        field.action_end()
        stage.app.post_message(events.Paste("one two\r\n\r\n  yes\nno\n"))
        await stage.until(lambda: "no" in field.value)
        assert field.value == f"{'' if field.selection.is_empty and not before else before}one two yes no"
        if name != "help":  # which covers the status bar
            await stage.shows(LINES_JOINED)
        press(stage, [*"xy", "enter"], pasted=True)
        if name not in ("help", "rule"):  # there no enter is admitted so soon after a change
            await stage.shows(LINE_BREAK_IGNORED)
        await stage.until(lambda: field.value.endswith("noxy"))
        await stage.pilot.pause()

        assert field.value.endswith("noxy")
        assert (stage.app.screen, stage.app.focused) == (screen, field)
        assert not stage.agents or stage.agent.answers == []


@pytest.mark.long(after=1)
@pytest.mark.parametrize("seed", range(12))
async def test_what_is_typed_while_a_field_opens_is_there_in_its_order(tmp_path, seed):
    """Each round types words with and without pauses around the key that opens the field, and pastes."""
    chance = random.Random(seed)
    clock = Clock()
    clock.now = 100.0
    is_form = seed % 2 == 1
    scene = open_form if is_form else review(a_request(MAKE))
    async with on_stage(tmp_path, scene, clock=clock, pace=TYPING_PACE) as stage:
        await stage.send("go")
        await stage.until(lambda: getattr(stage.app.screen, "is_awake", False))
        dialog, now = stage.app.screen, 101.0
        typed = []
        if chance.random() < 0.5:
            early = chance.choice(["you and me ", "any news "])
            press(stage, early, now, 0.1)
            typed += early.split()
            await stage.until(lambda: early in stage.prompt.text)
            stage.prompt.replace_text("")
            now += 5
        press(stage, "e" if is_form else "r", now)
        now += 0.3
        for _ in range(chance.randint(1, 5)):
            words = chance.choice(["yes", "no way", "never say y", "explain", "a s n"])
            if chance.random() < 0.4:
                paste = events.Paste(words.replace(" ", "\n") + "\n")
                paste.time = now
                stage.app.post_message(paste)
                stage.app.post_message(paste_space := events.Key("space", " "))
                paste_space.time = now
            else:
                press(stage, f"{words} ", now, chance.choice([0.0, 0.02, 0.1, 0.6]))
            typed += words.split()
            now += chance.choice([1.0, 8.0])
            if chance.random() < 0.5:
                await stage.pilot.pause()
        field = lambda: dialog.query_one("#entry" if is_form else "#reason", Input)  # noqa: E731
        await stage.until(lambda: dialog.takes_text and field().value.split()[-1:] == typed[-1:])
        await stage.pilot.pause()

        assert stage.prompt.text.split() + field().value.split() == typed[-len(field().value.split()) :]
        assert stage.app.screen is dialog
        assert stage.agent.answers == []


@pytest.mark.long(after=1)
@pytest.mark.parametrize("seed", range(6))
async def test_a_reason_that_is_typed_as_its_question_goes_is_kept_in_the_prompt_unsent(tmp_path, seed):
    chance = random.Random(seed)
    gone = asyncio.Event()

    async def scene(agent: FakeAgent) -> None:
        question = asyncio.create_task(agent.ask(a_request(MAKE)))
        await gone.wait()
        question.cancel()
        await asyncio.sleep(0)
        await asyncio.Event().wait()

    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, scene, clock=clock, pace=TYPING_PACE) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        press(stage, "r", 101.0)
        words, at = "why not ask any of them", chance.randint(1, 22)
        press(stage, words[:at], 101.3, 0.1)
        await stage.until(lambda: dialog.takes_text)
        await stage.until(lambda: dialog.query_one("#reason", Input).value == words[:at])
        clock.now = 101.3 + at * 0.1
        gone.set()
        await stage.until(lambda: stage.app.screen is stage.app.chat)
        press(stage, [*words[at:], "enter"], clock.now + chance.choice([0.01, 1.0]), 0.1)
        await stage.until(lambda: stage.prompt.text.endswith("them"))
        await stage.shows("enter was not typed")

        assert stage.prompt.text == words
        assert stage.agent.answers == []
        assert stage.agent.prompts == ["go"]


@pytest.mark.long
async def test_the_enter_of_a_reason_whose_question_was_replaced_does_not_answer_the_next(tmp_path):
    gone = asyncio.Event()

    async def scene(agent: FakeAgent) -> None:
        question = asyncio.create_task(agent.ask(a_request(MAKE)))
        await gone.wait()
        question.cancel()
        await agent.ask(a_request(a_command("other")))

    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, scene, clock=clock, pace=TYPING_PACE) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        press(stage, "r", 101.0)
        press(stage, "because", 101.3, 0.1)
        await stage.until(lambda: dialog.takes_text and dialog.query_one("#reason", Input).value == "because")
        clock.now = 102.0
        gone.set()
        await stage.shows("other")
        await stage.asked()
        press(stage, ["enter"], 102.8)
        await stage.pilot.pause()
        await stage.pilot.pause()

        assert stage.agent.answers == []
        assert stage.prompt.text.strip() == "because"


async def test_keys_that_edit_a_field_act_in_their_order_among_letters(tmp_path):
    async with on_stage(tmp_path, review(a_request(MAKE))) as stage:
        await stage.send("go")
        dialog = await stage.asked()
        press(stage, ["r", *"bad", "backspace", *"ck", "home", *"a ", "ctrl+k", *"rule"])
        await stage.until(lambda: dialog.takes_text and "rule" in dialog.query_one("#reason", Input).value)

        assert dialog.query_one("#reason", Input).value == "a rule"
        assert WENT_TO_PROMPT not in stage.text()

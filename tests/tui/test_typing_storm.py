"""Random sentences, typed while questions and lists of every kind open at random moments."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from textual import events
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input

from quorum.application.ports.people import Question, ReviewQuestion, SandboxQuestion
from quorum.domain.review.questions import ReviewRequest, RulePreview
from quorum.tui.keys.keyboard_guard import TYPING_PACE, Guarded
from quorum.tui.screens.pager_screen import build_pager
from quorum.tui.widgets.dialog_parts import QueryInput
from tests.support.app_stage import Clock, Stage, on_stage
from tests.support.fake_agent import a_command, a_packet, a_request, an_edit
from tests.support.fake_archive import a_session
from tests.support.fake_settings import FakeSettings, a_setting
from tests.support.review_contexts import a_review_context
from tests.tui.test_board import begin_job
from tests.tui.test_changes_screen import changed
from tests.tui.test_permissions_screen import OWN
from tests.tui.test_plan_in_review import a_plan
from tests.tui.test_server_question_dialogs import ADDRESS, FORM
from tests.tui.test_spend_dialog import QUESTION as SPENDING
from tests.tui.test_trust_dialog import QUESTION as TRUST

WORDS = re.findall(
    r"\S+",
    "yes no always always, run add and reject edit why then make quit jobs stop delete kill job jkjk trust "
    "save nope a y n q s d r e k offer undo redo both files confirm continue accept all view try go G x 7 y! "
    "sys says any assay drag yard sad dare add easy raise skin never over weird open copy find fold ok? send",
)
PAGER = "the pager"
LISTS = (
    *("/board", "/jobs", "/permissions", "/inbox", "/status", "/cost", "/context", "/timeline"),
    *("/resume", "/model", "/theme", "/help", "/skills", "/agents", "/mcp"),
    *("/rewind", "/diff", "/config", PAGER),
)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


Ask: TypeAlias = Callable[[], Question]


def review_of(request: ReviewRequest) -> ReviewQuestion:
    return ReviewQuestion(request, a_review_context(preview=lambda rule: RulePreview(problem=f"no: {rule}")))


LOG = a_command("git log --oneline -5")
RULE = ReviewRequest(
    packet=LOG, reasons=a_request(LOG).reasons, batch_size=1, proposals=("run_command(git log --oneline -5)",)
)
ASKED = {"question": "Which?", "options": [{"label": "Blue"}, {"label": "Green"}], "several": True}
QUESTIONS: dict[str, Ask] = {
    "command": lambda: review_of(a_request(a_command("make all"))),
    "commands": lambda: review_of(a_request(a_command("one"), a_command("two", index=1), batch_size=2)),
    "edit": lambda: review_of(a_request(an_edit("@@ -1 +1 @@\n-a\n+b\n"))),
    "rule": lambda: review_of(RULE),
    "plan": lambda: review_of(a_request(a_plan())),
    "tool": lambda: review_of(a_request(a_packet("mcp__x__y", {"q": "a b"}, a_command("x").seal))),
    "trust": lambda: TRUST,
    "spend": lambda: SPENDING,
    "sandbox": lambda: SandboxQuestion("bubblewrap"),
    "question": lambda: review_of(a_request(a_packet("ask_person", ASKED, a_command("x").seal))),
    "form": lambda: FORM,
    "address": lambda: ADDRESS,
}


_MOST_TRIES = 60


async def settle(stage: Stage) -> None:
    """Wait until what was posted is worked off, on the way to the widget in focus and back."""
    for _ in range(2):
        for node in (stage.app, stage.app.screen, stage.app.screen.focused, stage.app.screen):
            if node is not None and node.is_running:
                passed = asyncio.Event()
                node.call_next(passed.set)
                tries = 0
                while not passed.is_set() and node.is_running and (tries := tries + 1) <= _MOST_TRIES:
                    with suppress(TimeoutError):  # of one that ends meanwhile
                        await asyncio.wait_for(passed.wait(), 1)


class Typist:
    """Types by a clock of its own: what the app lets wait goes by that clock as well."""

    def __init__(self, stage: Stage, clock: Clock, chance: random.Random) -> None:
        self.stage, self.clock, self.chance = stage, clock, chance
        self.waiting: list[tuple[float, Callable[[], Coroutine[object, object, None]]]] = []

    def let_wait(self, real: Callable[..., Timer], secs: float, callback: Any, **options: Any) -> Timer | None:
        if secs != TYPING_PACE.hold_secs:
            return real(secs, callback, **options)
        self.waiting.append((self.clock.now + secs, callback))
        return None

    async def wait(self, secs: float) -> None:
        self.clock.now += secs
        for due, callback in list(self.waiting):
            if due <= self.clock.now:
                self.waiting.remove((due, callback))
                self.stage.app.call_later(callback)
        await settle(self.stage)

    async def press(self, key: str) -> None:
        name = {" ": "space", "\n": "enter", "/": "slash"}.get(key, key)
        event = events.Key(name, key if len(key) == 1 else None)
        event.time = self.clock.now
        self.stage.app.post_message(event)
        await settle(self.stage)

    async def type(self, text: str) -> None:
        for character in text:
            await self.wait(self.chance.uniform(0.04, 0.2))
            await self.press(character)

    def a_sentence(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=self.chance.randint(2, 6)))


async def clear(typist: Typist) -> None:
    """Leave all that is open, long after the last key, and empty the prompt."""
    stage = typist.stage
    for _ in range(12):
        if stage.app.screen is stage.app.chat and not stage.app.chat.questions.asking:
            break
        await typist.wait(30)
        await typist.press("escape")
    assert stage.app.screen is stage.app.chat, stage.app.screen
    await typist.wait(30)
    stage.prompt.replace_text("")
    await settle(stage)


def is_there(stage: Stage) -> bool:
    screen: Screen[object] = stage.app.screen
    return (
        screen is not stage.app.chat
        and screen.is_mounted
        and (not isinstance(screen, Guarded) or screen.is_awake)
    )


async def at_a_question(typist: Typist, name: str) -> None:
    """A question opens while a sentence is typed: it has no answer, and the prompt the whole sentence."""
    stage, chance = typist.stage, typist.chance
    sentence = typist.a_sentence()
    before = chance.randint(0, len(sentence))
    await typist.type(sentence[:before])
    asked = asyncio.create_task(stage.agent._person.ask(QUESTIONS[name]()))
    if chance.random() < 0.5:
        await stage.until(lambda: is_there(stage))
    if before in (0, len(sentence)) or chance.random() < 0.2:
        await typist.wait(chance.choice([0.0, 0.3, 0.7, 3]))
    await typist.type(sentence[before:])
    if chance.random() < 0.7:
        await typist.type("\n")
    await stage.until(lambda: is_there(stage))
    assert not asked.done(), (name, sentence, before)
    await typist.wait(1)
    assert not asked.done(), (name, sentence, before)
    assert stage.prompt.text.rstrip("\n") == sentence, (name, sentence, before, stage.prompt.text)
    await clear(typist)
    asked.cancel()


async def in_a_rule(typist: Typist) -> None:
    """Words in the field of a rule make no rule, and stay there; taken away they are in the prompt."""
    stage, chance = typist.stage, typist.chance
    sentence = typist.a_sentence()
    asked = asyncio.create_task(stage.agent._person.ask(review_of(RULE)))
    dialog = await stage.asked()
    await typist.wait(3)
    await typist.press("a")
    await typist.wait(chance.choice([0.3, 2]))
    await stage.until(lambda: dialog.takes_text)
    field = dialog.query_one("#rule", Input)
    field.value = ""
    await typist.type(sentence)
    if chance.random() < 0.7:
        await typist.type("\n")
    assert not asked.done(), sentence
    assert field.value == sentence, (sentence, field.value)
    if chance.random() < 0.3:
        asked.cancel()
        await stage.until(lambda: stage.prompt.text == sentence)
    await clear(typist)
    asked.cancel()


async def in_a_field(typist: Typist) -> None:
    """A question opens while a field of another screen is typed into: that has all of it."""
    stage, chance = typist.stage, typist.chance
    sentence = typist.a_sentence()
    stage.app.push_screen(pager := build_pager("a line\n" * 80, "cat x", is_diff=False))
    await stage.until(lambda: is_there(stage))
    await typist.wait(3)
    await typist.press("/")
    before = chance.randint(1, len(sentence))
    await typist.type(sentence[:before])
    asked = asyncio.create_task(stage.agent._person.ask(QUESTIONS[chance.choice([*QUESTIONS])]()))
    if chance.random() < 0.5:
        await stage.until(lambda: stage.app.screen is not pager and is_there(stage))
    await typist.type(sentence[before:])
    await stage.until(lambda: stage.app.screen is not pager and is_there(stage))
    await typist.wait(1)
    assert not asked.done(), (sentence, before)
    found = (pager.query_one("#asked", Input).value, stage.prompt.text)
    assert found == (sentence, ""), (sentence, before, found)
    await clear(typist)
    asked.cancel()


async def at_a_list(typist: Typist, command: str) -> None:
    """A list opens while a sentence is typed: that searches it, or is in the prompt."""
    stage, chance = typist.stage, typist.chance
    sentence = typist.a_sentence()
    if command == PAGER:
        stage.app.push_screen(build_pager("a line\n" * 80, "cat x", is_diff=False))
    else:
        await typist.type(command)
        await typist.wait(3)
        await typist.press("escape")
        await typist.wait(3)
        await typist.press("\n")
    before = chance.randint(0, len(sentence)) if chance.random() < 0.5 else 0
    await typist.type(sentence[:before])
    # Letters for which it has a use may have closed it again.
    await stage.until(lambda: is_there(stage) or (before and stage.prompt.text == sentence[:before]))
    screen = stage.app.screen
    if not before:
        await typist.wait(chance.choice([0.0, 0.3, 3]))
    await typist.type(sentence[before:])
    await typist.wait(0.3)
    fields = [*screen.query(QueryInput), *screen.query("#asked").results(Input)] if screen.is_attached else []
    searched = "".join(field.value for field in fields)
    found = (stage.prompt.text + searched).rstrip("\n")
    assert found == sentence, (command, sentence, before, found, screen, stage.app.screen)
    await clear(typist)


async def storm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, openings: int) -> None:
    clock, chance = Clock(), random.Random(seed)
    clock.now = 100.0
    async with on_stage(tmp_path, clock=clock, pace=TYPING_PACE, prepare=changed) as stage:
        settings = FakeSettings(a_setting("review.mode", '"ask"', choices=("ask", "auto")))
        stage.app.open_settings = lambda: settings
        typist = Typist(stage, clock, chance)
        monkeypatch.setattr(stage.app, "set_timer", partial(typist.let_wait, stage.app.set_timer))
        stage.agent.rules.held = [OWN]
        stage.agent.archive.listed = (a_session("one", "watch the deploy"),)
        begin_job(stage, "npm run dev")
        kinds = [*QUESTIONS, *LISTS, "entry", "entry", "field", "field"]
        for _ in range(openings):
            kind = chance.choice(kinds)
            if kind in QUESTIONS:
                await at_a_question(typist, kind)
            elif kind == "entry":
                await in_a_rule(typist)
            elif kind == "field":
                await in_a_field(typist)
            else:
                await at_a_list(typist, kind)
            assert stage.agent.jobs.stopped == []
            assert stage.agent.rules.held == [OWN]
            assert stage.agent.prompts == []
            assert stage.agent.restored == []
            assert settings.changes == []


@pytest.mark.long(after=1)
@pytest.mark.parametrize(("seed", "openings"), [(1, 2), (2, 12), (3, 12), (4, 12)])
async def test_no_word_is_lost_and_nothing_is_answered_by_words(tmp_path, monkeypatch, seed, openings):
    await storm(tmp_path, monkeypatch, seed, openings)


async def test_a_word_stays_in_the_field_in_which_it_began(tmp_path, monkeypatch):
    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, clock=clock, pace=TYPING_PACE) as stage:
        typist = Typist(stage, clock, random.Random(0))
        monkeypatch.setattr(stage.app, "set_timer", partial(typist.let_wait, stage.app.set_timer))
        await in_a_field(typist)

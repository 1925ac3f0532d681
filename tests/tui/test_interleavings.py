"""Keys between dialogs, menus, completions, pastes and queues: each character ends up in the prompt."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from msgspec import Struct
from textual import events

from quorum.tui.keys.keyboard_guard import TYPING_PACE
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import Scene, hold
from tests.tui.test_typing_storm import QUESTIONS, Typist, clear, is_there, settle


class Ask(Struct, frozen=True):
    """A question of this kind opens; `soon`: the next key comes before it can be seen."""

    kind: str = "command"
    soon: bool = False


class Withdraw(Struct, frozen=True):
    """The last question is answered elsewhere."""


class Paste(Struct, frozen=True):
    text: str


class Key(Struct, frozen=True):
    name: str
    times: int = 1


class Wait(Struct, frozen=True):
    secs: float


class Resize(Struct, frozen=True):
    columns: int
    lines: int


Step = str | Ask | Withdraw | Paste | Key | Wait | Resize
NOW, GONE = Ask(soon=True), Withdraw()

CASES: dict[str, tuple[tuple[Step, ...], str]] = {
    "a word around a command": (("yes ru", Ask(), "n it"), "yes run it"),
    "a word around what cannot be seen yet": (("yes ru", NOW, "n it"), "yes run it"),
    "a letter that is a key, then a word": ((Ask(), "yesterday it ran"), "yesterday it ran"),
    "a word that begins with no": (("no", NOW, "w then"), "now then"),
    "digits": (("use 1", Ask(), "23 of them"), "use 123 of them"),
    "a paste while it is open": (("a ", Ask(), Paste("pasted y"), " b"), "a pasted y b"),
    "a paste of one y": ((Ask(), Paste("y")), "y"),
    "a paste of yes and enter": ((Ask(), Paste("yes\n")), "yes\n"),
    "a paste right before": ((Paste("one two"), NOW, " three"), "one two three"),
    "a paste right after": (("one", NOW, Paste(" two")), "one two"),
    "two pastes around a question": ((Paste("a "), Ask(), Paste("b "), GONE, Paste("c")), "a b c"),
    "two questions one after the other": (("first ", Ask(), "sec", GONE, Ask("edit"), "ond"), "first second"),
    "three questions within a word": (
        ("a", NOW, "b", GONE, Ask("edit", soon=True), "c", GONE, Ask("trust", soon=True), "d"),
        "abcd",
    ),
    "a question that goes within a word": (("hel", Ask(), "lo wo", GONE, "rld"), "hello world"),
    "a question that comes and goes": (("hel", NOW, GONE, "lo"), "hello"),
    "a capital A": (("a ", Ask("commands"), "All of it"), "a All of it"),
    "A as the first letter": ((Ask("commands"), "Also this"), "Also this"),
    "r as the first letter": ((Ask(), "rather not"), "rather not"),
    "e as the first letter": ((Ask("edit"), "even so"), "even so"),
    "d as the first letter": ((Ask(), "do it later"), "do it later"),
    "k as the first letter": ((Ask("rule"), "keep it"), "keep it"),
    "t as the first letter of a plan": ((Ask("plan"), "then what"), "then what"),
    "n as the first letter": ((Ask("sandbox"), "now what"), "now what"),
    "words at a form": (("so ", Ask("form", soon=True), "send it"), "so send it"),
    "words at an address": (("so ", Ask("address", soon=True), "open it"), "so open it"),
    "words at a question with options": (("so ", Ask("question", soon=True), "1 or 2"), "so 1 or 2"),
    "words at spending": (("so ", Ask("spend", soon=True), "yes go on"), "so yes go on"),
    "words at trust": (("so ", Ask("trust", soon=True), "trust me"), "so trust me"),
    "backspace within a word": (("wrod", Key("backspace", 3), "or", NOW, "d"), "word"),
    "backspace at a question": (("abx", NOW, Key("backspace"), "c"), "abc"),
    "arrows before": (("ac", Key("left"), NOW, "b"), "abc"),
    "home before": (("bc", Key("home"), NOW, "a"), "abc"),
    "a new line before": (("one", Key("ctrl+j"), "tw", NOW, "o"), "one\ntwo"),
    "a new line at a question": (("one", NOW, Key("ctrl+j"), "two"), "one\ntwo"),
    "an enter too many": (("one", NOW, "\n", "two"), "one\ntwo"),
    "the menu of commands": (("/co", NOW, "mpa"), "/compa"),
    "the menu, and a question that goes": (("/co", NOW, "mp", GONE, "a"), "/compa"),
    "a mention": (("see @not", NOW, "es"), "see @notes"),
    "a mention, and a paste": (("see @", Ask(), Paste("notes.md")), "see @notes.md"),
    "a command of the person": (("!ls", NOW, " -la"), "!ls -la"),
    "a note for memory": (("# rem", NOW, "ember"), "# remember"),
    "umlauts": (("für ", Ask(), "später ü"), "für später ü"),
    "other scripts": (("日本", Ask(), "語の y"), "日本語の y"),
    "a sign of several code points": (("ok ", Ask(), Paste("👩\u200d💻 y")), "ok 👩\u200d💻 y"),
    "punctuation": (("why", NOW, "? yes! no."), "why? yes! no."),
    "a pause within a sentence": (("one two ", Ask(), "three", Wait(0.4), " four"), "one two three four"),
    "a resize within a word": (("he", NOW, "l", Resize(60, 15), "lo"), "hello"),
    "a small screen": ((Resize(40, 12), "he", Ask(), "llo"), "hello"),
    "a large screen": ((Resize(200, 50), "he", Ask("edit"), "llo"), "hello"),
    "page keys at a question": (("he", Ask("edit"), "l", Key("pagedown"), "lo"), "hello"),
    "a question after a list": (("/he", Key("escape"), Wait(1), "llo", NOW, " all"), "/hello all"),
    "a question at the end": (("hello", NOW), "hello"),
    "a question before the first letter": ((NOW, "yellow"), "yellow"),
    "one question of each kind in turn": (
        (
            "a",
            Ask("command", soon=True),
            "b",
            GONE,
            Ask("form", soon=True),
            "c",
            GONE,
            Ask("plan", soon=True),
            "d",
        ),
        "abcd",
    ),
    "a very fast y": ((NOW, "y"), ""),
    "a second y within a word": (("a", NOW, "yy"), "ayy"),
    "a space at a question": (("hello", NOW, " y"), "hello y"),
    "a tab key at a question": (("hello", NOW, " wor", Key("tab"), "ld"), "hello world"),
    "a long paste": ((Ask(), Paste("y\n" * 400), "end"), "y\n" * 400 + "end"),
}


async def carry_out(typist: Typist, steps: tuple[Step, ...]) -> list[asyncio.Task[object]]:
    """Do all of it; the questions that still wait."""
    stage, asked = typist.stage, list[asyncio.Task[object]]()
    for step in steps:
        match step:
            case str():
                await typist.type(step)
            case Ask(kind, soon):
                asked.append(asyncio.create_task(stage.agent._person.ask(QUESTIONS[kind]())))
                if not soon:
                    await stage.until(lambda: is_there(stage))
            case Withdraw():
                asked.pop().cancel()
                await stage.unasked()
            case Paste(text):
                event = events.Paste(text)
                event.time = typist.clock.now
                stage.app.post_message(event)
                await settle(stage)
            case Key(name, times):
                for _ in range(times):
                    await typist.wait(0.1)
                    await typist.press(name)
            case Wait(secs):
                await typist.wait(secs)
            case Resize(columns, lines):
                await stage.pilot.resize_terminal(columns, lines)
    return asked


async def check(typist: Typist, name: str) -> None:
    stage = typist.stage
    steps, text = CASES[name]
    sent = list(stage.agent.prompts)
    asked = await carry_out(typist, steps)
    if asked:
        await stage.until(lambda: is_there(stage))
    await typist.wait(1)
    assert not any(each.done() for each in asked), name
    assert stage.prompt.whole_text == text, name
    assert (stage.agent.prompts, stage.agent.steered) == (sent, []), name
    await clear(typist)
    for each in asked:
        each.cancel()


@asynccontextmanager
async def typing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *scenes: Scene) -> AsyncIterator[Typist]:
    clock = Clock()
    clock.now = 100.0
    async with on_stage(tmp_path, *scenes, clock=clock, pace=TYPING_PACE) as stage:
        typist = Typist(stage, clock, random.Random(0))
        monkeypatch.setattr(stage.app, "set_timer", partial(typist.let_wait, stage.app.set_timer))
        yield typist


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


NAMES = [*CASES]
FEW = [NAMES[:2], NAMES[2:20], NAMES[20:40], NAMES[40:]]


@pytest.mark.long(after=1)
@pytest.mark.parametrize("names", FEW, ids=range(len(FEW)))
async def test_each_character_ends_up_in_the_prompt(tmp_path, monkeypatch, names):
    async with typing(tmp_path, monkeypatch) as typist:
        for name in names:
            await check(typist, name)


@pytest.mark.long
async def test_what_waits_behind_a_turn_goes_on_waiting(tmp_path, monkeypatch):
    async with typing(tmp_path, monkeypatch, hold()) as typist:
        stage = typist.stage
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await typist.wait(5)
        await typist.type("the next one")
        await typist.wait(5)
        await typist.press("\n")
        await stage.shows("◔ waits: the next one")
        for name in NAMES[2:20]:
            await typist.wait(5)
            await check(typist, name)
        await stage.pilot.resize_terminal(100, 30)
        await stage.shows("◔ waits: the next one")
        assert not stage.agent.reports

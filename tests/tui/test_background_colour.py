from __future__ import annotations

import re

import pytest
from textual import events
from textual.message import Message

from quorum.tui.terminal.background_colour import BackgroundReplies, BackgroundReported, can_query, is_light
from quorum.tui.terminal.input import TerminalKeys
from quorum.tui.themes.own import DARK, LIGHT
from tests.support.app_stage import on_stage
from tests.support.liveness import wait_until
from tests.support.terminal import Terminal

WHITE, BLACK = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b]11;rgb:0000/0000/0000\x07"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Reader:
    """The keys that a terminal's pieces come to."""

    def __init__(self, *, asks: bool = True) -> None:
        self.clock = Clock()
        self.replies = BackgroundReplies(self.clock)
        self.keys = TerminalKeys(False, self.replies)
        if asks:
            self.replies.expect()

    def read(self, *pieces: str, pause: float = 0.0) -> list[Message]:
        found: list[Message] = []
        for piece in pieces:
            found += self.keys.feed(piece)
            self.clock.now += pause
            found += self.keys.tick()
        return found


def told(messages: list[Message]) -> list[object]:
    return [
        each.is_light if isinstance(each, BackgroundReported) else each.key
        for each in messages
        if isinstance(each, BackgroundReported | events.Key)
    ]


@pytest.mark.parametrize(
    ("colour", "light"),
    [
        ("rgb:ffff/ffff/ffff", True),
        ("rgb:1c1c/1c1c/1c1c", False),
        ("rgb:f/f/f", True),
        ("rgb:fd/f6/e3", True),
        ("rgba:0000/2b2b/3636/ffff", False),
        ("#FFFFFF", True),
        ("rgb:0000/0000/ffff", False),
        ("rgb:0/f/0", True),
        ("rgb:zz/0/0", None),
        ("", None),
        ("rgb:1/2", None),
    ],
)
def test_a_colour_is_light_or_dark_to_the_eye(colour: str, light: bool | None) -> None:
    assert is_light(colour) is light


@pytest.mark.parametrize("answer", [WHITE, BLACK])
def test_an_answer_is_no_key(answer: str) -> None:
    assert told(Reader().read(answer)) == [answer == WHITE]


@pytest.mark.parametrize("place", range(1, len(WHITE)))
def test_an_answer_in_two_pieces_is_no_key(place: int) -> None:
    assert told(Reader().read(WHITE[:place], WHITE[place:], pause=0.05)) == [True]


def test_an_answer_that_comes_letter_by_letter_is_no_key() -> None:
    assert told(Reader().read(*BLACK, pause=0.05)) == [False]


def test_what_is_typed_around_an_answer_stays() -> None:
    found = told(Reader().read(f"a{WHITE}", "b"))

    assert sorted(map(str, found)) == ["True", "a", "b"]


def test_an_answer_long_after_the_question_is_no_key_either() -> None:
    reader = Reader()
    reader.clock.now += 3600

    assert told(reader.read(WHITE)) == [True]
    assert told(reader.read(WHITE[:9], WHITE[9:], pause=0.05)) == [True]


def test_an_answer_inside_a_paste_is_not_pasted() -> None:
    found = Reader().read(f"\x1b[200~one{WHITE} two\x1b[201~")

    assert [each.text for each in found if isinstance(each, events.Paste)] == ["one two"]


def test_a_colour_that_nobody_knows_is_dropped() -> None:
    assert told(Reader().read("\x1b]11;chartreuse\x07")) == []


def test_an_answer_that_never_ends_is_dropped_and_keys_go_on() -> None:
    reader = Reader()
    reader.read("\x1b]11;rgb:ff", pause=1.0)

    assert told(reader.read("x")) == ["x"]


def test_escape_is_a_key_while_an_answer_is_awaited() -> None:
    reader = Reader()

    assert reader.replies.extract("\x1b") == ("", [])
    reader.clock.now += 0.11
    assert reader.replies.release() == "\x1b"


@pytest.mark.parametrize("asks", [True, False])
def test_arrows_are_keys(asks: bool) -> None:
    assert told(Reader(asks=asks).read("\x1b[A\x1b[B")) == ["up", "down"]


def test_escape_waits_for_nothing_once_the_answer_is_there_or_is_late() -> None:
    answered = Reader()
    answered.read(WHITE)
    late = Reader()
    late.clock.now += 6

    assert [reader.replies.extract("\x1b")[0] for reader in (answered, late, Reader(asks=False))] == [
        "\x1b"
    ] * 3


@pytest.mark.parametrize(
    ("term", "can"), [("xterm-256color", True), ("tmux", True), ("linux", False), ("dumb", False), ("", False)]
)
def test_consoles_that_print_what_they_do_not_know_are_not_asked(term: str, can: bool) -> None:
    assert can_query({"TERM": term}) is can


@pytest.mark.long
async def test_auto_follows_the_answer_and_another_theme_does_not(tmp_path) -> None:
    async with on_stage(tmp_path) as stage:
        stage.app.action_change_theme("auto")
        assert stage.app.theme == DARK.name
        stage.app.post_message(BackgroundReported(is_light=True))
        await stage.until(lambda: stage.app.theme == LIGHT.name)
        stage.app.post_message(BackgroundReported(is_light=False))
        await stage.until(lambda: stage.app.theme == DARK.name)

        stage.app.action_change_theme("nord")
        stage.app.post_message(BackgroundReported(is_light=True))
        await stage.pilot.pause()
        assert stage.app.theme == "nord"


@pytest.mark.long
def test_a_terminal_is_asked_after_the_first_paint_and_its_late_answer_is_not_typed(tmp_path) -> None:
    config = tmp_path / "config" / "quorum"
    config.mkdir(parents=True)
    (config / "quorum.toml").write_text('[tui]\ntheme = "auto"\n')
    with Terminal(tmp_path, tmp_path, rows=24, columns=80, arguments=[]) as terminal:
        terminal.wait_for("offline")
        wait_until(lambda: "\x1b]11;?" in terminal.raw, "the question")
        assert terminal.raw.index("\x1b[?1049h") < terminal.raw.index("\x1b]11;?")
        terminal.type("typed")
        terminal.type(WHITE[:7])
        with terminal.fresh():
            terminal.type(WHITE[7:])
            wait_until(lambda: "48;2;251;250;248" in terminal.raw, "the background of the light theme")
        terminal.type(" on")
        terminal.wait_for("typed on")
        assert not re.search(r"11;|rgb:|ffff", terminal.painted)

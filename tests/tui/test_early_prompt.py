"""The prompt that is shown before the app is loaded."""

from __future__ import annotations

import contextlib
import os
import re
import select
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.tui.terminal import early_prompt
from quorum.tui.terminal.console import count_waiting_bytes
from quorum.tui.terminal.early_prompt import EarlyPrompt, show_early_prompt
from quorum.tui.widgets.layout import PLACEHOLDER, STARTING

_SEQUENCES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
SIZE = (40, 10)
TAKEN, LEFT = "\x1b[?1049h", "\x1b[?1049l"


class Line:
    """A real terminal of which the test holds the far end."""

    def __init__(self) -> None:
        self.far, self.near = os.openpty()
        self.usual = termios.tcgetattr(self.near)

    def close(self) -> None:
        os.close(self.far)
        os.close(self.near)

    def type(self, keys: str) -> None:
        os.write(self.far, keys.encode())

    def read_until(self, text: str) -> str:
        """What was drawn, until this text stands in it."""
        drawn = ""
        while text not in _SEQUENCES.sub("", drawn):
            ready, _, _ = select.select((self.far,), (), (), 20)
            assert ready, f"{text!r} was not drawn: {drawn!r}"
            drawn += os.read(self.far, 65_536).decode()
        return drawn


@pytest.fixture
def line() -> Iterator[Line]:
    line = Line()
    yield line
    line.close()


@pytest.fixture
def prompt(line: Line) -> Iterator[EarlyPrompt]:
    prompt = EarlyPrompt(line.near, line.near, SIZE)
    prompt.begin()
    line.read_until(PLACEHOLDER[: SIZE[0] - 6])
    yield prompt
    prompt.close()


def test_what_an_app_left_on_the_screen_stays_and_the_terminal_becomes_as_it_was_before_that_app(
    line: Line,
) -> None:
    left = termios.tcgetattr(line.near)
    left[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(line.near, termios.TCSANOW, left)
    line.type("typed\r")

    prompt = EarlyPrompt(line.near, line.near, SIZE, before=line.usual)
    prompt.begin()
    line.type("more")
    prompt.close()

    drawn = line.read_until("")
    os.write(line.near, b"end")
    drawn += line.read_until("end")
    assert TAKEN not in drawn
    assert "\x1b[2J" not in drawn
    assert PLACEHOLDER[:5] not in drawn
    assert termios.tcgetattr(line.near)[3] == line.usual[3]


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("go", "› go "),
        ("goo\x7f on", "› go on "),
        ("\x7f\bx", "› x "),
        ("日本é", "› 日本é "),
    ],
)
def test_what_is_typed_is_shown_and_kept_for_the_app_byte_for_byte(
    line: Line, prompt: EarlyPrompt, keys: str, shown: str
) -> None:
    for key in keys:
        line.type(key)

    line.read_until(shown)

    assert prompt.hand_over().data == keys.encode()


def test_erased_to_nothing_it_names_what_can_be_typed_again(line: Line, prompt: EarlyPrompt) -> None:
    line.type("a")
    line.read_until("› a ")
    line.type("\x7f")

    line.read_until(PLACEHOLDER[: SIZE[0] - 6])


@pytest.mark.parametrize(
    "key", ["\r", "\x1b[D", "\x1b[200~two\nlines\x1b[201~", "\x1a", "\x04", "\x1c", "\x11"]
)
def test_after_a_key_that_is_no_text_nothing_more_is_shown_and_all_is_kept(
    line: Line, prompt: EarlyPrompt, key: str
) -> None:
    line.type("go")
    line.read_until("› go ")
    line.type(key + "more")
    while not prompt._typed.endswith(b"more"):
        os.sched_yield()
    typed = prompt.hand_over()

    os.write(line.near, b"END")
    assert "more" not in line.read_until("END")
    assert typed.data == f"go{key}more".encode()


def test_text_that_has_no_room_is_kept_and_not_shown(line: Line, prompt: EarlyPrompt) -> None:
    text = "x" * 33 + "日" * 10
    line.type(text)

    line.read_until("› " + "x" * 33)
    while len(prompt._typed) < len(text.encode()):
        os.sched_yield()

    assert prompt.hand_over().data == text.encode()


def test_what_was_typed_in_lines_before_is_told_apart(line: Line) -> None:
    line.type("one\rtw")
    while count_waiting_bytes(line.near) < len("one\n"):  # of a line only what Enter ended
        os.sched_yield()
    prompt = EarlyPrompt(line.near, line.near, SIZE)
    prompt.begin()
    while len(prompt._typed) < 6:
        os.sched_yield()
    line.type("o\r")
    while len(prompt._typed) < 8:
        os.sched_yield()

    typed = prompt.hand_over()

    assert (typed.data, typed.in_lines) == (b"one\ntwo\r", len(b"one\ntw"))
    assert typed.attributes == line.usual


def test_closed_it_gives_the_terminal_back_as_it_was(line: Line) -> None:
    prompt = EarlyPrompt(line.near, line.near, SIZE)
    prompt.begin()
    assert TAKEN in line.read_until(STARTING)
    assert termios.tcgetattr(line.near) != line.usual
    line.type("rm -rf .")
    line.read_until("rm -rf . ")

    prompt.close()
    prompt.close()

    assert termios.tcgetattr(line.near) == line.usual
    os.write(line.near, b"END")
    assert LEFT in line.read_until("END")
    assert not select.select((line.near,), (), (), 0)[0]  # nothing is left for the shell to run


def test_handed_over_the_terminal_stays_as_it_is(line: Line, prompt: EarlyPrompt) -> None:
    taken = termios.tcgetattr(line.near)

    typed = prompt.hand_over()
    prompt.close()

    assert termios.tcgetattr(line.near) == taken
    assert typed.attributes == line.usual
    os.write(line.near, b"END")
    assert LEFT not in line.read_until("END")


def test_a_terminal_that_goes_away_ends_nothing(line: Line) -> None:
    far, near = os.openpty()
    prompt = EarlyPrompt(near, near, SIZE)
    prompt.begin()

    os.close(far)
    prompt._reader.join(60)

    assert not prompt._reader.is_alive()
    prompt.close()
    os.close(near)


@pytest.mark.parametrize(
    "variables",
    [{"TERM": "linux"}, {"TERM": "vt100"}, {"TERM": "xterm", "COLUMNS": "50"}, {"TERM": "xterm", "LINES": "9"}],
)
def test_a_terminal_of_which_too_little_is_known_is_left_to_the_app(
    monkeypatch: pytest.MonkeyPatch, line: Line, variables: dict[str, str]
) -> None:
    monkeypatch.setattr(early_prompt.os, "tcgetpgrp", lambda _terminal: os.getpgrp())
    monkeypatch.setattr(early_prompt.os, "get_terminal_size", lambda _output: os.terminal_size(SIZE))

    assert show_early_prompt(line.near, line.near, variables) is None
    shown = show_early_prompt(line.near, line.near, {"TERM": "xterm"})
    assert shown is not None
    shown.close()


def test_interrupted_while_it_takes_the_terminal_it_gives_it_back(
    monkeypatch: pytest.MonkeyPatch, line: Line
) -> None:
    def interrupt(_terminal: int) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(early_prompt.os, "tcgetpgrp", lambda _terminal: os.getpgrp())
    monkeypatch.setattr(early_prompt.os, "get_terminal_size", lambda _output: os.terminal_size(SIZE))
    monkeypatch.setattr(early_prompt, "count_waiting_bytes", interrupt)

    with pytest.raises(KeyboardInterrupt):
        show_early_prompt(line.near, line.near, {"TERM": "xterm"})

    assert termios.tcgetattr(line.near) == line.usual


def test_a_terminal_that_takes_no_more_holds_nothing_up(line: Line, prompt: EarlyPrompt) -> None:
    os.set_blocking(line.near, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(line.near, b"x" * 1000)
    os.set_blocking(line.near, True)
    line.type("go")
    while len(prompt._typed) < 2:
        os.sched_yield()

    assert prompt.hand_over().data == b"go"


def test_nothing_is_shown_in_the_background_or_where_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch, line: Line
) -> None:
    usual = {"TERM": "xterm"}
    monkeypatch.setattr(early_prompt.os, "get_terminal_size", lambda _output: os.terminal_size((19, 4)))
    monkeypatch.setattr(early_prompt.os, "tcgetpgrp", lambda _terminal: os.getpgrp())
    assert show_early_prompt(line.near, line.near, usual) is None

    monkeypatch.setattr(early_prompt.os, "get_terminal_size", lambda _output: os.terminal_size(SIZE))
    monkeypatch.setattr(early_prompt.os, "tcgetpgrp", lambda _terminal: os.getpgrp() + 1)
    assert show_early_prompt(line.near, line.near, usual) is None
    assert termios.tcgetattr(line.near) == line.usual


@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        ("list tesz\x7fts\r", "list tests"),
        ("one\rtwo\x1b[D\r", "one\ntwo"),
        ("\x1b[200~a\rb\x1b[201~\r", "a\nb"),
        ("\x1b[200~a\rb\x1b[201~", None),
        ("go", None),
        (f"use ghp_{'a1B2' * 9}\r", None),
    ],
)
def test_what_is_ended_with_enter_is_kept_for_the_case_of_a_kill(
    line: Line,
    prompt: EarlyPrompt,
    keys: str,
    kept: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    line.type(keys)
    while len(prompt._typed) < len(keys):
        os.sched_yield()
    unsent = prompt.hand_over().unsent

    assert (None if unsent is None else list(unsent.texts)) == (None if kept is None else [kept])

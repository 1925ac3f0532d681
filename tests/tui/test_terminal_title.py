from pathlib import Path

import pytest
from textual.app import App

from quorum.tui.terminal.notifications import Notifier, TerminalTitle, encode_notification

KITTY, ITERM, GHOSTTY = {"KITTY_WINDOW_ID": "1"}, {"TERM_PROGRAM": "iTerm.app"}, {"TERM_PROGRAM": "ghostty"}


class Driver:
    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, text: str) -> None:
        self.written.append(text)


class Ringing(App[None]):
    is_headless = False

    def __init__(self) -> None:
        super().__init__()
        self._driver = Driver()

    @property
    def written(self) -> str:
        return "".join(self._driver.written)


def notifier(app: Ringing, environ: dict[str, str] | None = None, *, focused: bool | None = None) -> Notifier:
    made = Notifier(app, Path("/x/pro\x1b]ject;\x07"), environ or {})
    if focused is not None:
        made.note_focus()
        app.set_reactive(App.app_focus, focused)
    return made


def test_the_title_names_the_folder_with_what_is_the_matter_and_is_given_back():
    app = Ringing()
    title = TerminalTitle(app, Path("/x/project"))

    title.begin()
    title.show("●")
    title.show("!")
    title.show("")
    title.end()

    shown = ["project · quorum", "● project · quorum", "! project · quorum", "project · quorum"]
    assert app.written == "\x1b[22;2t" + "".join(f"\x1b]2;{each}\x07" for each in shown) + "\x1b[23;2t"


def test_a_folder_cannot_write_to_the_terminal_nor_fill_its_title():
    app = Ringing()
    TerminalTitle(app, Path("/x/a\x1b]52;c;eA==\x07\x9c" + "b" * 500)).begin()

    inside = app.written.removeprefix("\x1b[22;2t\x1b]2;").removesuffix("\x07")
    assert inside.isprintable()
    assert len(inside) < 80


def test_the_same_is_not_shown_twice_and_nothing_after_the_end():
    app = Ringing()
    title = TerminalTitle(app, Path("/x/a"))
    title.show("●")
    assert app.written == ""
    title.begin()
    title.begin()
    title.show("●")
    title.end()
    title.end()
    title.show("!")
    title.begin()

    assert app.written.count("\x1b[22;2t") == 2
    assert app.written.count("\x1b[23;2t") == 1
    assert app.written.endswith("\x1b]2;! a · quorum\x07")


@pytest.mark.parametrize(
    ("environ", "begin", "end"),
    [
        (ITERM, "\x1b]9;", "\x07"),
        ({"LC_TERMINAL": "iTerm2"}, "\x1b]9;", "\x07"),
        (GHOSTTY, "\x1b]777;notify;quorum;", "\x07"),
        ({"VTE_VERSION": "7600"}, "\x1b]777;notify;quorum;", "\x07"),
        ({"TERM": "foot"}, "\x1b]777;notify;quorum;", "\x07"),
        (KITTY, "\x1b]99;i=quorum:o=unfocused;quorum: ", "\x1b\\"),
        (KITTY | {"TMUX": "/tmp/t,1,0"}, "\x1bPtmux;\x1b\x1b]99;", "\x1b\x1b\\\x1b\\"),
    ],
)
def test_each_terminal_is_shown_in_its_own_words(environ, begin, end):
    sequence = encode_notification("a; b", environ)

    assert sequence.startswith(begin)
    assert sequence.endswith(f"a, b{end}")


@pytest.mark.parametrize("environ", [{}, {"TERM_PROGRAM": "Apple_Terminal"}, KITTY | {"STY": "1.x"}])
def test_a_terminal_that_is_not_known_to_understand_is_sent_nothing(environ):
    assert encode_notification("x", environ) == ""


def test_the_bell_rings_where_nothing_else_is_known_and_never_while_the_terminal_has_the_focus():
    for focused, rings in ((None, 1), (False, 1), (True, 0)):
        app = Ringing()
        notifier(app, focused=focused).notify_question("edit_file")
        assert app.written.count("\x07") == rings


def test_a_notification_takes_the_place_of_the_bell_where_the_person_is_known_to_look_elsewhere():
    app = Ringing()
    notifier(app, KITTY, focused=False).notify_question("edit_file")
    assert app.written == "\x1b]99;i=quorum:o=unfocused;quorum: edit needs your answer · pro␛]ject,␇\x1b\\"

    app = Ringing()
    notifier(app, KITTY).notify_turn_end()  # whether it has the focus is not known
    assert app.written == "\x07"


@pytest.mark.parametrize(("by", "expected"), [("bell", "\x07"), ("desktop", "\x1b]99;")])
def test_the_person_decides_how(by, expected):
    app = Ringing()
    made = notifier(app, KITTY)
    made.by = by
    made.notify_turn_end()

    assert app.written.startswith(expected)


def test_in_tmux_the_bell_rings_too_so_that_it_marks_the_window():
    app = Ringing()
    notifier(app, KITTY | {"TMUX": "x"}, focused=False).notify_turn_end()

    assert app.written.startswith("\x1bPtmux;")
    assert app.written.endswith("\x07")


def test_who_wants_nothing_hears_nothing():
    app = Ringing()
    made = notifier(app, KITTY, focused=False)
    made.wanted = False
    made.notify_question("edit_file")
    made.notify_turn_end()

    assert app.written == ""


def test_the_name_of_a_tool_cannot_write_to_the_terminal():
    app = Ringing()
    notifier(app, KITTY, focused=False).notify_question("x\x1b\\\x1b]52;c;eA==\x07")

    assert app.written.count("\x1b") == 2
    assert "\x07" not in app.written

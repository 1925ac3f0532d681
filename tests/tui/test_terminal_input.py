"""What the terminal sends, as the app understands it."""

import pytest
from textual import events
from textual.drivers import linux_driver

from tui import terminal_input
from tui.review.keyboard_guard import KeyboardGuard
from tui.terminal_input import TerminalKeys, TypedAhead


class Line:
    """A terminal's line on which pieces arrive at times of our choice."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(terminal_input, "get_time", lambda: self.now)
        monkeypatch.setattr("textual._parser.get_time", lambda: self.now)
        self._keys = TerminalKeys()

    def after(self, secs, piece=""):
        """What is understood when that much later this arrives, or nothing."""
        self.now += secs
        told = [*self._keys.feed(piece)] if piece else [*self._keys.tick()]
        known = [event for event in told if isinstance(event, events.Paste | events.Key)]
        return [event.text if isinstance(event, events.Paste) else event.key for event in known]


@pytest.fixture
def line(monkeypatch):
    return Line(monkeypatch)


def pasted(text):
    return f"\x1b[200~{text}\x1b[201~"


def test_escape_and_a_later_enter_are_two_keys_before_any_clock_has_ticked(line):
    assert line.after(0, "\x1b") == []
    assert line.after(terminal_input.linux_driver.constants.ESCAPE_DELAY + 0.01, "\r") == ["escape", "enter"]


def test_escape_and_enter_together_begin_a_new_line(line):
    import tui.prompt_box.prompt  # noqa: F401 (it teaches the parser this key)

    assert line.after(0, "\x1b\r") == ["ctrl+j"]


def test_alt_and_a_letter_waits_no_longer_than_escape(line):
    assert line.after(0, "\x1bv") == []
    assert line.after(terminal_input.linux_driver.constants.ESCAPE_DELAY + 0.01) == ["alt+v"]


@pytest.mark.parametrize(
    ("sequence", "key"), [("\x1b[A", "up"), ("\x1b[13;2u", "shift+enter"), ("\x1bOP", "f1")]
)
def test_a_sequence_in_pieces_over_a_slow_line_is_one_key(line, sequence, key):
    assert [word for piece in sequence for word in line.after(0.09, piece)] == [key]


def test_a_sequence_that_never_ends_does_not_hold_up_what_follows(line):
    assert line.after(0, "\x1b[2") == []
    assert line.after(0.3) == []
    assert line.after(0.3) == ["left_square_bracket", "2"]
    assert line.after(0, "x") == ["x"]


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 4096])
def test_a_paste_is_one_paste_whatever_is_in_it_and_however_it_is_cut(line, step):
    text = "red \x1b[31mword\x1b[0m\r\x1b\rrm -rf x\r\x1b[13u\x1b[20 \x1b[200 \x00end\x1b"
    stream = f"a{pasted(text)}b"
    pieces = [stream[at : at + step] for at in range(0, len(stream), step)]

    told = [word for piece in pieces for word in line.after(0.01, piece)]

    assert told == ["a", text.replace("\x1b", "␛").replace("\x00", ""), "b"]


def test_a_long_pause_in_a_paste_makes_no_keys_of_it(line):
    assert line.after(0, "\x1b[200~one\x1b") == []
    assert line.after(5) == []
    assert line.after(5, "\r two\x1b[201~") == ["one␛\r two"]


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[13:13;1u",
        "\x1b[97;1:3u",
        "\x1b[1114112u",
        "\x1b[99999999999u",
        "\x1b[97;1;9999999999u",
        "\x1b[55296u",
        "\x1b[?62;4c",
        "\x1b[>0;276;0c",
    ],
)
def test_a_sequence_that_nobody_knows_is_no_key_and_ends_nothing(line, sequence):
    assert line.after(0, f"{sequence}x") == ["x"]


def test_the_mouse_of_a_terminal_without_pixels_ends_nothing(line):
    line.after(0, "\x1b[48;24;80;0;0t")
    line._keys.mouse_pixels = True

    assert line.after(0, "\x1b[<35;5;5Mx")[-1] == "x"


def test_enter_is_enter_also_where_it_was_pressed_before_the_app_had_the_terminal():
    decoder = TypedAhead(ahead=len("é go\n".encode()))

    assert decoder.decode("é g".encode()) + decoder.decode(b"o\nlater\n") == "é go\rlater\n"


def test_bytes_that_are_no_text_are_shown_and_end_nothing():
    decoder = TypedAhead(ahead=0)

    assert decoder.decode(b"\xe2\x82") + decoder.decode(b"\xac \xff.") == "€ \ufffd."


def test_the_reader_of_the_terminal_has_the_names_that_are_replaced(monkeypatch):
    for name in ("getincrementaldecoder", "XTermParser"):
        monkeypatch.setattr(linux_driver, name, getattr(linux_driver, name))

    terminal_input.make_input_safe()

    assert linux_driver.XTermParser is TerminalKeys
    assert isinstance(linux_driver.getincrementaldecoder("utf-8")(), TypedAhead)


def test_only_what_was_typed_before_the_start_was_typed_ahead(monkeypatch):
    for name in ("getincrementaldecoder", "XTermParser"):
        monkeypatch.setattr(linux_driver, name, getattr(linux_driver, name))
    monkeypatch.setattr(terminal_input, "_waiting_bytes", lambda: 4)
    terminal_input.make_input_safe()

    first, after_an_editor = (linux_driver.getincrementaldecoder("utf-8")() for _ in range(2))

    assert first.decode(b"go\n") == "go\r"
    assert after_an_editor.decode(b"go\n") == "go\n"


@pytest.mark.parametrize(
    ("pieces", "together"),
    [
        (["y"], []),
        (["y", "\r"], []),
        (["y\r"], ["y", "enter"]),
        (["\x1b[A"], []),
        (["ab\x1b[A"], ["a", "b", "up"]),
    ],
)
def test_keys_of_one_reading_are_known_to_have_come_together(pieces, together):
    keys = TerminalKeys()
    told = [key for piece in pieces for key in keys.feed(piece) if isinstance(key, events.Key)]
    guard = KeyboardGuard(0.4)
    guard.restart(0.0)

    assert [key.key for key in told if not guard.admits_key(key)] == together

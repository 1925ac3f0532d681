"""What the terminal sends, as the app understands it."""

from itertools import islice

import pytest
from textual import constants, events

from quorum.tui.keys.keyboard_guard import is_line_break, is_pasted
from quorum.tui.terminal import input as terminal_input
from quorum.tui.terminal.input import TerminalKeys, TypedAhead, make_decoders


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
        reported = [*self._keys.feed(piece)] if piece else [*self._keys.tick()]
        known = [event for event in reported if isinstance(event, events.Paste | events.Key)]
        return [event.text if isinstance(event, events.Paste) else event.key for event in known]


@pytest.fixture
def line(monkeypatch):
    return Line(monkeypatch)


def pasted(text):
    return f"\x1b[200~{text}\x1b[201~"


def test_escape_and_a_later_enter_are_two_keys_before_any_clock_has_ticked(line):
    assert line.after(0, "\x1b") == []
    assert line.after(constants.ESCAPE_DELAY + 0.01, "\r") == ["escape", "enter"]


def test_escape_and_enter_together_begin_a_new_line(line):
    import quorum.tui.prompt_box.prompt  # noqa: F401 (it teaches the parser this key)

    assert line.after(0, "\x1b\r") == ["ctrl+j"]


def test_alt_and_a_letter_waits_no_longer_than_escape(line):
    assert line.after(0, "\x1bv") == []
    assert line.after(constants.ESCAPE_DELAY + 0.01) == ["alt+v"]


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

    reported = [word for piece in pieces for word in line.after(0.01, piece)]

    assert reported == ["a", text.replace("\x1b", "␛").replace("\x00", ""), "b"]


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


def test_only_what_was_typed_before_the_start_was_typed_ahead(monkeypatch):
    monkeypatch.setattr(terminal_input, "_count_waiting_bytes", lambda: 4)

    first, after_an_editor = islice(make_decoders(), 2)

    assert first.decode(b"go\n") == "go\r"
    assert after_an_editor.decode(b"go\n") == "go\n"


@pytest.mark.parametrize(
    ("pieces", "together"),
    [
        (["y"], []),
        (["y", "\r"], []),
        (["y\r"], ["y", "enter"]),
        (["\x1b[A"], []),
        (["ab\x1b[A"], ["a", "b"]),
    ],
)
def test_keys_of_one_reading_are_known_to_have_come_together(pieces, together):
    keys = TerminalKeys()
    reported = [key for piece in pieces for key in keys.feed(piece) if isinstance(key, events.Key)]

    assert [key.key for key in reported if is_pasted(key)] == together


@pytest.mark.parametrize(
    ("piece", "breaks"), [("\x1b[B\r", 0), ("\t\r", 0), ("y\r", 1), ("\x1b[By\r", 1), ("\r", 0), ("read\r", 1)]
)
def test_enter_is_a_line_break_only_behind_text_of_the_same_reading(piece, breaks, monkeypatch):
    now = 100.0
    monkeypatch.setattr(terminal_input, "get_time", lambda: now)
    keys = TerminalKeys()
    reported = [*keys.feed(piece)]
    now = 101.0
    reported += keys.tick()

    assert sum(is_line_break(key) for key in reported if isinstance(key, events.Key)) == breaks
    assert [key.key for key in reported if isinstance(key, events.Key)][-1] == "enter"


WORDS = "the quick brown fox jumps over the lazy dog "


@pytest.mark.parametrize("step", [1, 7, 100, 4096])
def test_text_with_lines_that_comes_without_a_pause_is_one_paste_at_its_end(line, step):
    text = "first line\rsecond line\r\rlast line\r"
    pieces = [text[at : at + step] for at in range(0, len(text), step)]

    reported = [word for piece in pieces for word in line.after(0.001, piece)]
    last = line.after(0.1)

    assert "enter" not in reported + last
    assert (
        "".join("\r" if word == "enter" else " " if word == "space" else word for word in reported + last)
        == text
    )


def test_a_long_line_that_comes_at_once_is_a_paste_and_enter_at_its_end_is_pressed(line):
    assert line.after(0, WORDS * 3 + "\r") == []
    assert line.after(0.1) == [WORDS * 3, "enter"]


def test_a_paste_without_marks_is_one_however_many_readings_it_takes(line):
    text = (WORDS + "\r") * 2000

    reported = [word for at in range(0, len(text), 4095) for word in line.after(0.01, text[at : at + 4095])]

    assert reported == []
    assert line.after(0.1) == [text]


@pytest.mark.parametrize("key", ["\x03", "\x1b[A", "\x11"])
def test_a_key_after_a_paste_without_marks_acts_at_once(line, key):
    reported = line.after(0, WORDS * 3 + "a\rb" + key)

    assert reported[0] == WORDS * 3 + "a\rb"
    assert reported[1:] in (["ctrl+c"], ["up"], ["ctrl+q"])


def test_a_short_line_and_enter_that_come_at_once_are_keys(line):
    assert line.after(0, "go\r") == ["g", "o", "enter"]
    assert [*line.after(1, "read"), *line.after(0.001, "\r"), *line.after(0.1)] == [*"read", "enter"]


def test_line_feeds_that_were_typed_and_enter_that_follows_at_once_send_all_of_it(line):
    assert line.after(0, "read a.py\nread b.py\r") == []
    assert line.after(0.1) == ["read a.py\nread b.py", "enter"]


def test_a_line_of_windows_that_is_pasted_without_marks_sends_nothing(line):
    assert line.after(0, "format c:\r\n") == []
    assert line.after(0.1) == ["format c:\r\n"]


@pytest.mark.parametrize("proof", ["\x1b[?2004;1$y", "\x1b[?2004;2$y", pasted("x")])
def test_in_a_terminal_that_marks_pastes_prompts_that_arrive_together_are_each_sent(line, proof):
    line.after(0, proof)

    assert line.after(1, "fix\rtest\r") == [*"fix", "enter", *"test", "enter"]
    assert line.after(1, f"{WORDS * 3}\rgo\r") == []
    assert line.after(0.1) == [WORDS * 3, "enter", "g", "o", "enter"]


@pytest.mark.parametrize("reply", ["\x1b[?2004;0$y", "\x1b[?2026;1$y"])
def test_a_terminal_that_does_not_know_marks_of_pastes_is_not_believed_to_set_them(line, reply):
    line.after(0, reply)

    assert line.after(1, "fix\rtest\r") == []
    assert line.after(0.1) == ["fix\rtest\r"]


@pytest.mark.parametrize("text", [WORDS * 3 + "\r", "read a.py\r"])
def test_what_was_held_back_as_a_paste_without_marks_answers_no_question(monkeypatch, text):
    now = 100.0
    monkeypatch.setattr(terminal_input, "get_time", lambda: now)
    keys = TerminalKeys()
    reported = [*keys.feed(text)]
    now = 101.0
    reported += keys.tick()

    assert [key.key for key in reported if isinstance(key, events.Key) and not is_pasted(key)] == []


def test_enter_in_a_reading_of_its_own_right_after_others_is_known_to_be_of_a_paste(monkeypatch):
    now = 100.0
    monkeypatch.setattr(terminal_input, "get_time", lambda: now)
    keys = TerminalKeys()
    reported = [*keys.feed("delete"), *keys.feed("\r")]
    now = 101.0
    *_, enter = [*reported, *keys.tick()]

    assert (enter.key, is_pasted(enter)) == ("enter", True)


def test_after_a_pause_a_single_enter_is_a_key(line):
    assert line.after(0, WORDS * 3) == []
    assert line.after(0.05) == [WORDS * 3]
    assert line.after(0.1, "\r") == ["enter"]

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quorum.domain.text.printable import make_printable

ANY_TEXT = st.text(st.characters(), max_size=60)
NASTY = st.text(
    st.sampled_from("a\x1b[31m]52;c\x07\x9b\x00\r\n\t\u202e\u2066\u200d\ufe0f\u200b😀👩❤\u0301\ue000\ud800 "),
    max_size=40,
)
HARMLESS_FORMATS = {"\u200d"}


@given(ANY_TEXT | NASTY, st.booleans(), st.booleans())
@example("\x1b]52;c;aGk=\x07", True, False)
def test_no_control_bidi_or_invisible_character_survives(text, newlines, strip_ansi):
    shown = make_printable(text, newlines=newlines, strip_ansi=strip_ansi)
    for char in shown:
        if char == "\n":
            assert newlines
            continue
        young_emoji = "\U0001f300" <= char <= "\U0001faff"
        assert unicodedata.category(char)[0] != "C" or char in HARMLESS_FORMATS or young_emoji
        assert unicodedata.category(char) not in ("Zl", "Zp")


@given(ANY_TEXT | NASTY, st.booleans(), st.booleans())
def test_applying_it_twice_changes_nothing(text, newlines, strip_ansi):
    once = make_printable(text, newlines=newlines, strip_ansi=strip_ansi)
    assert make_printable(once, newlines=newlines, strip_ansi=strip_ansi) == once


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_stays_itself(text):
    assert make_printable(text) == text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("bell\x07 nul\x00 del\x7f", "bell␇ nul␀ del␡"),
        ("\x9b2J", "\\x9b2J"),
        ("user\u202etxt.exe", "user⟨U+202E⟩txt.exe"),
        ("a\u200bb\ufeff", "a⟨U+200B⟩b⟨U+FEFF⟩"),
        ("smuggled\U000e0041", "smuggled⟨U+E0041⟩"),
        ("half \ud83d", "half ⟨U+D83D⟩"),
        ("a\tb", "a   b"),
        ("dos\r\nline", "dos\nline"),
        ("over\rwrite", "over␍write"),
        ("family 👩\u200d👧", "family 👩\u200d👧"),
        ("heart ❤\ufe0f", "heart ❤\ufe0f"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("key 1\ufe0f\u20e3", "key 1\ufe0f\u20e3"),
        ("row1\ufe0f = 2", "row1⟨U+FE0F⟩ = 2"),
        ("ア\u200dイあ\ufe0f", "ア⟨U+200D⟩イあ⟨U+FE0F⟩"),
        ("note \U0001d159", "note ⟨U+1D159⟩"),
        ("e\u0301 is é", "e\u0301 is é"),
        ("漢字 naïve Ünïcödé", "漢字 naïve Ünïcödé"),
    ],
)
def test_what_acts_or_hides_is_shown(raw, shown):
    assert make_printable(raw) == shown


def test_marks_cannot_be_piled_up_beyond_their_line():
    assert make_printable("e" + "\u0301" * 40) == "e" + "\u0301" * 4 + "⟨36 more marks⟩"


def test_sequences_of_programs_are_removed_whole():
    raw = "\x1b[1;31mFAILED\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b]52;c;aGk=\x07done\x1b(B"
    assert make_printable(raw, strip_ansi=True) == "FAILED link done"


def test_an_unfinished_sequence_is_shown_instead_of_swallowing_what_follows():
    assert make_printable("\x1b]52;c;secret\nnext line", strip_ansi=True) == "␛]52;c;secret\nnext line"


def test_a_sequence_ends_where_another_begins():
    assert make_printable("\x9dan end\x90is missing\x9c", strip_ansi=True) == "\\x9dan end"


@pytest.mark.long
def test_a_line_of_a_million_beginnings_is_looked_through_once():
    text = make_printable("\x90" * 1_000_000, strip_ansi=True)  # looked through for each of them it takes hours
    assert text == "\\x90" * 1_000_000


def test_a_carriage_return_of_a_program_hides_nothing():
    assert make_printable("10 %\r20 %", strip_ansi=True) == "10 %\n20 %"


def test_a_line_feed_is_shown_where_only_one_line_is_wanted():
    assert make_printable("rm -rf x\n&& echo", newlines=False) == "rm -rf x⏎&& echo"


def test_it_loads_neither_textual_nor_rich():
    code = (
        "import sys, quorum.domain.text.printable; "
        "text = 'quorum.domain.text'; "
        "allowed = ('quorum', 'quorum.domain', text, f'{text}.printable', f'{text}.pattern'); "
        "unwanted = ('textual', 'rich', 'quorum'); "
        "print([m for m in sys.modules if m.split('.')[0] in unwanted and m not in allowed])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert answer.stdout.strip() == "[]"

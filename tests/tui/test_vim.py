from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.tui.vim.editor import Edge, VimEditor, VimMode
from quorum.tui.vim.motions import Buffer
from tests.support.examples import examples


class Typist:
    """Presses keys on a text with `|` where the cursor is. `clipboard` is what `"+` reads and writes."""

    def __init__(self, text: str) -> None:
        self.clipboard = ""
        self.editor = VimEditor(self._copy, lambda: self.clipboard)
        self.editor.mode = VimMode.NORMAL
        self.buffer = Buffer(text.replace("|", ""), text.index("|"))
        self.edges: list[Edge] = []

    def _copy(self, text: str) -> None:
        self.clipboard = text

    def press(self, *keys: str) -> str:
        """The text after these keys, with `|` at the cursor. A longer word is the name of one key."""
        for key in keys:
            self._press(key)
        text, cursor = self.buffer.text, self.buffer.cursor
        return f"{text[:cursor]}|{text[cursor:]}"

    def type(self, keys: str) -> str:
        """The same for keys that are characters; `⎋` is Esc."""
        return self.press(*keys)

    def _press(self, key: str) -> None:
        key = {"⎋": "escape", " ": "space"}.get(key, key)
        if self.editor.mode is not VimMode.INSERT:
            after = self.editor.press(key, self.buffer)
            if isinstance(after, Edge):
                self.edges.append(after)
            else:
                self.buffer = after
        elif key == "escape":
            self.buffer = self.editor.leave_insert(self.buffer)
        else:
            text, cursor = self.buffer.text, self.buffer.cursor
            char = " " if key == "space" else key
            self.buffer = Buffer(text[:cursor] + char + text[cursor:], cursor + 1)


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("one |two three", "dw", "one |three"),
        ("one |two three", "2dw", "one| "),
        ("|one two three", "d2w", "|three"),
        ("|one two three four five six seven", "2d3w", "|seven"),
        ("one t|wo three", "cwX⎋", "one t|X three"),
        ("|one two", "cwX⎋", "|X two"),
        ("one (t|wo, three) four", "ci(X⎋", "one (|X) four"),
        ("one (t|wo, (x) three) four", "da(", "one | four"),
        ("|one (two)", "di(", "one (|)"),
        ("{\n  t|wo\n}", "di{", "{\n|}"),
        ("say 'o|ne two' now", "ci'X⎋", "say '|X' now"),
        ('say "o|ne" now', 'da"', "say |now"),
        ("one t|wo three", "daw", "one |three"),
        ("one t|wo", "daw", "on|e"),
        ("a|b\n\nc", "dap", "|c"),
    ],
)
def test_an_operator_takes_what_its_motion_or_object_spans(before: str, keys: str, after: str) -> None:
    assert Typist(before).type(keys) == after


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("|a.b.c.d", "f.;", "a.b|.c.d"),
        ("|a.b.c.d", "f.;,", "a|.b.c.d"),
        ("|a.b.c.d", "t.;", "a.|b.c.d"),
        ("a.b.c.|d", "F.d;", "a.b|.d"),
        ("one\n|two\nthree", "gg", "|one\ntwo\nthree"),
        ("|one\ntwo\n  three", "G", "one\ntwo\n  |three"),
        ("|one\ntwo\nthree", "2G", "one\n|two\nthree"),
        ("a|bcd\nx\nabcd", "jj", "abcd\nx\na|bcd"),
        ("abcd|\nx\nabcd", "$jj", "abcd\nx\nabc|d"),
        ("if (|a [b] c)", "%", "if (a [b|] c)"),
        ("|if (a [b] c)", "%", "if (a [b] c|)"),
    ],
)
def test_motions_lead_where_they_lead_in_vim(before: str, keys: str, after: str) -> None:
    assert Typist(before).type(keys) == after


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("|one two three", "dw.", "|three"),
        ("|one two three", "cwX⎋w.", "X |X three"),
        ("|a\nb\nc", "A;⎋j.j.", "a;\nb;\nc|;"),
        ("|abcdef", "x3.", "|ef"),
        ("|a\nb\nc\nd", "Vjd.", "|"),
        ("|one", "3ix⎋", "xx|xone"),
        ("|one", "2oX⎋", "one\nX\n|X"),
    ],
)
def test_the_last_change_is_repeated(before: str, keys: str, after: str) -> None:
    assert Typist(before).type(keys) == after


def test_what_was_deleted_and_yanked_is_put_from_registers() -> None:
    typist = Typist("|one\ntwo\nthree")

    assert typist.type('"ayyjdd') == "one\n|three"
    assert typist.type('"ap') == "one\nthree\n|one"
    assert typist.type("p") == "one\nthree\none\n|two"  # what was deleted last
    assert typist.type('ggdd"2P') == "|two\nthree\none\ntwo"
    assert typist.type('j"Ayy"aP') == "two\n|one\nthree\nthree\none\ntwo"


def test_a_yank_is_kept_when_something_is_deleted_after_it() -> None:
    assert Typist("|one two").type('ywwdw"0P') == "oneone|  "
    assert Typist("|one two").type('yww"_dwP') == "oneone|  "


def test_the_clipboard_is_a_register() -> None:
    typist = Typist("|one\ntwo")
    typist.type('"+yy')
    assert typist.clipboard == "one\n"

    typist.clipboard = "from elsewhere"
    assert typist.type('j"+P') == "one\nfrom elsewher|etwo"


def test_changes_are_undone_one_by_one_and_done_again() -> None:
    typist = Typist("|one two three")
    typist.type("dwiX⎋")

    assert typist.type("u") == "|two three"
    assert typist.type("u") == "|one two three"
    assert typist.type("u") == "|one two three"
    assert typist.press("ctrl+r") == "|two three"
    assert typist.press("2", "ctrl+r") == "|Xtwo three"
    typist.type("x")
    assert typist.press("ctrl+r") == "|two three"  # nothing is left to be done again


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("|one two three", "ved", "| two three"),
        ("|one two three", "vwcX⎋", "|Xwo three"),
        ("one |two\nthree", "Vd", "|three"),
        ("|one two", "viwU", "|ONE two"),
        ("|one\ntwo\nthree", "VjJ", "one| two\nthree"),
        ("one |two three", "yiwwviwp", "one two tw|o"),
        ("|one\ntwo", "Vj>", "    |one\n    two"),
        ("    |one", "V<", "|one"),
        ("ab|cd", "vohd", "a|d"),
    ],
)
def test_a_command_acts_on_what_is_selected(before: str, keys: str, after: str) -> None:
    typist = Typist(before)
    assert typist.type(keys) == after
    assert typist.editor.mode is VimMode.NORMAL


def test_keys_that_are_no_command_are_dropped_and_the_next_one_acts() -> None:
    typist = Typist("|one two")

    assert typist.type("dQ") == "|one two"
    assert typist.type("gz") == "|one two"
    assert typist.type("x") == "|ne two"


def test_escape_drops_what_was_typed_of_a_command() -> None:
    typist = Typist("|one two")

    typist.type('"a2d')
    assert typist.editor.pending == '"a2d'
    assert typist.type("⎋w") == "one |two"


def test_up_and_down_are_reported_at_the_edges_only() -> None:
    typist = Typist("|one\ntwo")

    typist.type("jjkkdkdj")

    assert typist.edges == [Edge.BOTTOM, Edge.TOP]
    assert typist.buffer.text == ""


def test_a_count_beyond_all_measure_does_not_fill_the_memory() -> None:
    typist = Typist("|a")

    typist.type("999999999999x")
    typist.type("yl999999999999p")

    assert len(typist.buffer.text) <= 10_001


_COMMANDS = "hjklwWbBeE0^$GgfFtT;,{}%dcy<>uU~iaIAoOvVxXsSDCYpPJr."
_KEYS = st.sampled_from([*_COMMANDS, *"\"123z()[ '", "escape", "ctrl+r", "é"])


@examples(300)
@given(text=st.text("ab. \n()'\"é", max_size=30), keys=st.lists(_KEYS, max_size=25))
def test_any_keys_leave_a_cursor_in_the_text(text: str, keys: list[str]) -> None:
    typist = Typist(f"|{text}")
    for key in keys:
        typist.press(key)
        assert 0 <= typist.buffer.cursor <= len(typist.buffer.text)
    typist.press("escape", "escape", "escape")
    assert typist.editor.mode is VimMode.NORMAL

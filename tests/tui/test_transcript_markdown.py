import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.draw.entry_renderer import MarkdownLines
from quorum.tui.transcript.draw.painter import Painter
from quorum.tui.transcript.model.blocks import Kind, Splitter
from tests.support.examples import examples

LINES = st.sampled_from(
    [
        "",
        "",
        "# Heading",
        "Some **bold** text and `code`, long enough to be wrapped at the narrow width of this test.",
        "- item",
        "  continued",
        "  - nested",
        "1. first",
        "10) tenth",
        "```python",
        "def f(x): return 'a'",
        "    indented",
        "```",
        "  ```",
        "~~~",
        "> quoted",
        "| a | b |",
        "|---|--:|",
        "| 漢字 | 2 |",
        "---",
        "===",
        "<b>html</b> &#x202e; \x1b[31m",
        "👩\u200d👧 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
        "x" * 90,
        "[link](https://example.org/)\r",
    ]
)
DOCUMENTS = st.lists(LINES, max_size=14).map("\n".join)


def drawn(text, width=40):
    lines = MarkdownLines(width, TERMINAL)
    lines.feed(text)
    return [strip.text for strip in lines.lines]


@examples(150)
@given(DOCUMENTS, st.data())
def test_any_cutting_of_a_text_gives_the_same_lines_as_the_whole(text, data):
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8).map(sorted))
    lines = MarkdownLines(40, TERMINAL)
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        lines.feed(text[start:end])
        assert lines.lines is not None
    assert [strip.text for strip in lines.lines] == drawn(text)


def test_a_fence_that_arrives_in_pieces_leaves_no_line_behind():
    lines = MarkdownLines(40, TERMINAL)
    for piece in ("```\ncode\n`", "``"):
        lines.feed(piece)
        assert lines.lines is not None
    assert [strip.text for strip in lines.lines] == drawn("```\ncode\n```")


@settings(deadline=None)
@given(DOCUMENTS, st.integers(10, 60))
def test_no_line_is_wider_than_asked(text, width):
    assert all(cell_len(line) <= width for line in drawn(text, width))


@settings(deadline=None)
@given(st.text(st.sampled_from("a b\n`*_#->|[]()<&;\x1b\u202e\x07~1.\t"), max_size=80))
def test_any_text_is_drawn_without_an_error_and_without_controls(text):
    assert all(line.isprintable() for line in drawn(text))


def test_entities_cannot_bring_back_what_was_made_safe():
    assert drawn("a &#x202e; b &rlm; &lt;") == ["a ⟨U+202E⟩ b ⟨U+200F⟩ <"]
    assert all(line.isprintable() for line in drawn("&#27;[31m &#x9b; &#0; &#7; &Tab; &NewLine;"))


def test_html_and_console_markup_are_shown_literally():
    assert drawn("<b>x</b> [red]y[/red] [/foo]") == ["<b>x</b> [red]y[/red] [/foo]"]


def test_a_link_shows_its_address_unless_it_reads_like_it_and_leads_there():
    lines = MarkdownLines(80, TERMINAL)
    lines.feed("see [the **docs**](https://example.org/) and <https://example.net/>, <me@example.net>")
    [strip] = lines.lines
    linked = [(text, style.link) for text, style, _ in strip if style and style.link]
    assert strip.text == "see the docs (https://example.org/) and https://example.net/, me@example.net"
    assert linked == [
        ("the ", "https://example.org/"),
        ("docs", "https://example.org/"),
        ("https://example.org/", "https://example.org/"),
        ("https://example.net/", "https://example.net/"),
        ("me@example.net", "mailto:me@example.net"),
    ]


def test_a_link_that_reads_like_another_address_tells_its_own():
    assert drawn("[https://good.example](https://evil.example/)", 80) == [
        "https://good.example (https://evil.example/)"
    ]


def test_code_with_wide_characters_is_broken_between_them():
    shown = drawn("```\n" + "漢" * 7 + "x\n```", 11)
    assert [line.strip() for line in shown] == ["漢漢漢漢", "漢漢漢x"]
    assert {cell_len(line) for line in shown} == {11}


def test_headings_stand_at_the_left():
    assert drawn("# One\n\n## Two") == ["One", "", "Two"]


def test_items_stand_as_close_as_they_were_written():
    assert drawn("So:\n- one\n- two\n\n- three") == ["So:", "• one", "• two", "", "• three"]


def test_numbers_of_a_list_go_on_as_written():
    assert drawn("9. nine\n10. ten\n    more") == ["9. nine", "10. ten more"]


def test_code_keeps_its_blanks_and_is_broken_where_too_wide():
    assert drawn("```\nab\n\n  cd\n```", 6) == [" ab     ", "        ", "   cd   "]


def test_code_inside_an_item_belongs_to_the_item():
    text = "1. do\n\n   ```sh\n   - no item\n\n   ls\n   ```\n2. done"
    assert [line.rstrip() for line in drawn(text)] == ["1. do", "    - no item", "", "    ls", "2. done"]


def test_an_unclosed_fence_is_code_to_its_end():
    assert [line.rstrip() for line in drawn("```py\nx = 1\n# y")] == [" x = 1", " # y"]


def test_wide_characters_are_wrapped_by_the_cells_they_take():
    assert drawn("漢字" * 10, 12) == ["漢字漢字漢字", "漢字漢字漢字", "漢字漢字漢字", "漢字"]


def test_what_is_finished_is_not_drawn_again():
    lines = MarkdownLines(40, TERMINAL)
    lines.feed("first\n\n")
    first = lines.lines[0]
    lines.feed("second ")
    assert lines.lines[0] is first
    lines.feed("and more")
    assert lines.lines[0] is first


def test_an_open_fence_draws_only_its_new_lines():
    lines = MarkdownLines(40, TERMINAL)
    lines.feed("```python\n" + "x = 1\n" * 500)
    before = list(lines.lines)
    lines.feed("y = 2\nz")
    after = lines.lines
    assert all(old is new for old, new in zip(before[:499], after[:499], strict=True))
    assert [strip.text.strip() for strip in after[500:]] == ["y = 2", "z"]


@pytest.mark.parametrize("text", ["word " * 40_000, "x" * 200_000, ("y" * 70 + "\n") * 3_000])
def test_overlong_paragraphs_are_cut_so_that_the_open_part_stays_small(text):
    splitter = Splitter()
    splitter.feed(text)
    rest = splitter.rest()
    assert sum(len(block.text) for block in rest) <= 8_100


def test_long_lists_are_cut_at_their_items():
    blocks = Splitter().feed("- item\n" * 100)
    assert len(blocks) == 99
    assert {block.kind for block in blocks} == {Kind.LIST}
    assert not any(block.gap for block in blocks)


TABLE = """\
| Function | What it does | Risk |
|---|---|--:|
| `wrap_text` | Breaks a long text between words, so that no line is wider than the terminal | 3 |
| 漢字漢字漢字 | short | 12,345 |
"""


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 120])
def test_no_word_of_a_table_is_lost_at_any_width(width):
    lines = drawn(TABLE, width)

    assert max(map(cell_len, lines)) <= width
    shown = "".join("".join(lines).split())
    assert all(word in shown for word in ("Function", "Breaks", "short", "12,345"))


def test_cells_of_a_table_are_broken_between_words_and_broken_rows_stand_apart():
    lines = [line.rstrip() for line in drawn(TABLE, 46)]
    assert lines[0].split() == ["Function", "What", "it", "does", "Risk"]
    assert lines[-1].endswith("12,345")
    assert lines[-2] == ""
    assert not any("…" in line for line in lines)


def test_a_table_too_wide_for_its_columns_lists_each_row_cell_by_cell():
    lines = [line.rstrip() for line in drawn(TABLE, 24)]

    assert lines[0] == "Function: wrap_text"
    assert "Risk: 3" in lines
    assert lines[-3:] == ["Function: 漢字漢字漢字", "What it does: short", "Risk: 12,345"]


def test_tasks_of_a_list_have_check_boxes_and_brackets_elsewhere_stay():
    text = "- [x] done\n- [ ] open\n- a [x] within\n- [link](https://a.example)\n1. [X] first\n- [x]"

    assert drawn(text, 60) == [
        "☑ done",
        "☐ open",
        "• a [x] within",
        "• link (https://a.example)",
        "1. ☑ first",
        "• [x]",
    ]


@examples(60)
@given(
    st.lists(st.lists(st.text(alphabet="ab 漢|`*[]()\\\n", max_size=30), min_size=1, max_size=5), max_size=4),
    st.integers(8, 70),
)
def test_any_table_stays_within_the_width(cells, width):
    rows = ["| " + " | ".join(row) + " |" for row in cells]

    assert all(cell_len(line) <= width for line in drawn("\n".join(["|a|b|c|", "|---|:-:|--:|", *rows]), width))


def test_a_word_behind_a_fence_has_no_installed_package_looked_through_or_imported(monkeypatch):
    def look_through(_group):
        raise AssertionError("other packages' lexers were asked for")

    monkeypatch.setattr("pygments.plugin.iter_entry_points", look_through)
    monkeypatch.setattr(
        "quorum.tui.transcript.draw.painter._build_painter", Painter
    )  # none that knows the word

    assert drawn("```no-such-language\na = 1\n```\nend") == [" a = 1" + " " * 34, "", "end"]

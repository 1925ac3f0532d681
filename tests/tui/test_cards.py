"""Cards by kind: what is seen of a call folded and unfolded, whatever it answered."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import ClassVar

import pytest

from quorum.application.view.entries import Batch, Call, Kept, Phase
from quorum.application.view.session_view import SessionView
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.calls.tool_traits import OutputKind
from quorum.domain.conversation.response import MAX_TOKENS, LlmResponse
from quorum.domain.events import event as ev
from quorum.domain.replacing import replace
from quorum.domain.review.questions import REJECTED_AND_STOPPED, REJECTED_WITHOUT_REASON
from quorum.domain.text.output import StyleChange
from quorum.infrastructure.tools.built_in_tools import MODULES
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.draw.cards import CardTarget, draw_batch
from quorum.tui.transcript.kinds.kind import find_kind
from quorum.tui.transcript.kinds.terminal import PLAIN, _write_characters, find_exit
from tests.tui.transcript_scenes import DIFF, Clock, TranscriptApp, finished, planned

ROOT = Path(__file__).parents[2]
LOW, HIGH = RiskLevel.LOW, RiskLevel.HIGH


def call(tool, output, *, risk=LOW, outcome=Outcome.OK, diff=None, expanded=False, **arguments):
    return Call(
        index=0,
        tool=tool,
        arguments=arguments,
        risk=risk,
        phase=Phase.FINISHED,
        output=Kept.of(output),
        outcome=outcome,
        diff=diff,
        duration=0.3,
        since=[(0.0, Phase.QUEUED), (0.0, Phase.RUNNING), (0.3, Phase.FINISHED)],
        expanded=expanded,
    )


def drawing(one, width=100):
    return draw_batch(Batch("b", [one]), width, TERMINAL, 1.0)


def lines(one, width=100):
    return [strip.text.rstrip() for strip in drawing(one, width).strips]


def folded(one, width=100):
    one.expanded = False
    return lines(one, width)


def unfolded(one, width=100):
    one.expanded = True
    return lines(one, width)


def style_at(one, text, width=100):
    """The style that a piece of text is drawn in."""
    segments = [segment for strip in drawing(one, width).strips for segment in strip]
    return next(segment.style for segment in segments if segment.text == text)


# -- which kind ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "output", "kind"),
    [
        ("mcp_list", '{"a": 1}', OutputKind.JSON),
        ("mcp_list", " [1, 2]\n", OutputKind.JSON),
        ("web_fetch", 'https://a.example/x\nstatus 200, application/json\n\n{"a": 1}', OutputKind.JSON),
        ("mcp_list", '{"a": 1', OutputKind.PLAIN),
        ("mcp_list", "[not json]", OutputKind.PLAIN),
        ("mcp_list", "17", OutputKind.PLAIN),
        ("mcp_build", "\x1b[32mbuilt\x1b[0m", OutputKind.TERMINAL),
        ("mcp_build", "10 %\r20 %\n", OutputKind.TERMINAL),
        ("mcp_build", "windows\r\nlines\r\n", OutputKind.PLAIN),
        ("mcp_build", "built", OutputKind.PLAIN),
        ("run_command", '{"a": 1}', OutputKind.TERMINAL),
    ],
)
def test_the_output_of_other_tools_is_identified_by_its_shape(tool, output, kind):
    assert find_kind(call(tool, output)) is kind


def test_a_tool_that_takes_a_command_and_one_that_made_a_diff_are_known_by_that():
    assert find_kind(call("mcp_shell", "done", command="make")) is OutputKind.TERMINAL
    assert find_kind(call("mcp_write", "done", diff=DIFF)) is OutputKind.CHANGES


def test_what_went_wrong_is_a_sentence_whatever_the_tool():
    failed = call("grep_search", "a.py:1:x", outcome=Outcome.ERROR, pattern="x")
    assert find_kind(failed) is OutputKind.PLAIN
    assert folded(failed)[1] == "  │ a.py:1:x"


@pytest.mark.parametrize("tool", [*MODULES, "mcp_x"])
def test_damaged_output_is_shown_as_it_is(tool):
    shown = unfolded(call(tool, "what is this?\nno form at all", risk=HIGH, path="a.py", pattern="("))
    assert any(line.endswith("what is this?") for line in shown)
    assert any(line.endswith("no form at all") for line in shown)


# -- edits --------------------------------------------------------------------------------------------------


def edit(diff=DIFF, **arguments):
    return call("edit_file", "edited src/retry.py", risk=HIGH, diff=diff, path="src/retry.py", **arguments)


def test_an_edit_counts_its_lines_and_numbers_them():
    row, *body = folded(edit())
    assert row.endswith("src/retry.py   +1 −1")
    assert "  │ 42 -         time.sleep(delay)" in body
    assert "  │ 42 +         await asyncio.sleep(max(delay, 0.0))" in body


def test_what_changed_within_a_line_is_emphasised_and_what_stayed_is_not():
    diff = "--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-the old value here\n+the new value here\n"
    one = edit(diff)
    assert style_at(one, "old").underline
    assert style_at(one, "new").underline
    assert not style_at(one, " value here").underline


def test_a_line_that_has_nothing_in_common_with_the_one_it_replaces_is_not_emphasised():
    diff = "@@ -1 +1 @@\n-import os\n+def f(): return 42\n"
    assert not any(s.style and s.style.underline for strip in drawing(edit(diff)).strips for s in strip)


def test_content_that_looks_like_the_head_of_a_diff_is_counted_and_shown():
    diff = "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n--- a comment\n+++ more\n same\n"
    row, *body = folded(edit(diff))
    assert "+1 −1" in row
    assert "  │ 1 - -- a comment" in body
    assert "  │ 1 + ++ more" in body


def test_a_long_diff_is_folded_and_says_how_much_and_how_many_places_there_are():
    hunks = "".join(f"@@ -{n},4 +{n},4 @@\n a\n-b\n+c\n d\n e\n" for n in range(1, 100, 10))
    body = folded(edit(f"--- a/x\n+++ b/x\n{hunks}"))[1:]
    assert len(body) == 13
    assert "10 places in all" in body[-1]


def test_the_texts_of_an_edit_are_not_shown_beside_its_diff_but_are_without_one():
    one = edit(old_text="OLD " * 9, new_text="NEW")
    assert not any("OLD" in line for line in unfolded(one))
    one.diff, one.output = None, None
    assert any("OLD" in line for line in unfolded(one))


def test_code_in_a_diff_has_the_colours_of_its_language_and_says_the_same():
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-def f(): pass\n+def g(): pass\n"
    assert style_at(edit(diff), "def").color is not None
    assert "  │ 1 + def g(): pass" in folded(edit(diff))


# -- commands -----------------------------------------------------------------------------------------------


def run(output, command="make", **more):
    return call("run_command", output, risk=HIGH, command=command, **more)


def test_a_command_that_failed_says_so_in_its_row():
    assert "exit 2 · 1 line" in folded(run("boom\nexit code 2"))[0]
    assert "make   1 line" in folded(run("fine\nexit code 0"))[0]
    assert "SIGKILL" in folded(run("killed by SIGKILL"))[0]


def test_remarks_below_the_exit_code_do_not_hide_it():
    assert "exit 7" in folded(run("x\nexit code 7\n2 background processes were ended"))[0]


def test_what_a_command_prints_about_exit_codes_is_not_its_own():
    assert "exit 3" in folded(run("exit code 0\nexit code 3"))[0]


def test_the_last_lines_of_a_command_are_seen_folded_and_all_unfolded_under_the_command():
    one = run("".join(f"line {n}\n" for n in range(12)) + "exit code 1", command="make all\nmake test")
    row, second, *body = folded(one)
    assert row.startswith("▸ run    make all ")
    assert second == "         make test"
    assert body == ["  │ … 6 lines above · ctrl+o opens", *(f"  │ line {n}" for n in range(6, 12))]
    body = unfolded(one)[1:]
    assert body[:3] == ["  │ run_command", "  │ $ make all", "  │   make test"]
    assert body[-1] == "  │ exit code 1"
    assert len(body) == 16


def test_colours_of_a_command_are_drawn_and_end_where_they_should():
    one = run("\x1b[1;31mFAILED\x1b[0m tests\n\x1b[48;5;22mon green\x1b[49m off\nexit code 1", expanded=True)
    assert style_at(one, "FAILED").bold
    assert style_at(one, "FAILED").color.number == 1
    assert style_at(one, " tests").color is None
    assert style_at(one, "on green").bgcolor.number == 22


def test_styles_shown_beside_a_plain_output_are_drawn_and_the_text_stays_plain():
    one = run("")
    one.output = Kept.of("FAILED tests\nexit code 1", (StyleChange(0, "1;31"), StyleChange(6, "0")))
    assert "  │ FAILED tests" in unfolded(one)
    assert (style_at(one, "FAILED").bold, style_at(one, "FAILED").color.number) == (True, 1)
    assert style_at(one, " tests").color is None
    assert find_exit(one.output) == "exit 1"
    assert one.output.head == "FAILED tests\nexit code 1"


def test_a_colour_goes_on_over_lines_also_where_its_beginning_is_folded_away():
    text = "\x1b[32m" + "".join(f"green {n}\n" for n in range(20)) + "\x1b[0mexit code 0"
    assert style_at(run(text), "green 19").color.number == 2


@pytest.mark.parametrize(
    "hidden", ["\x1b[30;40mhidden\x1b[0m", "\x1b[38;2;1;1;1mhidden\x1b[0m", "\x1b[8mhidden\x1b[0m"]
)
def test_colours_cannot_hide_text(hidden):
    style = style_at(run(hidden + "\nexit code 0", expanded=True), "hidden")
    assert style.color is None
    assert style.bgcolor is None
    assert not style.conceal


@pytest.mark.parametrize(
    ("printed", "left"),
    [
        ("10 %\r20 %\r100 %", "100 %"),
        ("long text\rshort", "shorttext"),
        ("long text\r\x1b[Kshort", "short"),
        ("gone\x1b[2K\rnew", "new"),
        ("abc\x08\x08X", "aXc"),
        ("a\tb", "a       b"),
        ("wait \x1b[32m10 %\x1b[0m\rwait \x1b[32m20 %\x1b[0m", "wait 20 %"),
    ],
)
def test_a_line_that_was_drawn_over_looks_as_a_terminal_would_leave_it(printed, left):
    assert f"  │ {left}" in unfolded(run(f"{printed}\nexit code 0"))


def test_what_would_act_on_a_terminal_is_left_out():
    evil = "a\x1b[2Jb\x1b[10;10Hc\x1b]0;title\x07d\x1b]8;;http://x\x07link\x1b]8;;\x07e\x1b[?1049hf"
    assert "  │ abcdlinkef" in unfolded(run(evil + "\nexit code 0"))


def test_of_a_very_long_output_the_beginning_and_the_end_are_seen_and_a_click_opens_the_rest():
    one = run("".join(f"line {n}\n" for n in range(5_000)) + "exit code 0", expanded=True)
    drawn = drawing(one)
    shown = [strip.text.rstrip() for strip in drawn.strips]
    assert "  │ line 0" in shown
    assert "  │ line 4999" in shown
    assert len(shown) < 220
    (between,) = [n for n, line in enumerate(shown) if "lines between" in line]
    assert drawn.targets[between] == CardTarget(0, opens=True)


def test_while_a_command_runs_its_last_lines_are_seen_in_colour():
    one = run("")
    one.output, one.outcome, one.phase = None, None, Phase.RUNNING
    one.progress.show("one\ntwo\nthree", (StyleChange(8, "33"),))
    assert folded(one)[1:] == ["  │ one", "  │ two", "  │ three"]
    assert style_at(one, "three").color.number == 3


# -- searches -----------------------------------------------------------------------------------------------


def test_places_of_a_language_server_are_grouped_as_matches_are_and_its_words_are_drawn_as_they_are():
    found = "a.py:9:def grow(self):\nb.py:4:box.grow()\n[2 places in 2 files]"
    asked = {"operation": "references", "symbol": "box.grow", "path": "b.py", "line": 4}

    row, files = folded(call("code_lookup", found, **asked))
    assert "look up references box.grow b.py" in " ".join(row.split())
    assert "line 4" in row
    assert "a.py 1 · b.py 1" in files
    assert any(
        "9" in line and "def grow(self):" in line for line in unfolded(call("code_lookup", found, **asked))
    )
    hover = unfolded(call("code_lookup", "(method) def grow(self) -> int\n\nGrows.", operation="hover"))
    assert any("def grow(self) -> int" in line for line in hover)


GREP = (
    "src/a.py:12:def backoff(x):\nsrc/a.py:40:    backoff(3)\ntests/b.py:7:backoff()\n"
    "[3 matches in 2 of 120 files]"
)


def test_a_search_counts_its_matches_and_names_its_files():
    row, files = folded(call("grep_search", GREP, pattern="backoff", path="."))
    assert "   3 matches · 2 files" in row
    assert files == "  │ src/a.py 2 · tests/b.py 1"


def test_matches_stand_below_their_file_with_their_lines_and_what_matched_is_emphasised():
    one = call("grep_search", GREP, pattern="back(off)?", path=".", expanded=True)
    shown = lines(one)
    assert "  │ src/a.py  2 matches" in shown
    assert "  │   40:     backoff(3)" in shown
    assert style_at(one, "backoff").underline
    assert not style_at(one, "(3)").underline


def test_lines_around_a_match_belong_to_its_file_whatever_they_look_like():
    output = (
        "a-1-b.py-11-before\na-1-b.py:12:hit -3- x\na-1-b.py-13-    x:3:y\n--\n"
        "c.py:1:hit\n[2 matches in 2 of 3 files]"
    )
    shown = unfolded(call("grep_search", output, pattern="hit", path=".", context_lines=1))
    assert [line for line in shown if "match" in line and "[" not in line][-2:] == [
        "  │ a-1-b.py  1 match",
        "  │ c.py  1 match",
    ]
    assert "  │   13-     x:3:y" in shown
    assert not any(line.endswith("--") for line in shown)


@pytest.mark.parametrize("pattern", ["(", "(?=x)", "", "x" * 5_000, 17, None])
def test_a_pattern_that_is_none_emphasises_nothing(pattern, capfd):
    shown = unfolded(call("grep_search", GREP, pattern=pattern, path="."))
    assert "  │   40:     backoff(3)" in shown
    assert capfd.readouterr() == ("", "")


def test_a_search_without_a_match_says_so_on_one_line():
    assert len(folded(call("grep_search", "[no match in 7 files]", pattern="x", path="."))) == 1
    assert "   no match" in folded(call("grep_search", "[no match in 7 files]", pattern="x", path="."))[0]


# -- listings -----------------------------------------------------------------------------------------------


def test_a_listing_counts_folders_and_files_and_shows_sizes():
    one = call("list_directory", "docs/\nREADME.md  1234\nlink -> src/a", path=".")
    assert "   1 folder · 2 files" in folded(one)[0]
    assert unfolded(one)[3:] == ["  │ ├─ docs/", "  │ ├─ README.md  1.2 kB", "  │ └─ link  → src/a"]


def test_paths_become_a_tree_in_which_folders_without_anything_else_are_joined():
    found = (
        "src/app/main.py\nsrc/app/util/x.py\nsrc/app/util/y.py\ntop.py\n"
        "[the first 4 in path order; there are more]"
    )
    one = call("glob_search", found, pattern="**/*.py")
    assert "   4 files" in folded(one)[0]
    assert unfolded(one)[3:] == [
        "  │ ├─ src/app/  2 entries",
        "  │ │  ├─ main.py",
        "  │ │  └─ util/  2 entries",
        "  │ │     ├─ x.py",
        "  │ │     └─ y.py",
        "  │ └─ top.py",
        "  │ [the first 4 in path order; there are more]",
    ]


@pytest.mark.parametrize(
    ("tool", "sentence"),
    [("list_directory", "src is an empty folder"), ("glob_search", "no file in . matches *.x")],
)
def test_where_nothing_is_listed_the_sentence_about_it_is_seen(tool, sentence):
    assert folded(call(tool, sentence))[1] == f"  │ {sentence}"


# -- files --------------------------------------------------------------------------------------------------

PAGE = "1\timport os\n2\t\n3\tdef f(): ...\n[lines 1-3 of 90; continue with offset=4]"


def test_a_file_is_one_row_folded_and_numbered_lines_in_its_colours_unfolded():
    one = call("read_file", PAGE, path="x.py")
    assert len(folded(one)) == 1
    assert "   lines 1–3 of 90" in folded(one)[0]
    assert unfolded(one)[3:] == [
        "  │ 1  import os",
        "  │ 2",
        "  │ 3  def f(): ...",
        "  │ [lines 1-3 of 90; continue with offset=4]",
    ]
    assert style_at(one, "import").color is not None


def test_a_page_that_an_older_session_recorded_with_padded_numbers_looks_the_same():
    padded = re.sub(r"(?m)^\d+(?=\t)", lambda number: f"{number[0]:>6}", PAGE)
    one, other = (call("read_file", page, path="x.py") for page in (padded, PAGE))
    assert padded.startswith("     1\t")
    assert (folded(one), unfolded(one)) == (folded(other), unfolded(other))


def test_a_file_of_no_known_language_is_numbered_all_the_same():
    assert "  │ 3  def f(): ..." in unfolded(call("read_file", PAGE, path="x.unknown"))


def test_a_binary_file_is_shown_in_its_sentence():
    assert folded(call("read_file", "x.png: binary file, 17 bytes", path="x.png"))[1].endswith("17 bytes")


# -- JSON ---------------------------------------------------------------------------------------------------

VALUE = {"name": "quorum", "items": [{"id": n, "deep": {"a": n}} for n in range(100)], "on": True, "no": None}


def test_json_is_one_line_folded_and_a_tree_unfolded():
    one = call("mcp_list", json.dumps(VALUE))
    row, short = folded(one)
    assert "   {4 keys}" in row
    assert short == "  │ { name, items, on, no }"
    body = unfolded(one)[1:]
    assert '  │     name: "quorum"' in body
    assert "  │   ▸ items: [{ id, deep }]" in body
    assert "  │     on: true" in body
    assert "  │     no: null" in body


def test_a_short_result_in_json_is_shown_whole():
    value = {"timezone": "Europe/Rome", "datetime": "2026-01-01T12:00:00", "is_dst": False}
    _, *short = folded(call("mcp_now", json.dumps(value, indent=2)))
    shown = " ".join(line.removeprefix("  │ ") for line in short)
    assert shown == json.dumps(value)
    assert len(folded(call("mcp_now", json.dumps({**value, "more": "x" * 300})))) == 2


def test_a_line_of_the_tree_is_opened_and_folded_by_its_own_fold():
    one = call("mcp_list", json.dumps(VALUE), expanded=True)
    drawn = drawing(one)
    place = next(n for n, strip in enumerate(drawn.strips) if "items" in strip.text)
    fold = drawn.targets[place].fold
    assert fold is not None
    one.toggled ^= {fold}
    assert "  │   ▾ items: [100 entries]" in lines(one)
    assert "  │     ▸ 0: { id, deep }" in lines(one)
    one.toggled ^= {fold}
    assert "  │   ▸ items: [{ id, deep }]" in lines(one)


@pytest.mark.parametrize(
    "output",
    [
        "[" * 5_000 + "]" * 5_000,
        "[" * 100_000,
        "[1e999, -1e999, NaN]",
        "[" + "9" * 10_000 + "]",
        '["' + "x" * 100_000 + '"]',
        '{"": {"": {"": []}}}',
        '["\\ud800", "\\u0000\\u001b[31m"]',
        "[" + ",".join("{}" for _ in range(50_000)) + "]",
    ],
)
def test_strange_json_is_drawn_without_harm_and_within_bounds(output):
    one = call("mcp_list", output)
    assert len(folded(one)) <= 2
    assert len(unfolded(one)) < 220


# -- arguments ----------------------------------------------------------------------------------------------


def test_a_long_argument_is_identified_by_its_beginning_and_its_size():
    one = call("mcp_put", "done", text="".join(f"line {n}\n" for n in range(300)))
    body = unfolded(one)
    assert "  │ text: line 0" in body
    assert any("characters in all" in line for line in body)
    assert len(body) < 15


def test_a_reply_of_the_person_stands_below_the_question_that_it_answers() -> None:
    options = [{"label": "SQLite"}, {"label": "PostgreSQL"}]
    one = call("ask_person", "The person chose:\n- PostgreSQL", question="Which database?", options=options)

    assert folded(one) == [
        "▸ ask    Which database? 2 options",
        "  │ you chose:",
        "  │ - PostgreSQL",
    ]


def test_a_plan_is_identified_by_its_steps_and_not_by_its_arguments():
    items = [{"text": "look", "status": "done"}, {"text": "fix", "status": "pending"}]
    one = call("update_plan", "1 ✓ look\n2 ○ fix", items=items)
    assert folded(one)[1:] == ["  │ 1 ✓ look", "  │ 2 ○ fix"]
    assert not any("status" in line for line in unfolded(one))


@pytest.mark.parametrize("width", [24, 40, 80])
def test_a_row_says_what_matters_first_where_there_is_little_room(width):
    (row, *_) = folded(run("x\n" * 40 + "exit code 12"), width)
    assert "exit 12" in row
    assert len(row) <= width


# -- with the mouse -----------------------------------------------------------------------------------------


async def test_a_click_opens_one_part_of_a_tree_and_leaves_the_card_open():
    app = TranscriptApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.show([planned(("mcp_list", {}, LOW, ())), finished("mcp_list", json.dumps(VALUE))])
        await pilot.click(app.view, offset=(5, 1))
        place = next(y for y, line in enumerate(app.lines()) if "▸ items" in line)
        await pilot.click(app.view, offset=(12, place))
        assert any("▾ items: [100 entries]" in line for line in app.lines())
        await pilot.click(app.view, offset=(12, place))
        assert any("▸ items" in line for line in app.lines())


async def test_a_click_on_what_is_left_out_asks_for_all_of_it():
    class Asking(TranscriptApp):
        wanted: ClassVar[list[Call]] = []

        def on_transcript_view_output_wanted(self, message):
            self.wanted.append(message.call)

    app = Asking()
    async with app.run_test(size=(100, 30)) as pilot:
        app.show([planned(("mcp_list", {}, LOW, ())), finished("mcp_list", "line\n" * 900)])
        app.view.toggle_fold_all()
        app.view.action_scroll_end()
        place = next(y for y, line in enumerate(app.lines()) if "700 lines more · click opens all" in line)
        await pilot.click(app.view, offset=(12, place))
        await pilot.pause()
    assert [one.tool for one in app.wanted] == ["mcp_list"]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("abcdef\x1b[1K\x08\x08x\x1b[1Ky", "     y"),
        ("abcdef\x1b[1K\rab\x1b[2Kc", "  c"),
        ("abcdef\x1b[1K\rab\x1b[Kcd\x1b[1K", "    "),
        ("abc\x1b[2K\x1b[2Kd\re\x1b[1Kf", " f d"),
        ("x" * 8_000 + "\x1b[1K\x1b[2K" * 1_000 + "end", " " * 8_000 + "end"),
    ],
    ids=["up to here", "all of it", "from here on", "all of it, twice", "nothing but erasing"],
)
def test_what_is_erased_once_more_stays_erased_and_what_is_written_after_it_is_seen(line: str, left: str):
    cells, _look = _write_characters(line, PLAIN)
    assert "".join(char for char, _ in cells) == left


@pytest.mark.parametrize(
    "written", ['{"command": "make all && ls', '{"command": "make all && ls"', '{"command": "make all && ls"}']
)
def test_a_call_that_was_cut_off_while_it_was_written_shows_what_there_is_of_it(written):
    transcript = SessionView(Clock())
    transcript.apply(ev.ToolCallDelta(index=0, id="1", name="run_command", arguments_delta=written[:9]))
    transcript.apply(ev.ToolCallDelta(index=0, id=None, name=None, arguments_delta=written[9:]))
    cut = LlmResponse(content=(), stop_reason=MAX_TOKENS)
    transcript.apply(ev.ResponseCompleted(turn_index=0, response=cut))
    (batch,) = transcript.entries

    (row,) = (strip.text for strip in draw_batch(batch, 80, TERMINAL, 0.0).strips)

    assert "run    make all && ls" in row
    assert "not run" in row


def test_long_runs_of_blanks_are_counted_in_arguments_commands_and_diffs():
    hidden = "make" + " " * 6_000 + "; touch pwned"

    for shown in (folded(run("", command=hidden)), unfolded(run("", command=hidden))):
        assert any("⟨6,000 blanks⟩; touch pwned" in line for line in shown)
    changed = edit(f"--- a/x\n+++ b/x\n@@ -0,0 +1,1 @@\n+{hidden}\n")
    assert any("⟨6,000 blanks⟩; touch pwned" in line for line in unfolded(changed))
    other = call("send", "", text=hidden, expanded=True)
    assert any("⟨6,000 blanks⟩; touch pwned" in line for line in unfolded(other))


def test_reasons_and_arguments_on_a_card_are_broken_between_words():
    asked = replace(run("", command="x"), phase=Phase.REVIEWED, outcome=None, output=None)
    asked.asked_because = ("the file lies outside of the workspace",)
    reported = unfolded(asked, 40)[2:4]
    given = unfolded(call("send", "", text="a sentence that has to be broken somewhere"), 40)

    assert [line.removeprefix("  │ ") for line in reported] == [
        "asks because: the file lies outside",
        "of the workspace",
    ]
    assert "  │ text: a sentence that has to be" in given


@pytest.mark.parametrize("reason", [REJECTED_WITHOUT_REASON, REJECTED_AND_STOPPED])
def test_the_person_is_not_told_that_the_user_rejected_it(reason):
    refused = replace(call("send", f"{reason}. It was not run.", outcome=Outcome.REJECTED), reason=reason)

    assert [line for line in folded(refused) if "user" in line] == []
    assert any("rejected" in line for line in folded(refused))


def test_what_went_wrong_is_broken_between_words_where_it_is_unfolded():
    refused = call(
        "send", "rejected by the user: not without a backup. It was not run.", outcome=Outcome.REJECTED
    )

    assert unfolded(refused, 40)[-2:] == [
        "  │ rejected by the user: not without a",
        "  │ backup. It was not run.",
    ]

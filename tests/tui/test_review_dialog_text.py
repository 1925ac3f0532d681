import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from domain.seal import Seal, SealedFile
from tests.support.fake_agent import a_command, a_packet, a_request, an_edit
from tui.review.diff import parse_diff
from tui.review.edit import NotEditable, editable, edited
from tui.review.text import facts, fold, listed, substance

EVIL = "echo \x1b]52;c;aGk=\x07 \x1b[31mred\x1b[0m \u202egnp.exe\u2066 a\u200bb \x9bx\r"


def plain(rows) -> list[str]:
    return ["".join(text for text, _ in row) for row in rows]


def test_control_and_bidi_characters_of_a_command_are_drawn_escaped_and_none_is_dropped():
    (line,) = plain(substance(a_command(EVIL), 200))

    assert not {"\x1b", "\x07", "\u202e", "\u2066", "\u200b", "\x9b", "\r"} & set(line)
    assert "␛]52;c;aGk=␇ ␛[31mred␛[0m ⟨U+202E⟩gnp.exe⟨U+2066⟩ a⟨U+200B⟩b" in line
    assert line.endswith("x␍")


def test_control_and_bidi_characters_of_a_diff_are_drawn_escaped():
    diff = f"--- a\n+++ b\n@@ -1 +1 @@\n-old\n+{EVIL}\n"

    text = "\n".join(plain(substance(an_edit(diff), 100)))

    assert not {"\x1b", "\x07", "\u202e", "\u200b"} & set(text)
    assert "⟨U+202E⟩" in text


def test_every_line_of_a_command_is_there_under_its_first():
    assert plain(substance(a_command("one\ntwo\n\nthree"), 40)) == ["$ one", "  two", "  ", "  three"]


def test_a_long_line_is_folded_and_not_cut():
    rows = plain(substance(a_command("x" * 95), 32))

    assert "".join(row[2:] for row in rows) == "x" * 95
    assert max(map(len, rows)) <= 32


def test_wide_characters_are_folded_by_cells():
    rows = plain(substance(a_command("日本語" * 20), 21))

    assert max(cell_len(row) for row in rows) <= 21
    assert "".join(row[2:] for row in rows) == "日本語" * 20


def test_a_diff_is_numbered_and_signed():
    diff = "--- a/x\n+++ b/x\n@@ -9,2 +9,3 @@\n same\n-gone\n+new\n+more\n"

    assert plain(substance(an_edit(diff), 60)) == [
        "--- a/x",
        "+++ b/x",
        "@@ -9,2 +9,3 @@",
        " 9   same",
        "10 - gone",
        "10 + new",
        "11 + more",
    ]


def test_content_that_looks_like_a_heading_of_a_diff_is_content():
    diff = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n--- a/secret\n-@@ -1 +1 @@\n+++ b/other\n+x\n"

    signs = [(line.sign, line.text) for line in parse_diff(diff)][3:]

    assert signs == [("-", "-- a/secret"), ("-", "@@ -1 +1 @@"), ("+", "++ b/other"), ("+", "x")]


def test_changes_of_blanks_at_the_end_and_of_tabs_can_be_seen():
    diff = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n-x\n-    y\n+x  \n+\ty\n"

    assert plain(substance(an_edit(diff), 60))[3:] == ["1 - x", "2 -     y", "1 + x··", "2 + →   y"]


def test_from_a_width_of_140_a_diff_stands_side_by_side_and_loses_nothing():
    diff = "--- a\n+++ b\n@@ -1,4 +1,3 @@\n same\n-gone\n-also\n+new\n end\n"

    rows = plain(substance(an_edit(diff), 140))

    assert [[half.rstrip() for half in row.split(" │ ")] for row in rows[3:]] == [
        ["1   same", "1   same"],
        ["2 - gone", "2 + new"],
        ["3 - also", ""],
        ["4   end", "3   end"],
    ]


@given(
    st.lists(st.sampled_from([" same", "-gone", "+new", "\\ No newline at end", "@@ -1,2 +1,2 @@", "odd"])),
    st.sampled_from([30, 150]),
)
def test_no_line_of_any_diff_is_left_out(lines, width):
    diff = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n" + "\n".join(lines)

    text = "\n".join(plain(substance(an_edit(diff), width)))
    counted = [line.text for line in parse_diff(diff)]

    assert len(counted) == len(diff.removesuffix("\n").split("\n"))
    assert all(content.strip() in text for content in counted)


@given(st.text(), st.integers(min_value=12, max_value=200))
def test_no_row_of_any_command_is_wider_than_the_dialog(command, width):
    assert all(cell_len(row) <= width for row in plain(substance(a_command(command), width)))


def test_the_facts_tell_why_where_what_with_and_what_is_not_sealed():
    known = SealedFile(path="/w/a", sha256="9b1e" + "0" * 57 + "a1c")
    seal = Seal(
        cwd="/w",
        files=(known, SealedFile(path="/w/new", sha256=None)),
        executables=("/usr/bin/make",),
        environment={"CI": "1", "API_KEY": None},
        unsealed="further effects",
    )
    request = a_request(a_packet("run_command", {"command": "make", "timeout_secs": 5}, seal), stale=True)

    lines = plain(fold(facts(request, full_digest=True), 120))

    assert lines == [
        "asked again   what you approved is no longer what would run; this is how it stands now",
        "asks because  high risk, and the mode is ask",
        "with          timeout_secs = 5",
        "touches       /w/a  sha 9b1e…a1c",
        "              /w/new  new file",
        "runs          /usr/bin/make",
        "in            /w",
        "environment   CI=1",
        "              API_KEY removed",
        "not sealed    further effects",
        f"packet        {request.packet.digest}",
    ]


def test_arguments_a_diff_does_not_show_are_told_beside_it():
    arguments = {"path": "x", "content": "y", "create_dirs": True}
    packet = a_packet("write_file", arguments, Seal(cwd="/w", diff="x"))

    assert "with          create_dirs = true" in plain(fold(facts(a_request(packet), full_digest=False), 80))


def test_a_call_without_diff_or_command_shows_all_its_arguments():
    packet = a_packet("deploy", {"to": "prod\u202e", "force": True}, Seal(cwd="/w"))

    assert plain(substance(packet, 60)) == ["{", '  "to": "prod⟨U+202E⟩",', '  "force": true', "}"]


def test_the_list_of_the_rest_shows_every_packet_in_full():
    text = "\n".join(plain(listed(a_request(a_command("one"), an_edit("@@ -1 +1 @@\n-a\n+b", index=1)), 80)))

    assert "call 1 of 2 · run_command" in text
    assert "$ one" in text
    assert "call 2 of 2 · edit_file" in text
    assert "1 + b" in text


def test_a_command_is_edited_bare_and_keeps_its_other_arguments():
    packet = a_command("make", timeout_secs=5)

    assert editable(packet) == ("make", True)
    assert edited(packet, "make -k", is_command=True) == {"command": "make -k", "timeout_secs": 5}


def test_a_command_with_hidden_characters_is_edited_as_json_that_shows_them():
    packet = a_command(EVIL)

    text, is_command = editable(packet)

    assert not is_command
    assert not {"\x1b", "\x07", "\u202e", "\u200b", "\x9b"} & set(text)
    assert edited(packet, text, is_command=False) == packet.call.arguments


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.booleans() | st.none()))
def test_unchanged_arguments_come_back_from_the_editor_as_they_were(arguments):
    packet = a_packet("tool", arguments, Seal(cwd="/w"))

    text, is_command = editable(packet)

    assert edited(packet, text, is_command=is_command) == arguments


@pytest.mark.parametrize(
    ("text", "told"),
    [('{"a": }', "line 1, column 7"), ('{"a": NaN}', "NaN is not JSON"), ("3", "one JSON object")],
)
def test_what_is_no_json_is_refused_with_its_place(text, told):
    with pytest.raises(NotEditable, match=told):
        edited(a_packet("tool", {}, Seal(cwd="/w")), text, is_command=False)

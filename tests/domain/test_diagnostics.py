from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.diagnostics import (
    MAX_BYTES,
    MAX_LINES,
    count_lines,
    find_new_lines,
    limit_lines,
    read_lines,
)
from quorum.domain.events.event import DiagnosticsReported, SessionStarted, TurnStarted, event_from_json
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.canonical import render_canonical
from quorum.domain.sessions.replay import replay_state
from tests.support.examples import examples
from tests.support.past_sessions import records_of

LINES = st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=30), max_size=20)


def test_an_error_that_moved_to_another_line_is_not_new() -> None:
    before = count_lines(["a.py:3:1: F401 unused", "Found 2 errors."])

    assert find_new_lines(before, ["a.py:17:1: F401 unused", "Found 1 error."]) == ()


def test_the_same_error_once_more_is_new() -> None:
    before = count_lines(["a.py:3:1: F401 unused"])

    assert find_new_lines(before, ["a.py:3:1: F401 unused", "a.py:9:1: F401 unused"]) == (
        "a.py:9:1: F401 unused",
    )


def test_an_error_in_another_file_is_new() -> None:
    before = count_lines(["a.py:3: bad"])

    assert find_new_lines(before, ["b.py:3: bad"]) == ("b.py:3: bad",)


def test_lines_cannot_act_on_a_terminal_and_blank_ones_do_not_count() -> None:
    assert read_lines(b"\x1b[31ma.py:1: bad\x1b[0m\r\n\n  \nb\x07\xff\n") == ("a.py:1: bad", "b␇\ufffd")


def test_lines_beyond_the_bounds_are_left_out() -> None:
    many = limit_lines(["x"] * 80)
    long = limit_lines(["y" * 5_000, "z" * 5_000])
    huge = limit_lines(["ä" * 50_000])

    assert (len(many), len(long)) == (MAX_LINES, 1)
    assert huge[0].endswith("ä…")
    assert len(huge[0].encode()) <= MAX_BYTES


@examples(50)
@given(LINES)
def test_what_was_printed_before_is_never_new(lines: list[str]) -> None:
    assert find_new_lines(count_lines(lines), lines) == ()


@examples(50)
@given(LINES)
def test_without_anything_before_all_is_new(lines: list[str]) -> None:
    assert find_new_lines(count_lines([]), lines) == tuple(lines)


@examples(50)
@given(LINES)
def test_bounded_lines_fit(lines: list[str]) -> None:
    bounded = limit_lines(lines, max_lines=5, max_bytes=40)

    assert len(bounded) <= 5
    assert sum(len(line.encode()) + 1 for line in bounded) <= 40


def test_a_report_stands_in_the_canonical_record_and_changes_no_state() -> None:
    report = DiagnosticsReported(name="ruff", files=("a.py",), lines=("a.py:1: bad",), new=1)
    events = [SessionStarted(session_id="s", model="m", mode=Mode.ASK, cwd="/ws"), TurnStarted(prompt="go")]

    assert '"type":"diagnostics_reported"' in render_canonical(records_of([*events, report]))
    assert replay_state(records_of([*events, report])) == replay_state(records_of(events))


def test_a_report_of_an_older_version_opens_with_defaults() -> None:
    value = {"type": "diagnostics_reported", "v": 1, "name": "ruff", "files": ["a.py"]}

    assert event_from_json(value) == DiagnosticsReported(name="ruff", files=("a.py",))

from __future__ import annotations

from decimal import Decimal

import pytest

from quorum.cli.sessions.actions import render_table
from quorum.domain.sessions.session_ids import compute_id_length
from quorum.domain.text.amounts import format_age
from quorum.text_table import Column, fit_text, measure_text_cells, render_text_table
from tests.support.past_sessions import START_MS, a_summary

NOW_MS = START_MS + 3 * 86_400_000


def test_a_session_is_a_line_of_id_age_turns_cost_and_title() -> None:
    sessions = [
        a_summary(id="0199a1b2-1", cost_usd=Decimal("1.256"), updated_ms=NOW_MS - 300_000, turns=12),
        a_summary(id="0199ffff-2", title="", cost_usd=None, turns=0),
    ]

    assert render_table(sessions, among=sessions, now_ms=NOW_MS, width=None) == [
        "ID        LAST USED  TURNS   COST  TITLE",
        "0199a1b2  5 min ago     12  $1.26  fix the typo",
        "0199ffff    2 d ago      0         (no prompt yet)",
    ]


def test_folders_and_processes_are_named_where_they_matter() -> None:
    session = a_summary(id="0199a1b2-1", open_in=42)

    line = render_table([session], among=[session], now_ms=NOW_MS, width=None, folders=True)[1]

    assert line.endswith("[in use by process 42] /home/ada/project · fix the typo")


@pytest.mark.parametrize("width", [50, 60, 73, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    sessions = [a_summary(title="日本語の題名は幅が二倍です。" * 6), a_summary(title="e\u0301" * 90)]

    lines = render_table(sessions, among=sessions, now_ms=NOW_MS, width=width)

    assert max(map(measure_text_cells, lines)) in (width, width - 1)
    assert lines[1].endswith("…")


def test_a_wide_column_is_cut_wherever_it_stands_and_ids_and_numbers_never() -> None:
    columns: tuple[Column[str], ...] = (
        Column("ID", lambda _: "0199a1b2-1111", whole=True),
        Column("FOLDER", lambda _: "/home/ada/" + "projects/" * 9),
        Column("TOKENS", lambda _: "1,234,567,890", is_number=True),
        Column("TITLE", lambda title: title),
    )

    for width in (55, 70, 100):
        head, line = render_text_table(columns, ["fix the typo " * 9], width=width)

        assert measure_text_cells(line) in (width, width - 1)
        assert line.count("…") == 2
        assert "0199a1b2-1111" in line
        assert "1,234,567,890" in line
        assert head.split() == ["ID", "FOLDER", "TOKENS", "TITLE"]


def test_a_terminal_that_is_too_narrow_for_a_table_still_gets_the_beginning_of_each_cell() -> None:
    columns = (Column[str]("ID", str, whole=True), Column[str]("TITLE", lambda _: "fix the typo in it"))

    assert render_text_table(columns, ["0199a1b2"], width=4)[1] == "0199a1b2  fix t…"


def test_nothing_in_a_title_acts_on_the_terminal() -> None:
    session = a_summary(title="\x1b[2Jfor\nged\u202e")

    assert render_table([session], among=[session], now_ms=NOW_MS, width=None)[1].endswith(
        "␛[2Jfor⏎ged⟨U+202E⟩"
    )


@pytest.mark.parametrize(
    ("ids", "length"),
    [
        ([], 8),
        (["0199a1b2-0000"], 8),
        (["0199a1b2-0000", "0199a1b2-0001"], 13),
        (["0199a1b2-0000", "0199a1b2-0000", "1199"], 8),
    ],
)
def test_ids_are_as_long_as_it_takes_to_tell_them_apart(ids: list[str], length: int) -> None:
    assert compute_id_length(ids) == length


@pytest.mark.parametrize(
    ("gone_ms", "expected"),
    [
        (-5_000, "just now"),
        (59_999, "just now"),
        (60_000, "1 min ago"),
        (7_200_000, "2 h ago"),
        (86_400_000 * 400, "1 y ago"),
    ],
)
def test_an_age_has_one_unit(gone_ms: int, expected: str) -> None:
    assert format_age(START_MS, START_MS + gone_ms) == expected


def test_a_wide_letter_is_not_cut_in_half() -> None:
    assert fit_text("日本語", 6) == "日本語"
    assert fit_text("日本語", 5) == "日本…"
    assert fit_text("日本語", 4) == "日…"

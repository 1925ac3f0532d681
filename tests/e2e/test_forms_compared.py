"""The table that compares one task in each form is what `quorum` asks today."""

from __future__ import annotations

import pytest

from docs.forms_compared import BEGIN, END, FORMS, PAGE, measure_all, render_rows


def read_table() -> list[list[str]]:
    """The rows of the page without head and rule."""
    page = PAGE.read_text(encoding="utf-8")
    rows = page.partition(BEGIN)[2].partition(END)[0].strip().splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_page_has_a_row_for_each_form() -> None:
    assert [row[0] for row in read_table()] == list(FORMS)


@pytest.mark.long
async def test_the_page_says_what_is_asked_of_whom_and_about_what_it_costs() -> None:
    measured = [
        [cell.strip() for cell in row.strip("|").split("|")] for row in render_rows(await measure_all())
    ]
    written = read_table()
    assert [row[:-1] for row in written] == [row[:-1] for row in measured[2:]], (
        "write it anew: python docs/forms_compared.py"
    )
    # What a request holds differs from machine to machine, and with every word of a tool's description.
    for row, again in zip(written, measured[2:], strict=True):
        assert float(row[-1]) == pytest.approx(float(again[-1]), abs=0.3)

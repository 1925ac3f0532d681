"""A long prompt in the transcript: most of it is pasted, and folded away until it is wanted."""

from __future__ import annotations

import pytest

from quorum.application.view.entries import PromptEntry
from quorum.domain.replacing import replace
from quorum.tui.finding_bar import list_passages
from quorum.tui.transcript.cells.palette import TERMINAL, Palette
from quorum.tui.transcript.draw.entry_renderer import EntryRenderer
from quorum.tui.transcript.layout.folds import set_open

PASTED = "\n".join(f"line {number}" for number in range(2_000))
SPOKEN = replace(TERMINAL, screen_reader=True)


def lines(entry: PromptEntry, palette: Palette = TERMINAL) -> list[str]:
    return [strip.text.strip() for strip in EntryRenderer(80, palette).draw(entry, 0.0).strips[1:]]


@pytest.mark.parametrize("palette", [TERMINAL, SPOKEN], ids=["seen", "read out"])
def test_a_long_prompt_is_folded_to_its_first_lines_and_unfolds(palette: Palette) -> None:
    entry = PromptEntry(PASTED)
    assert len(lines(entry, palette)) == 13
    assert "1,988 more lines" in lines(entry, palette)[-1]

    assert set_open(entry, 0, True)
    assert len(lines(entry, palette)) == 2_000
    assert set_open(entry, 0, False)
    assert len(lines(entry, palette)) == 13


@pytest.mark.parametrize("count", [1, 12])
def test_a_prompt_as_one_types_it_is_shown_whole(count: int) -> None:
    entry = PromptEntry("\n".join("a word" for _ in range(count)))
    assert len(lines(entry)) == count


def test_what_is_folded_away_is_found_and_unfolds_for_that() -> None:
    (passage,) = list_passages(PromptEntry(PASTED))
    assert "line 1999" in passage.text
    assert passage.part == 0

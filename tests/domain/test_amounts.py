"""Durations in words, the same in every front end."""

from __future__ import annotations

import pytest

from quorum.domain.text.amounts import format_duration, format_elapsed


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-1.0, "0 s"), (0.9, "0 s"), (59.9, "59 s"), (60.0, "1 min 00 s"), (3_725.0, "62 min 05 s")],
)
def test_what_still_runs_is_told_in_whole_seconds(seconds: float, shown: str) -> None:
    assert format_elapsed(seconds) == shown


@pytest.mark.parametrize(("seconds", "shown"), [(0.012, "12 ms"), (3.2, "3.2 s"), (125.0, "2 min 05 s")])
def test_what_is_over_is_told_as_exactly_as_it_matters(seconds: float, shown: str) -> None:
    assert format_duration(seconds) == shown

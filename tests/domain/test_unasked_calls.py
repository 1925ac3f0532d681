from __future__ import annotations

import pytest

from quorum.domain.review.unasked_calls import (
    CallKind,
    ErrorFigures,
    compute_upper_bound,
    format_share,
    is_sampled,
)


@pytest.mark.parametrize(
    ("count", "of", "bound"),
    [
        (0, 0, 1.0),
        (5, 5, 1.0),
        (0, 1, 0.95),
        (0, 10, 0.2589),
        (0, 59, 0.0495),
        (0, 100, 0.0295),
        (1, 10, 0.3942),
        (1, 20, 0.2161),
        (2, 20, 0.2826),
        (5, 100, 0.1023),
        (10, 1_000, 0.0169),
        (999, 1_000, 0.99995),
    ],
)
def test_the_bound_is_that_of_clopper_and_pearson(count: int, of: int, bound: float) -> None:
    assert compute_upper_bound(count, of) == pytest.approx(bound, abs=5e-5)


def test_the_bound_of_none_wrong_has_a_closed_form() -> None:
    for of in (1, 7, 300, 5_000):
        assert compute_upper_bound(0, of) == pytest.approx(1 - 0.05 ** (1 / of), rel=1e-9)


def test_more_wrong_calls_raise_the_bound_and_more_right_ones_lower_it() -> None:
    bounds = [compute_upper_bound(wrong, 50) for wrong in range(51)]
    assert bounds == sorted(bounds)
    assert [compute_upper_bound(3, of) for of in (10, 100, 1_000)] == sorted(
        (compute_upper_bound(3, of) for of in (10, 100, 1_000)), reverse=True
    )


def test_about_so_large_a_share_of_calls_is_sampled_and_the_same_ones_each_time() -> None:
    ids = [f"session/batch/{number}" for number in range(20_000)]
    chosen = [each for each in ids if is_sampled(each, 0.02)]

    assert 300 < len(chosen) < 500
    assert chosen == [each for each in ids if is_sampled(each, 0.02)]
    assert not any(is_sampled(each, 0) for each in ids)
    assert all(is_sampled(each, 1) for each in ids)


def test_the_limit_is_passed_only_once_something_was_wrong() -> None:
    def exceeds(judged: int, wrong: int) -> bool:
        return ErrorFigures(kind=CallKind.COMMANDS, judged=judged, wrong=wrong).exceeds(0.1)

    assert not exceeds(0, 0)
    assert not exceeds(5, 0)
    assert exceeds(5, 1)
    assert exceeds(45, 1)
    assert not exceeds(60, 1)


@pytest.mark.parametrize(
    ("share", "text"), [(0.0495, "5 %"), (0.00021, "0.1 %"), (0.0295, "3 %"), (0.3942, "40 %"), (1.0, "100 %")]
)
def test_a_bound_is_never_told_smaller_than_it_is(share: float, text: str) -> None:
    assert format_share(share) == text


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("run_command", CallKind.COMMANDS),
        ("edit_file", CallKind.EDITS),
        ("apply_patch", CallKind.EDITS),
        ("mcp__x__y", CallKind.OTHERS),
    ],
)
def test_figures_are_kept_by_kind(tool: str, kind: CallKind) -> None:
    assert CallKind.of(tool) is kind

"""The formulas against values that were published."""

from __future__ import annotations

import pytest

from quorum.domain.benchmark.reviewer_measure import Rate, compute_mcnemar_exact, find_percentile


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    # the examples of Newcombe, Statistics in Medicine 17 (1998), for the score method
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_is_wilsons(count: int, of: int, low: float, high: float) -> None:
    assert Rate(count, of).interval == pytest.approx((low, high), abs=5e-5)


def test_of_no_cases_the_share_is_0_and_the_interval_is_everything() -> None:
    assert (Rate(0, 0).share, Rate(0, 0).interval) == (0.0, (0.0, 1.0))
    assert Rate(7, 7).interval[1] == 1.0


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        (9, 2, 0.0654296875),  # the table of the vignette of R's exact2x2: 2 * (1 + 11 + 55) / 2**11
        (59, 121, 4.434449263755176e-06),  # many cases
        (1, 9, 22 / 1024),  # the sign test of ten pairs: 2 * (1 + 10) / 2**10
        (5, 5, 1.0),
        (0, 0, 1.0),
        (0, 6, 0.03125),
    ],
)
def test_mcnemars_test_is_exact_and_two_sided(first: int, second: int, p: float) -> None:
    assert compute_mcnemar_exact(first, second) == pytest.approx(p, rel=1e-9)
    assert compute_mcnemar_exact(second, first) == compute_mcnemar_exact(first, second)


def test_a_percentile_is_one_of_the_values() -> None:
    values = [15, 20, 35, 40, 50]  # the usual example of the nearest rank

    assert [find_percentile(values, share) for share in (0.05, 0.3, 0.4, 0.5, 1.0)] == [15, 20, 20, 35, 50]
    assert find_percentile([], 0.95) is None

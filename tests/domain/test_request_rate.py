"""A bucket of tokens: full at first, filled evenly, and below zero whoever asks waits for their own token."""

from __future__ import annotations

import pytest

from quorum.application.ports.storage import RequestRate


def test_a_bucket_holds_the_requests_of_ten_seconds_and_at_least_one():
    assert [RequestRate(each).burst for each in (1, 6, 60, 600)] == [1, 1, 10, 100]


def test_a_bucket_is_filled_evenly_and_never_over():
    rate = RequestRate(60)

    assert rate.refill(2, 3) == pytest.approx(5)
    assert rate.refill(2, 100) == rate.burst
    assert rate.refill(2, -100) == 2  # a clock was set back


def test_each_one_below_zero_waits_for_a_token_more():
    rate = RequestRate(30)

    assert [rate.compute_wait(tokens) for tokens in (1, 0, -1, -3)] == pytest.approx([0, 0, 2, 6])

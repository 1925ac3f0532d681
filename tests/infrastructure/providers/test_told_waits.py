"""The wait that a provider asks for in the body of its answer."""

from __future__ import annotations

import json

import pytest

from quorum.infrastructure.models.shared.failures import find_body_wait


@pytest.mark.parametrize(
    ("message", "secs"),
    [
        ("Rate limit reached on tokens per min: Limit 30000. Please try again in 7.66s. Visit the page.", 7.66),
        ("Please try again in 1m30.5s.", 90.5),
        ("Please try again in 120ms.", 0.12),
        ("Please retry after 26 seconds.", 26.0),
        ("Retry in 2 minutes and 3 seconds", 123.0),
        ("Please retry in 34.074824224s.", 34.074824224),
        ("Limit: 20 requests per 60 seconds", None),
        ("try again in a while", None),
        ("try again in 5 steps", None),
    ],
)
def test_a_sentence_asks_for_a_wait_only_where_it_asks_to_come_again(message: str, secs: float | None) -> None:
    assert find_body_wait(json.dumps({"error": {"message": message}}).encode()) == secs
    assert find_body_wait(message.encode()) == secs


@pytest.mark.parametrize(
    ("body", "secs"),
    [
        ({"error": {"details": [{"@type": "RetryInfo", "retryDelay": "34s"}]}}, 34.0),
        ([{"error": {"details": [{"retryDelay": {"seconds": "3", "nanos": 500000000}}]}}], 3.5),
        ({"retry_after": 1.5}, 1.5),
        ({"error": {"metadata": {"headers": {"Retry-After": "12"}}}}, 12.0),
        ({"error": {"retry_after_ms": 250}}, 0.25),
        ({"retry_after": 5, "message": "try again in 9s"}, 5.0),
        ({"retry_after": True}, None),
        ({"retry_after": -1}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": None}, None),
        ({}, None),
    ],
)
def test_a_field_asks_for_a_wait(body: object, secs: float | None) -> None:
    assert find_body_wait(json.dumps(body).encode()) == secs


def test_a_body_that_is_no_text_asks_for_no_wait() -> None:
    assert find_body_wait(b"\xff\x00") is None

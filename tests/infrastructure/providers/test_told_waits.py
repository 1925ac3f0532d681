"""The wait that a provider asks for in the body of its answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

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
        ("Rate limited. Retry after 00:00:30", 30.0),
        ("Try again in 1:02:03.5.", 3723.5),
        ("Your window resets at 12:30", None),
        ("Rate limited; the next request is allowed in 12 s", 12.0),
        ("The request was throttled, retry-after: 9", 9.0),
        ("The request was throttled (Retry-After: 9).", 9.0),
        ("Retry after 9 requests", None),
        ("请求过于频繁，请在 30 秒后重试", 30.0),
        ("请等待 2 分钟", 120.0),
        ("请在 3 个文件中", None),
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
        ({"retry_after": "00:00:30"}, 30.0),
        ({"error": {"reset_after": 42}}, 42.0),
        ({"detail": {"resetAfterSeconds": "7"}}, 7.0),
        ({"error": {"rate_limit": {"reset_seconds": 4}}}, 4.0),
        ({"error": "Model m is currently loading", "estimated_time": 20.5}, 20.5),
        ({"error": {"metadata": {"headers": {"X-RateLimit-Reset": "7"}}}}, 7.0),
        ({"retry_after": True}, None),
        ({"retry_after": -1}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": None}, None),
        ({}, None),
    ],
)
def test_a_field_asks_for_a_wait(body: object, secs: float | None) -> None:
    assert find_body_wait(json.dumps(body).encode()) == secs


@pytest.mark.parametrize(
    "body",
    [
        {"message": "Your limit resets at {iso}Z."},
        {"message": "Usage limit reached, try again at {spaced} UTC"},
        {"message": "You may retry after {iso}.250+00:00; see the docs"},
        {"message": "Please wait until {iso}Z"},
        {"message": "It is available again on {iso}"},
        {"resets_at": "{iso}Z"},
        {"reset_at": "{unix}"},
        {"retry_after": "{unix}000"},
    ],
)
def test_a_moment_to_come_again_is_a_wait(body: dict[str, str]) -> None:
    moment = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    iso = moment.replace(tzinfo=None).isoformat()
    given = {
        key: value.format(iso=iso, spaced=iso.replace("T", " "), unix=int(moment.timestamp()))
        for key, value in body.items()
    }

    wait = find_body_wait(json.dumps(given).encode())

    assert wait is not None
    assert 3_000 < wait <= 3_601


def test_a_moment_that_has_passed_means_at_once() -> None:
    assert find_body_wait(b"resets at 2001-02-03T04:05:06Z") == 0.0


@pytest.mark.parametrize(
    "text", ["2026-99-99T00:00:00Z", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"]
)
def test_a_moment_that_is_none_asks_for_no_wait(text: str) -> None:
    find_body_wait(f"resets at {text}".encode())


def test_a_body_that_is_no_text_asks_for_no_wait() -> None:
    assert find_body_wait(b"\xff\x00") is None

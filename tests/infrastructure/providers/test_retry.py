from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.shared.retry import (
    compute_backoff,
    explain_too_long_to_wait,
    parse_retry_after,
)


@pytest.mark.parametrize("attempt", [1, 2, 3, 10, 1000])
def test_the_pause_doubles_up_to_a_bound(attempt: int) -> None:
    longest = min(0.5 * 2.0 ** min(attempt - 1, 10), 8.0)
    assert 0.75 * longest <= compute_backoff(attempt) <= longest


@pytest.mark.parametrize(
    ("headers", "secs"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": " 7 "}, 7.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after-ms": "-1", "retry-after": "9"}, 9.0),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Mon, 01 Jan 0001 00:00:00 GMT"}, 0.0),
        ({"retry-after": "Mon, 99 Foo 2030 00:00:00 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": formatdate(0, usegmt=True)}, 0.0),
        ({}, None),
    ],
)
def test_the_wish_of_a_provider_is_read_in_all_its_forms(headers: dict[str, str], secs: float | None) -> None:
    assert parse_retry_after(headers) == secs


def test_a_date_in_the_future_is_a_pause() -> None:
    wish = parse_retry_after({"retry-after": formatdate(time.time() + 3600, usegmt=True)})
    assert wish is not None
    assert 3000 < wish <= 3600


@pytest.mark.parametrize(("secs", "too_long"), [(None, False), (60.0, False), (61.0, True)])
def test_a_minute_is_the_longest_pause(secs: float | None, too_long: bool) -> None:
    error = ProviderError("busy", kind=ProviderErrorKind.RATE_LIMIT, retryable=True, retry_after=secs)
    assert (explain_too_long_to_wait(error) is not None) is too_long

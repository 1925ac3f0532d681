"""How long a provider asks to wait, where only the body of its answer says so."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.late_pattern import compile_late

_LONGEST_SEARCHED = 4_000
_DEEPEST = 6
# The names of fields, without case and punctuation, and what one unit of their numbers is in seconds.
_FIELDS: Mapping[str, float] = {
    "retryafter": 1.0,
    "retryafterseconds": 1.0,
    "retryaftersecs": 1.0,
    "retryafters": 1.0,
    "retryafterms": 0.001,
    "retryaftermilliseconds": 0.001,
    "retrydelay": 1.0,
    "retrydelayms": 0.001,
}
_UNITS: Mapping[str, float] = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = compile_late(
    r"(\d{1,9}(?:\.\d{1,9})?)\s{0,3}"
    r"(ms|milliseconds?|msecs?|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s|days?|d)(?![a-z])",
    re.IGNORECASE,
)
_GAP = compile_late(r"\s{0,3}(?:,|and)?\s{0,3}(?=\d)")
# Only words that ask to come again are about a wait; limits "per 60 s" are not.
_ASKS = compile_late(
    r"\b(?:(?:try|retry|wait|retrying)(?: your request)?(?: again)?(?: in| after| for| at least| about)?"
    r"|again in|again after|(?:reset|resets|available)(?: again)? in)\s{0,3}[:=~]?\s{0,3}(?=\d)",
    re.IGNORECASE,
)


def find_told_wait(body: JsonValue) -> float | None:
    """Return the wait in seconds that a body of JSON, or of text, asks for; None where it asks for none.

    A field says it better than a sentence. Of several, the longest counts: to come too early is refused again.
    """
    waits = list(_list_field_waits(body, _DEEPEST))
    if not waits:
        waits = [wait for text in _list_texts(body, _DEEPEST) if (wait := _read_sentence(text)) is not None]
    return max(waits, default=None)


def find_body_wait(body: bytes) -> float | None:
    """Return the wait in seconds that the body of a refusal asks for, whether it is JSON or text; or None."""
    try:
        return find_told_wait(json.loads(body))
    except (ValueError, RecursionError):
        return find_told_wait(body[:_LONGEST_SEARCHED].decode("utf-8", "replace"))


def _list_field_waits(value: JsonValue, depth: int) -> Iterator[float]:
    for key, inner in _list_items(value, depth):
        unit = _FIELDS.get(re.sub(r"[^a-z]", "", key[:40].lower()))
        if unit is not None and (wait := _read_wait(inner, unit)) is not None:
            yield wait
        yield from _list_field_waits(inner, depth - 1)


def _list_texts(value: JsonValue, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:_LONGEST_SEARCHED]
    for _, inner in _list_items(value, depth):
        yield from _list_texts(inner, depth - 1)


def _list_items(value: JsonValue, depth: int) -> list[tuple[str, JsonValue]]:
    if depth <= 0 or isinstance(value, str):
        return []
    if isinstance(value, Mapping):
        return list(value.items())
    return [("", inner) for inner in value] if isinstance(value, Sequence) else []


def _read_wait(value: JsonValue, unit: float) -> float | None:
    match value:
        case bool():
            return None
        case int() | float():
            return _keep_sane(value * unit)
        case str():
            try:
                return _keep_sane(float(value) * unit)
            except ValueError:
                return _read_duration(value[:_LONGEST_SEARCHED].strip())
        case Mapping():  # a duration of Google's in two fields
            return _read_seconds_and_nanos(value)
        case _:
            return None


def _read_seconds_and_nanos(value: JsonObject) -> float | None:
    seconds, nanos = value.get("seconds", 0), value.get("nanos", 0)
    try:
        return _keep_sane(float(str(seconds)) + float(str(nanos)) / 1e9) if value else None
    except ValueError:
        return None


def _read_sentence(text: str) -> float | None:
    found = [wait for asks in _ASKS.finditer(text) if (wait := _read_duration(text[asks.end() :])) is not None]
    return max(found, default=None)


def _read_duration(text: str) -> float | None:
    """Read the parts at the beginning of a text, such as "1m30.5s" or "2 minutes and 3 seconds"."""
    seconds, position = None, 0
    while (part := _PART.match(text, position)) is not None:
        seconds = (seconds or 0.0) + float(part[1]) * _find_unit(part[2].lower())
        position = part.end()
        gap = _GAP.match(text, position)
        position = gap.end() if gap is not None else position
    return seconds


def _find_unit(name: str) -> float:
    return _UNITS["ms"] if name.startswith(("ms", "milli")) else _UNITS[name[0]]


def _keep_sane(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) and seconds >= 0 else None

"""Counts, sizes, tokens, durations, ages and paths in words, the same in every front end."""

from __future__ import annotations

from pathlib import Path

_STEPS = ((60, "min"), (60, "h"), (24, "d"), (30, "mo"), (12, "y"))
_NOW = "now"


def format_age(then_ms: int, now_ms: int) -> str:
    """The time since then, as `3 h ago`. Both in milliseconds; a clock set back makes it `just now`."""
    age = format_wait(then_ms, now_ms)
    return f"{age} ago" if age != _NOW else "just now"


def format_wait(then_ms: int, now_ms: int) -> str:
    """How long something has waited since then, as `3 h`; within the first minute it is `now`."""
    count, unit = (now_ms - then_ms) // 1_000, ""
    for size, further in _STEPS:
        if count < size:
            break
        count, unit = count // size, further
    return f"{count} {unit}" if unit else _NOW


def shorten_home(path: str) -> str:
    """Return a path with `~` for the home directory."""
    home = str(Path.home())
    return "~" + path[len(home) :] if path == home or path.startswith(home + "/") else path


_FLOAT_ERROR = 1e-9
"""0.29 * 100 is a little less than 29."""


def format_amount(count: int, noun: str) -> str:
    """Format a count with its noun, as in `1 line` and `3,200 lines`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_size(count: int) -> str:
    """Format a number of bytes in a fitting unit: `1 byte`, `1.2 kB`, `340 MB`."""
    if count < 1_000:
        return format_amount(count, "byte")
    number, units = count / 1_000, ["kB", "MB", "GB"]
    while number >= 999.5 and len(units) > 1:
        number /= 1_000
        units.pop(0)
    return f"{number:.1f} {units[0]}" if number < 9.95 else f"{number:,.0f} {units[0]}"


def format_megabytes(count: int) -> str:
    """Format a number of bytes beside its limit, with one digit after the point: what is a little more than
    `20.0 MB` does not read like it."""
    return f"{count / 1_000_000:.1f} MB"


def format_tokens(count: int) -> str:
    """Format a number of tokens: `950`, `12.3k`, `1.25M`."""
    if count < 1_000:
        return str(count)
    if count < 999_500:
        return f"{count / 1_000:.1f}k" if count < 99_950 else f"{count / 1_000:.0f}k"
    return f"{count / 1_000_000:.2f}M"


def format_confidence(confidence: float) -> str:
    """Format how sure a reviewer is, from 0 to 1, as in `0.9` and `0.79`.

    More than two digits are cut, never rounded up: what is below a threshold is not shown as if it reached it.
    """
    hundredths = int(confidence * 100 + _FLOAT_ERROR)
    return f"{hundredths / 100:.2f}".removesuffix("0")


def format_elapsed(seconds: float) -> str:
    """Format how long something has taken so far, in whole seconds: `12 s`, `2 min 05 s`."""
    whole = max(int(seconds), 0)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"


def format_duration(seconds: float) -> str:
    """Format a duration given in seconds: `12 ms`, `3.2 s`, `2 min 05 s`."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    return format_elapsed(seconds)

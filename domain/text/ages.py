"""How long ago something was, and where, in a few letters."""

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

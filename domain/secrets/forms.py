"""How secrets differ from words, names and paths, judging by their characters alone."""

from __future__ import annotations

import re
from itertools import pairwise

from domain.text.late_pattern import compile_late

_RUNS = compile_late(r"[A-Za-z0-9]+")
_NAMED = compile_late(r"[A-Za-z_]\w*(?:[.:-]+\w+)*\Z")
_UUID = compile_late(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_STAND_IN = compile_late(
    r"\A[$%&*<\[{#@/~.]|\.\.\.|\*\*\*|x{4}|0{6}|123456789|:\/\/"
    r"|your|example|placeholder|change.?me|redacted|masked|dummy|not.?a.?real",
    re.IGNORECASE,
)


def is_mixed(value: str) -> bool:
    """Whether letters and digits are mixed as they are in keys, and not as in words that are joined."""
    return (
        any(character.isdigit() for character in value)
        and max((len(run) for run in _RUNS.findall(value)), default=0) >= 10
    )


def is_random(value: str) -> bool:
    """Whether nobody would have thought of this: letters and digits that take turns in one long run."""
    run = max(_RUNS.findall(value), key=len, default="")
    return len(run) >= 12 and sum(one.isdigit() != other.isdigit() for one, other in pairwise(run)) >= 3


def is_stand_in(value: str) -> bool:
    """Whether this stands where a secret would: a variable, a path, a row of x, "your-key"."""
    return _STAND_IN.search(value) is not None


def is_assigned_secret(value: str, *, name: str, quoted: bool) -> bool:
    """Whether a value behind a telling name is a secret, not code, a word or something that stands for one."""
    if is_stand_in(value) or value.isalpha() or not any(character.isdigit() for character in value):
        return False
    if name.lower().startswith("pass"):
        return quoted or name.isupper() or not _NAMED.match(value) or is_random(value)
    if _UUID.match(value) or (not quoted and "." in value and _NAMED.match(value)):
        return False
    return is_random(value)

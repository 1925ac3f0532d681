"""The ids of sessions, and how many of their letters tell them apart.

That of a subagent is that of the session it works for, `-t`, and its number in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_SHORTEST = 8
_ID = re.compile(r"(?P<owner>.+)-t[1-9]\d{0,5}", re.DOTALL | re.ASCII)


def build_subagent_id(owner: str, number: int) -> str:
    """The id of the session of a subagent; `number` counts those of its owner from 1."""
    return f"{owner}-t{number}"


def find_owner(session_id: str) -> str | None:
    """The session that this one's agent worked for; None where it is no subagent's."""
    found = _ID.fullmatch(session_id)
    return found["owner"] if found is not None else None


def compute_id_length(ids: Sequence[str]) -> int:
    """How many letters of these ids tell each from every other."""
    shared = (_count_shared(one, other) for one, other in pairwise(sorted(set(ids))))
    return max(_SHORTEST, 1 + max(shared, default=0))


def _count_shared(one: str, other: str) -> int:
    """How many letters two texts begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))

"""The ids of subagents' sessions: that of the session they work for, `-t`, and their number in it."""

from __future__ import annotations

import re

_ID = re.compile(r"(?P<owner>.+)-t[1-9]\d{0,5}", re.DOTALL | re.ASCII)


def build_subagent_id(owner: str, number: int) -> str:
    """The id of the session of a subagent; `number` counts those of its owner from 1."""
    return f"{owner}-t{number}"


def find_owner(session_id: str) -> str | None:
    """The session that this one's agent worked for; None where it is no subagent's."""
    found = _ID.fullmatch(session_id)
    return found["owner"] if found is not None else None

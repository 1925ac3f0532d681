"""What a session is for."""

from __future__ import annotations

from enum import StrEnum


class SessionKind(StrEnum):
    """How models and a person work together. In `ask` the model has tools that only look; in `discuss` several
    models answer without tools, and a moderator makes one text of it; in `debate` they object to the answer of
    one of them; in `review` several review a change."""

    AGENT = "agent"
    ASK = "ask"
    DISCUSS = "discuss"
    DEBATE = "debate"
    REVIEW = "review"

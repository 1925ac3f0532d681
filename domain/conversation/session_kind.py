"""What a session is for."""

from __future__ import annotations

from enum import StrEnum


class SessionKind(StrEnum):
    """How a model and a person work together. In `ask` the model has tools that only look."""

    AGENT = "agent"
    ASK = "ask"

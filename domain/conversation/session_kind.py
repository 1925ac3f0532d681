"""What a session is for."""

from __future__ import annotations

from enum import StrEnum


class SessionKind(StrEnum):
    """How models and a person work together. In `external` an agent of another vendor works. In `ask` the model
    has tools that only look; in `discuss` several models answer without tools, and a moderator makes one text
    of it; in `debate` they object to the answer of one of them; in `review` several review a change."""

    AGENT = "agent"
    EXTERNAL = "external"
    ASK = "ask"
    DISCUSS = "discuss"
    DEBATE = "debate"
    REVIEW = "review"

    @property
    def has_one_model(self) -> bool:
        return self in (SessionKind.AGENT, SessionKind.ASK)

    @property
    def asks_several(self) -> bool:
        return self in (SessionKind.DISCUSS, SessionKind.DEBATE, SessionKind.REVIEW)


def name_external_model(agent: str) -> str:
    """What stands for the model in a session in which the agent of this name works."""
    return f"agent/{agent}"

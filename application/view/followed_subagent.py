"""A subagent as the view of its owner's session knows it."""

from __future__ import annotations

from msgspec import Struct, field

from quorum.domain.text.json_value import JsonObject


class FollowedSubagent(Struct, kw_only=True):
    """The session in which a task is done. `events` are those that happened while it works in this process, as
    JSON, oldest first; once it has ended they are on its record alone, and `is_live` ends."""

    session_id: str
    prompt: str
    agent: str = ""
    is_live: bool = False
    events: list[JsonObject] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Who it is and what it is about, on one line."""
        return " ".join(f"task {self.agent}".split()) + f": {' '.join(self.prompt.split())}"

    def end(self) -> None:
        """It works no more. Whoever shows the events keeps the list that they have."""
        self.is_live, self.events = False, []

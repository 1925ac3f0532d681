"""What a participant does before it answers in fields: what it looks at, what that costs, and what is shown."""

from __future__ import annotations

from decimal import Decimal

from quorum.application.events.event_bus import EventBus
from quorum.application.ports.answer_tools import AnswerTools
from quorum.application.ports.changes import OpenTools
from quorum.domain.calls.execution import Outcome
from quorum.domain.conversation.response import Usage
from quorum.domain.events.event import AnswerProgressed, ReviewerLooked
from quorum.domain.text.json_value import JsonObject


class ParticipantWork:
    """The work of the participant with this label. `usage` and `cost_usd` are of all its requests so far; the
    cost is None where that of any is not known."""

    def __init__(self, events: EventBus, panel_id: str, label: str) -> None:
        self._events = events
        self._panel_id = panel_id
        self._label = label
        self.usage = Usage()
        self.cost_usd: Decimal | None = Decimal(0)

    def add(self, usage: Usage, cost_usd: Decimal | None) -> None:
        """Count a request."""
        self.usage = self.usage + usage
        self.cost_usd = None if self.cost_usd is None or cost_usd is None else self.cost_usd + cost_usd

    def open_tools(self, open_tools: OpenTools | None) -> AnswerTools | None:
        """Tools that only look, each call of which is recorded and shown; None where there are none."""
        if open_tools is None:
            return None

        def note(tool: str, arguments: JsonObject, outcome: Outcome, characters: int) -> None:
            self._events.note(
                ReviewerLooked(
                    panel_id=self._panel_id,
                    label=self._label,
                    tool=tool,
                    arguments=arguments,
                    outcome=outcome,
                    characters=characters,
                )
            )
            named = arguments.get("path") or arguments.get("pattern") or ""
            self.show(f"{tool} {named}".strip())

        return open_tools(note)

    def show(self, text: str) -> None:
        self._events.show(
            AnswerProgressed(panel_id=self._panel_id, label=self._label, text=text, characters=len(text))
        )

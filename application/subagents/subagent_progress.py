"""What a subagent does now, by the events of its session."""

from __future__ import annotations

from collections import deque
from decimal import Decimal

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.conversation.cost import Spending
from quorum.domain.events.event import (
    CallFinished,
    CallQueued,
    CallStarted,
    Event,
    ResponseCompleted,
    RetryScheduled,
    ReviewRequested,
    SessionStarted,
    TextDelta,
    TurnFinished,
    UsageCounted,
)
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject

_LONGEST_SUBJECT = 60
_KEPT_LINES = 20
# The arguments that tell best what a call is about.
_SUBJECTS = ("path", "command", "pattern", "url", "query", "name", "blob_id")


class SubagentProgress:
    """Keeps up with a subagent. `doing` is what it does now; `tools` are the calls that run, oldest first.

    `lines` are the last lines that it has said, of which the last may still grow.
    """

    def __init__(self) -> None:
        self.model = ""
        self.answers = 0
        self.spending = Spending()
        self.is_asking = False
        self.is_over = False
        self.lines: deque[str] = deque([""], maxlen=_KEPT_LINES)
        self._running: dict[ToolExecutionContext, str] = {}
        self._is_waiting = False

    def apply(self, event: Event) -> None:
        match event:
            case SessionStarted(model=model):
                self.model = model
            case TextDelta(text=text):
                self._say(text)
            case ResponseCompleted():
                self.answers += 1
                self._is_waiting = False
                if self.lines[-1]:
                    self.lines.append("")
            case RetryScheduled():
                self._is_waiting = True
            case CallStarted():
                self.is_asking = False
                self._running[event.context] = describe_call(event.tool, event.arguments)
            case CallFinished():
                self.is_asking = False
                self._running.pop(event.context, None)
            case CallQueued(waiting_for=waiting_for):
                self.is_asking = waiting_for == "review"
            case ReviewRequested():
                self.is_asking = True
            case UsageCounted():
                self.spending = event.add_to(self.spending)
            case TurnFinished():
                self.is_over = True
                self.is_asking = False
                self._running.clear()
            case _:
                return

    def _say(self, text: str) -> None:
        first, *rest = text.split("\n")
        self.lines[-1] += first
        self.lines.extend(rest)

    @property
    def doing(self) -> str:
        """What it does now, in a few words."""
        if self.is_over:
            return "done"
        if self.is_asking:
            return "waits for your review"
        if self._running:
            others = len(self._running) - 1
            last = list(self._running.values())[-1]
            return f"{last} (and {others} more)" if others else last
        return "waits for the model to be there again" if self._is_waiting else "thinks"

    @property
    def amounts(self) -> str:
        """What it used so far."""
        usage = self.spending.usage
        parts = [format_amount(self.answers, "answer"), format_amount(usage.context, "token")]
        cost: Decimal | None = self.spending.cost_usd
        return " · ".join([*parts, f"${cost:,.2f}"] if cost else parts)

    @property
    def sentence(self) -> str:
        """Both, on one line."""
        return f"{self.doing} · {self.amounts}"


def describe_call(tool: str, arguments: JsonObject) -> str:
    """A call in a few words: its tool, and what it is about."""
    named = (arguments.get(name) for name in _SUBJECTS)
    subject = next((" ".join(each.split()) for each in named if isinstance(each, str) and each.strip()), "")
    if len(subject) > _LONGEST_SUBJECT:
        subject = f"{subject[: _LONGEST_SUBJECT - 1]}…"
    return f"{format_tool_name(tool)} {subject}".rstrip()

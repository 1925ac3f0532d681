"""What the calls of one batch share: the plan, and the packets approved ahead of their turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from application.event_stream import EventStream
from application.ports import ToolSchemaPort
from application.review import Review
from domain.execution import ToolStatus
from domain.plan import Plan, PlannedCall, Planner

if TYPE_CHECKING:
    from application.call_run import CallRun


class BatchState:
    """The calls of a batch, who follows whom, and what was approved with "the rest"."""

    def __init__(
        self, *, events: EventStream, review: Review, schema: ToolSchemaPort, planner: Planner, cwd: str
    ) -> None:
        self.events = events
        self.review = review
        self.schema = schema
        self.cwd = cwd
        self.approved_ahead: frozenset[str] = frozenset()
        self._planner = planner
        self._calls: Sequence[CallRun] = ()
        self._plan: Plan = {}

    @property
    def size(self) -> int:
        """How many calls the batch has."""
        return len(self._calls)

    def open(self, calls: Sequence[CallRun]) -> None:
        """Take the calls in, and plan them."""
        self._calls = calls
        self.plan()

    def plan(self) -> None:
        """Decide who follows whom, from what the calls would touch as things stand now."""
        self._plan = self._planner(
            [
                PlannedCall(index=call.context.call_index, access=call.access, risk=call.risk)
                for call in self._calls
                if not call.invalid
            ]
        )

    def plan_again(self) -> None:
        """After an exclusive call: links may point elsewhere, so every waiting call is placed anew."""
        for call in self._calls:
            call.refresh_access()
        self.plan()

    def follows(self, call: CallRun) -> frozenset[int]:
        """The indices of the calls that this one follows."""
        return self._plan.get(call.context.call_index, frozenset())

    def unfinished_before(self, call: CallRun) -> list[CallRun]:
        """Those of them that have not ended."""
        wanted = self.follows(call)
        return [c for c in self._calls if c.context.call_index in wanted and not c.ended.is_set()]

    def waiting_after(self, call: CallRun) -> list[CallRun]:
        """Later calls that have not begun."""
        later = self._calls[self._calls.index(call) + 1 :]
        return [c for c in later if not c.invalid and c.execution.status is ToolStatus.QUEUED]

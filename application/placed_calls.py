"""The calls of one answer as the runtime takes them: each in its place, in a batch of its own."""

from __future__ import annotations

from collections.abc import Sequence

from application.identifiers import new_id
from application.tool_runtime import ToolBatch
from domain.execution import Outcome, ToolExecutionContext
from domain.report import CallRecord
from domain.review import DecisionLabel
from domain.tool import ToolCall, ToolResultMessage


def batch_of(calls: Sequence[ToolCall], *, turn_index: int, task: str) -> ToolBatch:
    """The calls as a batch that is to be run; `task` is what the person asked for."""
    batch_id = new_id()
    placed = tuple(zip(_contexts(calls, batch_id, turn_index), calls, strict=True))
    return ToolBatch(id=batch_id, calls=placed, task=task)


def not_run(
    calls: Sequence[ToolCall], told: str, *, turn_index: int
) -> tuple[list[CallRecord], list[ToolResultMessage]]:
    """Records and synthetic results of calls that no batch will run; `told` is what the model reads."""
    records = [
        CallRecord(context=context, tool=call.tool_name, outcome=Outcome.NOT_RUN, decision=DecisionLabel.NONE)
        for context, call in zip(_contexts(calls, new_id(), turn_index), calls, strict=True)
    ]
    results = [
        ToolResultMessage(tool_use_id=call.native_id, tool_name=call.tool_name, output=told, is_error=True)
        for call in calls
    ]
    return records, results


def _contexts(calls: Sequence[ToolCall], batch_id: str, turn_index: int) -> list[ToolExecutionContext]:
    return [
        ToolExecutionContext(call_id=call.native_id, batch_id=batch_id, call_index=index, turn_index=turn_index)
        for index, call in enumerate(calls)
    ]

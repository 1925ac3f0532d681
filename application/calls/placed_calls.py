"""The calls of one answer as the runtime takes them: each in its place, in a batch of its own."""

from __future__ import annotations

from collections.abc import Sequence

from application.calls.tool_runtime import ToolBatch
from application.identifiers import new_id
from domain.calls.execution import ToolExecutionContext
from domain.calls.tool import ToolCall


def batch_of(calls: Sequence[ToolCall], *, turn_index: int, task: str) -> ToolBatch:
    """The calls as a batch of their own; `task` is what the person asked for."""
    batch_id = new_id()
    placed = tuple(zip(_contexts(calls, batch_id, turn_index), calls, strict=True))
    return ToolBatch(id=batch_id, calls=placed, task=task)


def _contexts(calls: Sequence[ToolCall], batch_id: str, turn_index: int) -> list[ToolExecutionContext]:
    return [
        ToolExecutionContext(call_id=call.native_id, batch_id=batch_id, call_index=index, turn_index=turn_index)
        for index, call in enumerate(calls)
    ]

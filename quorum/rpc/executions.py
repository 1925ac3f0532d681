"""The calls of the newest batch, as their tracked records have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorum.domain.calls.execution import ToolExecution


def describe_execution(execution: ToolExecution, mask: Callable[[str], str]) -> dict[str, object]:
    """One call: what it waits for, whether it runs or how it ended, and what it reported last. `mask` takes
    secrets out of its texts."""
    waits_for = execution.waiting_for
    return {
        "call_id": execution.id,
        "call_index": execution.context.call_index,
        "tool": mask(execution.name),
        "status": execution.status.value,
        "waiting_for": [*waits_for] if isinstance(waits_for, tuple) else waits_for,
        "is_concurrency_safe": execution.is_concurrency_safe,
        "progress": mask(execution.progress[-1]) if execution.progress else "",
        "outcome": execution.outcome.value if execution.outcome is not None else None,
        "reasoning": mask(execution.call.reasoning or ""),
    }

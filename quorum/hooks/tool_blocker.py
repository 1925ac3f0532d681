"""Blocks tools by name."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from quorum.api import CallDraft, Continue, HookAnswer, Skip


class ToolBlocker:
    """Skips every call of a tool whose name fits one of the glob patterns in `tools`, such as "write_*"."""

    def __init__(self, tools: Sequence[str], reason: str = "this tool is blocked here") -> None:
        self._tools = tuple(tools)
        self._reason = reason

    async def before_tool_call(self, call: CallDraft) -> HookAnswer:
        """Skip with the reason, or continue."""
        if any(fnmatchcase(call.tool, pattern) for pattern in self._tools):
            return Skip(self._reason)
        return Continue()

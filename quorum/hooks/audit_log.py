"""Writes down what was sent, called and answered."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from quorum.api import (
    CallDraft,
    CompactionDraft,
    JsonValue,
    Message,
    Notification,
    PermissionRequest,
    RequestDraft,
    ResultDraft,
    SessionEnd,
    SessionStart,
    ToolExecutionContext,
)


def _read_utc_clock() -> datetime:
    return datetime.now(UTC)


class AuditLog:
    """Appends one line of JSON to `path` for everything it sees: time, event, and the call with its context.

    The file is made for its owner alone; a link in its place is refused, since a command may have made it. A
    line is one write, so several runs may share a file. Arguments are written whole, outputs by their length
    only; what must not be in a log is masked by a hook of a lower priority. Plain functions: they run in a
    thread.
    """

    def __init__(self, path: str, now: Callable[[], datetime] = _read_utc_clock) -> None:
        self._path = Path(path).expanduser()
        self._now = now

    def on_message_send(self, request: RequestDraft) -> None:
        """Write that a request was sent, with the number of its messages."""
        self._append("on_message_send", {"messages": len(request.messages)})

    def before_tool_call(self, call: CallDraft) -> None:
        """Write the call."""
        self._append(
            "before_tool_call",
            {
                **_build_identity(call.context),
                "tool": call.tool,
                "risk": call.risk.value,
                "arguments": call.arguments,
            },
        )

    def after_tool_call(self, result: ResultDraft) -> None:
        """Write how the call ended."""
        size = len(result.output.encode("utf-8", "replace"))
        self._append(
            "after_tool_call",
            {
                **_build_identity(result.context),
                "tool": result.tool,
                "outcome": result.outcome.value,
                "output_bytes": size,
            },
        )

    def on_turn_end(self, messages: Sequence[Message]) -> None:
        """Write that a turn ended."""
        self._append("on_turn_end", {"messages": len(messages)})

    def on_session_start(self, start: SessionStart) -> None:
        """Write that a session began, and how."""
        self._append("on_session_start", {"session_id": start.session_id, "source": start.source})

    def on_session_end(self, end: SessionEnd) -> None:
        """Write that a session ended, and why."""
        self._append("on_session_end", {"session_id": end.session_id, "reason": end.reason})

    def on_permission_request(self, request: PermissionRequest) -> None:
        """Write that a call is asked about."""
        self._append("on_permission_request", {**_build_identity(request.context), "tool": request.tool})

    def on_notification(self, notification: Notification) -> None:
        """Write what the person's attention was wanted for."""
        self._append("on_notification", {"kind": notification.kind})

    def on_compaction(self, compaction: CompactionDraft) -> None:
        """Write that a summary takes the place of messages."""
        self._append("on_compaction", {"trigger": compaction.trigger})

    def _append(self, event: str, fields: dict[str, JsonValue]) -> None:
        line = json.dumps({"time": self._now().isoformat(), "event": event, **fields}) + "\n"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(self._path, flags, 0o600)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise OSError(f"{self._path} is a link, which is not followed: name the file itself") from error
            raise
        with open(descriptor, "ab", buffering=0) as file:
            file.write(line.encode("ascii"))


def _build_identity(context: ToolExecutionContext) -> dict[str, JsonValue]:
    return {
        "call_id": context.call_id,
        "batch_id": context.batch_id,
        "call_index": context.call_index,
        "turn_index": context.turn_index,
    }

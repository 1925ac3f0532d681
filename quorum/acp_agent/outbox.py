"""The updates of one session on their way to the client, in order, and no more of them than it reads."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    SessionInfoUpdate,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    UserMessageChunk,
)

SessionUpdate: TypeAlias = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
)

_LONGEST_WAIT_SECS = 1.0


class Outbox:
    """Sends updates one after the other with `send`, which waits while the client does not read.

    What waits is merged: pieces of one message, and reports about one call. A client that is gone gets nothing,
    and holds up nobody. Nothing is sent before `open`.
    """

    def __init__(self, send: Callable[[SessionUpdate], Awaitable[None]]) -> None:
        self._send = send
        self._waiting: deque[SessionUpdate] = deque()
        self._calls: dict[str, ToolCallProgress] = {}
        self._begun: dict[str, asyncio.Event] = {}
        self._pump: asyncio.Task[None] | None = None
        self._is_open = False

    def open(self) -> None:
        """Send from now on, and first what was put before."""
        self._is_open = True
        self._begin()

    def put(self, update: SessionUpdate) -> None:
        """Have an update sent after those before it."""
        if not self._merge(update):
            self._waiting.append(update)
            if isinstance(update, ToolCallStart):
                self._find_beginning(update.tool_call_id).set()
            if isinstance(update, ToolCallProgress):
                self._calls[update.tool_call_id] = update
        self._begin()

    async def wait_for_call(self, call_id: str) -> None:
        """Wait until the call was put that an update is about, for a second at most: those of subagents come
        with what happened before them."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._find_beginning(call_id).wait(), _LONGEST_WAIT_SECS)

    def _find_beginning(self, call_id: str) -> asyncio.Event:
        return self._begun.setdefault(call_id, asyncio.Event())

    async def flush(self) -> None:
        """Wait until all that was put is sent, or can be sent to nobody."""
        while self._pump is not None:
            await asyncio.wait({self._pump})

    def _begin(self) -> None:
        if self._is_open and self._pump is None and self._waiting:
            self._pump = asyncio.get_running_loop().create_task(self._send_all(), name="acp-updates")

    async def _send_all(self) -> None:
        try:
            while self._waiting:
                update = self._waiting.popleft()
                if isinstance(update, ToolCallProgress):
                    self._calls.pop(update.tool_call_id, None)
                await self._send(update)
        except ConnectionError:
            self._is_open = False
            self._waiting.clear()
        finally:
            self._pump = None

    def _merge(self, update: SessionUpdate) -> bool:
        """Whether the update went into one that still waits."""
        if isinstance(update, ToolCallProgress):
            if (waiting := self._calls.get(update.tool_call_id)) is None:
                return False
            for name in update.model_fields_set - {"tool_call_id", "session_update"}:
                if (value := getattr(update, name)) is not None:
                    setattr(waiting, name, value)
            return True
        if not self._waiting or not isinstance(update, AgentMessageChunk | AgentThoughtChunk):
            return False
        last = self._waiting[-1]
        if type(last) is not type(update) or not isinstance(last, AgentMessageChunk | AgentThoughtChunk):
            return False
        if last.message_id != update.message_id:
            return False
        if not isinstance(last.content, TextContentBlock) or not isinstance(update.content, TextContentBlock):
            return False
        last.content.text += update.content.text
        return True

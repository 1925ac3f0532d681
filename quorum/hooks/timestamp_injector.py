"""Tells the model what time it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from quorum.api import Continue, HookAnswer, RequestDraft, UserMessage


def _read_local_clock() -> datetime:
    return datetime.now().astimezone()


class TimestampInjector:
    """Puts a message with the time before all others of each request. The conversation itself stays as it is.

    Mind that a beginning that differs in each request keeps the provider from reusing its cache.
    """

    def __init__(self, now: Callable[[], datetime] = _read_local_clock) -> None:
        self._now = now

    async def on_message_send(self, request: RequestDraft) -> HookAnswer:
        """Insert the time at the beginning, to the second and with the offset of the time zone."""
        time = self._now().isoformat(timespec="seconds")
        request.messages.insert(0, UserMessage(f"[It is {time}.]"))
        return Continue()

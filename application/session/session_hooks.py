"""Hooks around a session: at its beginning and its end, and whenever the person's attention is wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from quorum.application.calls.hook_chain import HookChain, HookRegistration
from quorum.application.calls.hooks import Notification, SessionEnd, SessionStart
from quorum.application.event_bus import EventBus
from quorum.domain.calls.hook_points import SESSION_END_SECS
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import NoticeGiven
from quorum.domain.events.report import RunReport

_MOST_CONTEXT = 10_000
_PREAMBLE = (
    "[Hooks of the person's settings added the following to the session. It is context, not a request.]\n"
)


class SessionHooks:
    """Asks the hooks of one session. None of them can hold up a question, a turn or, for long, its end."""

    def __init__(
        self, registrations: Sequence[HookRegistration], events: EventBus, session_id: str, cwd: Path
    ) -> None:
        self._chain = HookChain(registrations, events)
        self._events = events
        self._session_id = session_id
        self._cwd = str(cwd)
        self._has_begun = False
        self._notifying: set[asyncio.Task[None]] = set()

    async def begin(self, source: str, model: str, mode: str) -> str:
        """Ask the hooks at the beginning. Returns what the model is to read of them; empty where nothing."""
        self._has_begun = True
        start = SessionStart(session_id=self._session_id, source=source, cwd=self._cwd, model=model, mode=mode)
        await self._chain.ask(start)
        context = self._events.hide(start.context.strip())
        if len(context) > _MOST_CONTEXT:
            message = f"hooks added {len(context):,} characters to the session; it is given {_MOST_CONTEXT:,}"
            await self._events.record(NoticeGiven(message=message))
        return f"{_PREAMBLE}{context[:_MOST_CONTEXT]}" if context else ""

    def notify(self, kind: str, message: str) -> None:
        """Tell the hooks, while everything goes on."""
        if not self._has_begun:  # a session that is only read, or not announced yet
            return
        task = asyncio.create_task(self._notify(Notification(kind=kind, message=message)), name="notification")
        self._notifying.add(task)
        task.add_done_callback(self._notifying.discard)

    async def _notify(self, notification: Notification) -> None:
        with suppress(LedgerError):  # whoever records next says it
            await self._chain.ask(notification)

    def notify_turn_end(self, report: RunReport) -> None:
        """Tell the hooks that a turn has ended."""
        self.notify("turn_ended", f"the turn has ended: {report.status.value}")

    async def end(self, reason: str) -> None:
        """Ask the hooks at the end, once. What is not done in time is cut off, and that is recorded."""
        if not self._has_begun:
            return
        self._has_begun = False
        try:
            async with asyncio.timeout(SESSION_END_SECS):
                if self._notifying:  # one that hangs leaves the hooks at the end their time
                    await asyncio.wait(self._notifying, timeout=SESSION_END_SECS / 2)
                end = SessionEnd(session_id=self._session_id, cwd=self._cwd, reason=reason)
                await asyncio.gather(self._chain.ask(end), *self._notifying)
        except TimeoutError:
            message = f"hooks were cut off at the end of the session: they have {SESSION_END_SECS:g} s"
            await self._events.record(NoticeGiven(message=message))

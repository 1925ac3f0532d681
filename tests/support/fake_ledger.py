"""A record in memory, which fails when it is asked to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from quorum.application.identifiers import generate_id
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import Event


class FakeLedger:
    """Keeps what it is given in `events`, and tells `on_written`.

    While `trouble` is set, every append fails with it and waits.
    """

    def __init__(
        self, session_id: str | None = None, on_written: Callable[[Event], object] = lambda _event: None
    ) -> None:
        self.session_id = session_id or generate_id()
        self.events: list[Event] = []
        self.urgent: list[Event] = []
        self.waited_for: list[Event] = []
        self.trouble: str | None = None
        self.closed = False
        self._on_written = on_written
        self._waiting: list[Event] = []

    async def append(self, event: Event, *, urgent: bool = False, may_wait: bool = False) -> None:
        if self.closed:
            raise LedgerError("the record is closed")
        self._waiting.append(event)
        if not may_wait:
            self.waited_for.append(event)
        if urgent:
            self.urgent.append(event)
        written = asyncio.get_running_loop().create_future()
        written.add_done_callback(asyncio.Future.exception)  # also when nobody waits for it any more
        asyncio.get_running_loop().call_soon(self._write, written)
        await asyncio.shield(written)

    async def aclose(self) -> None:
        self.closed = True

    def _write(self, written: asyncio.Future[None]) -> None:
        if self.trouble is not None:
            written.set_exception(LedgerError(self.trouble))
            return
        self.events += self._waiting
        for event in self._waiting:
            self._on_written(event)
        self._waiting.clear()
        written.set_result(None)

"""The record of a subagent's session, from which its owner's record gets what concerns both."""

from __future__ import annotations

from quorum.application.events.event_bus import EventBus
from quorum.application.ports.storage import Ledger
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.events.event import EffectsObserved, Event, FilesKept, UsageCounted
from quorum.domain.replacing import replace


class LinkedLedger:
    """Implements `Ledger` over that of a subagent's session.

    What its calls do to files is on the record of its `owner` as well, as done by the call of `context` that
    gave the task: so an undo there gives the files back. What its requests cost counts there too.
    """

    def __init__(self, ledger: Ledger, owner: EventBus, context: ToolExecutionContext) -> None:
        self._ledger = ledger
        self._owner = owner
        self._context = context

    @property
    def session_id(self) -> str:
        """That of the subagent's session."""
        return self._ledger.session_id

    async def append(self, event: Event, *, urgent: bool = False) -> None:
        """Record the event; where the owner has to know of it, there first. Raises LedgerError."""
        match event:
            case FilesKept() | EffectsObserved():
                await self._owner.announce(replace(event, context=self._context), urgent=urgent)
            case UsageCounted():
                await self._owner.announce(event, urgent=urgent)
            case _:
                pass
        await self._ledger.append(event, urgent=urgent)

    async def aclose(self) -> None:
        """Write what waits, and let others write the subagent's session. Raises LedgerError."""
        await self._ledger.aclose()

"""What a session tells others and is told of them: of the one that opened it, and of those opened from it."""

from __future__ import annotations

from quorum.application.event_bus import EventBus
from quorum.application.identifiers import generate_id
from quorum.application.steering import PendingMessage, PendingMessages
from quorum.domain.conversation.exchanges import (
    ContextExtent,
    SessionResult,
    SharedContext,
    render_context,
    render_result,
)
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.events.event import ContextReceived, ResultReceived

_TITLE = 60


class SessionExchanges:
    """The exchanges of the session of this id and `kind`.

    What it is told waits among the `pending_messages` for the next request, also after a crash. It is there
    without secrets.
    """

    def __init__(
        self,
        session_id: str,
        *,
        kind: SessionKind,
        events: EventBus,
        pending_messages: PendingMessages,
    ) -> None:
        self._session_id = session_id
        self._kind = kind
        self._events = events
        self._pending_messages = pending_messages
        for note_id, note in events.state.unread_notes.items():
            self._put(note_id, note)

    @property
    def opener(self) -> str:
        """The id of the session that it was opened from; empty where it was opened from none."""
        return self._events.state.origin.session_id if self._events.state.origin is not None else ""

    @property
    def depth(self) -> int:
        """How many sessions it follows, each opened from the one before it."""
        return self._events.state.origin.depth if self._events.state.origin is not None else 0

    def share(self, extent: ContextExtent) -> SharedContext:
        """What a session that is opened from this one is told."""
        count, note = render_context(self._events.state.messages, extent)
        return SharedContext(
            session_id=self._session_id,
            title=self._title,
            extent=extent,
            exchanges=count,
            depth=self.depth + 1,
            note=None if note is None else self._events.hide(note),
        )

    @property
    def result(self) -> SessionResult | None:
        """Its last answer, for another session; None where it has none."""
        state = self._events.state
        if (note := render_result(state.messages, self._kind)) is None:
            return None
        return SessionResult(
            session_id=self._session_id,
            title=self._title,
            form=self._kind,
            responses=state.responses,
            note=self._events.hide(note),
        )

    def has(self, result: SessionResult) -> bool:
        """Whether this answer of another session was taken over."""
        return self._events.state.results.get(result.session_id, 0) >= result.responses

    async def receive_context(self, shared: SharedContext) -> None:
        """The session was opened from another one. Raises LedgerError."""
        received = ContextReceived(
            note_id=generate_id(),
            session_id=shared.session_id,
            title=shared.title,
            extent=shared.extent,
            exchanges=shared.exchanges,
            depth=shared.depth,
            note=shared.note,
        )
        await self._events.announce(received)
        if shared.note is not None:
            self._put(received.note_id, shared.note)

    async def receive_result(self, result: SessionResult) -> None:
        """Take over the last answer of another session. Raises LedgerError."""
        received = ResultReceived(
            note_id=generate_id(),
            session_id=result.session_id,
            title=result.title,
            form=result.form,
            responses=result.responses,
            note=result.note,
        )
        await self._events.announce(received)
        self._put(received.note_id, result.note)

    def _put(self, note_id: str, note: str) -> None:
        self._pending_messages.add(PendingMessage(UserMessage(note), note_id))

    @property
    def _title(self) -> str:
        """Its first prompt, on a short line."""
        prompt = next((turn.prompt for turn in self._events.state.turns if turn.prompt), "")
        line = " ".join(self._events.hide(prompt).split())
        return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"

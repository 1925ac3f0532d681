"""What a session was told of others, replayed from its events."""

from __future__ import annotations

from collections.abc import Mapping

from quorum.domain.events.subagents import ContextReceived, ResultReceived


class ReplayedExchanges:
    """Grows with a record. `origin` is what the session was told of the one that it was opened from."""

    def __init__(self) -> None:
        self.origin: ContextReceived | None = None
        self._unread: dict[str, str] = {}
        self._results: dict[str, int] = {}

    @property
    def unread(self) -> Mapping[str, str]:
        """By its id each text that the model has yet to read, oldest first."""
        return dict(self._unread)

    @property
    def results(self) -> Mapping[str, int]:
        """For each session whose answer was taken over, how many answers it had."""
        return dict(self._results)

    def apply(self, event: ContextReceived | ResultReceived) -> None:
        if event.note is not None:
            self._unread[event.note_id] = event.note
        match event:
            case ContextReceived():
                self.origin = event
            case ResultReceived():
                self._results[event.session_id] = event.responses

    def mark_as_read(self, note_id: str) -> None:
        self._unread.pop(note_id, None)

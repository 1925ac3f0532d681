"""What header, status bar and commands tell of a session, gathered from its events."""

from __future__ import annotations

import math
from collections.abc import Callable

from domain.errors import ProviderErrorKind
from domain.events.event import (
    ConversationCompacted,
    Event,
    MessageAdded,
    ModeChanged,
    ModelChanged,
    ResponseCompleted,
    RetryScheduled,
    SandboxChecked,
    SessionRewound,
    TurnStarted,
    UsageCounted,
)
from tui.screens.accounts.book import Book, in_short

_TICK_TOLERANCE_SECS = 0.1  # a tick that comes a little early has its second gone by all the same
_LONGEST_TITLE = 80
_IN_SHORT = {
    ProviderErrorKind.RATE_LIMIT: "rate limited",
    ProviderErrorKind.OVERLOADED: "overloaded",
    ProviderErrorKind.TIMEOUT: "no answer in time",
    ProviderErrorKind.CONNECTION: "no connection",
    ProviderErrorKind.DAMAGED_STREAM: "damaged answer",
}


class SessionFacts:
    """The facts as they are now. `clock` is in seconds."""

    def __init__(self, *, model: str, mode: str, clock: Callable[[], float]) -> None:
        self.model, self.mode = model, mode
        self.sandbox = ""  # until it is known
        self.title = "new"  # until there is a first prompt
        self.book = Book()
        self._clock = clock
        self._retry: RetryScheduled | None = None
        self._retry_at = 0.0

    def apply(self, event: Event) -> bool:
        """Take an event in; whether anything that is told has changed."""
        waited, self._retry = self._retry, None
        match event:
            case RetryScheduled():
                self._retry, self._retry_at = event, self._clock() + event.delay_secs
            case ModeChanged():
                self._retry, self.mode = waited, event.mode.value
            case ModelChanged():
                self.model = event.model
            case SandboxChecked():
                self._retry, self.sandbox = waited, "sandbox on" if event.on else "sandbox off"
            case UsageCounted():
                self.book.add(event)
            case TurnStarted():
                self.book.begin_turn()
                if self.title == "new" and event.prompt:
                    self.title = " ".join(event.prompt.split())[:_LONGEST_TITLE]
            case MessageAdded() if event.steers:
                pass  # it is not among what waits any more
            case ResponseCompleted() | ConversationCompacted() | SessionRewound():
                pass  # what is used of the context is another now
            case _:
                return waited is not None
        return True

    def end_past(self, *, model: str, mode: str) -> None:
        """What was heard so far happened before; this holds now."""
        self.model, self.mode, self.sandbox, self._retry = model, mode, "", None

    @property
    def used(self) -> str:
        """Tokens and cost so far, as `12.3k in · 1.2k out · $0.04`; empty where nothing was used."""
        return in_short(self.book.total)

    @property
    def retry(self) -> str:
        """What is waited for, as `rate limited, again in 12 s (2 of 2)`; empty where nothing is."""
        if (retry := self._retry) is None:
            return ""
        left = math.ceil(self._retry_at - self._clock() - _TICK_TOLERANCE_SECS)
        when = f"again in {left} s" if left > 0 else "trying again"
        of = f" of {retry.attempts}" if retry.attempts is not None else ""
        why = _IN_SHORT.get(retry.kind, "request failed") if retry.kind else "request failed"
        return f"{why}, {when} ({retry.attempt}{of})"

"""What header, status bar and commands tell of a session, in words."""

from __future__ import annotations

import math
from collections.abc import Callable

from quorum.application.view.status import Book, SessionStatus
from quorum.domain.conversation.effort import Effort, format_model
from quorum.domain.errors import ProviderErrorKind
from quorum.domain.events.event import RetryScheduled
from quorum.tui.screens.accounts.spending import format_cost, render_spending

_TICK_TOLERANCE_SECS = 0.1  # a tick that comes a little early has its second gone by all the same
_IN_SHORT = {
    ProviderErrorKind.RATE_LIMIT: "rate limited",
    ProviderErrorKind.OVERLOADED: "overloaded",
    ProviderErrorKind.TIMEOUT: "no answer in time",
    ProviderErrorKind.CONNECTION: "no connection",
    ProviderErrorKind.DAMAGED_STREAM: "damaged answer",
}


class SessionFacts:
    """The facts in words, as they are now. `clock` is in seconds."""

    def __init__(self, status: SessionStatus, *, clock: Callable[[], float]) -> None:
        self._status = status
        self._clock = clock
        self._seen = -1
        self._retry: RetryScheduled | None = None
        self._retry_at = 0.0

    def catch_up(self) -> bool:
        """Apply an event; returns whether anything shown has changed."""
        status = self._status
        if status.retry is not self._retry:
            self._retry = status.retry
            self._retry_at = self._clock() + (status.retry.delay_secs if status.retry else 0.0)
        seen, self._seen = self._seen, status.version
        return seen != status.version

    @property
    def model(self) -> str:
        """The model that answers, as "provider/model"."""
        return self._status.model

    @property
    def effort(self) -> str:
        """The reasoning effort that the model is asked for; empty where none is set."""
        effort = self._status.effort
        return effort.value if effort not in (None, Effort.DEFAULT) else ""

    @property
    def model_with_effort(self) -> str:
        """The model that answers, with its effort where one is set."""
        return format_model(self._status.model, self._status.effort)

    @property
    def mode(self) -> str:
        """The review mode."""
        return self._status.mode

    @property
    def title(self) -> str:
        """The first prompt; `new` until there is one."""
        return self._status.title or "new"

    @property
    def sandbox(self) -> str:
        """Whether commands run in a sandbox; empty until that is known."""
        return {True: "sandbox on", False: "sandbox off", None: ""}[self._status.sandbox]

    @property
    def book(self) -> Book:
        """What was used, by turn and by model."""
        return self._status.book

    @property
    def used(self) -> str:
        """Tokens and cost so far, as `12.3k in · 1.2k out · $0.04`; empty where nothing was used."""
        return render_spending(self._status.book.total)

    @property
    def cost(self) -> str:
        """The cost so far as `$0.04`; where no price is known the tokens, and nothing where none were used."""
        total = self._status.book.total
        return format_cost(total) or render_spending(total)

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

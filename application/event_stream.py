"""Carries every event: first onto the record, then to those who watch."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from application.cancellation import whole
from application.ports import Ledger, Observer
from domain.errors import LedgerError
from domain.events import ErrorOccurred, Event
from domain.masking import SecretMask
from domain.past_session import LedgerRecord
from domain.replay import Replay
from domain.session_state import SessionState
from domain.stream_masking import StreamMask

_log = logging.getLogger(__name__)


class EventStream:
    """The one way an event leaves the run.

    `announce` and `record` are for durable events and are awaited before what depends on them; `show` is for
    ephemeral ones. Whatever is kept or shown goes through the `mask` first. Observers hear of an event
    afterwards; one that fails is logged and can never fail the run. Without a ledger nothing outlives the
    process.
    """

    def __init__(
        self,
        observers: Sequence[Observer],
        *,
        ledger: Ledger | None = None,
        mask: SecretMask | None = None,
        past: Sequence[LedgerRecord] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._observers = tuple(observers)
        self._ledger = ledger
        self._mask = mask
        self._stream = StreamMask(mask) if mask is not None else None
        self._clock = clock
        self._replay = Replay()
        self._trouble_told = ""
        for record in past:
            if record.event is not None:
                self._replay.apply(record.event, record.at_ms)

    @property
    def state(self) -> SessionState:
        """The session as everything that happened so far has left it."""
        return self._replay.state

    def hide(self, text: str) -> str:
        """The text without the secrets that are known so far."""
        return text if self._mask is None else self._mask.text(text)

    async def announce(self, event: Event, *, urgent: bool = False) -> None:
        """Put on record what is about to happen. Raises LedgerError where that fails: it must not happen then.

        `urgent`: the record must survive a loss of power as well.
        """
        if (trouble := await whole(self._keep(event, urgent=urgent))) is not None:
            raise trouble

    async def record(self, event: Event) -> None:
        """Put on record what has happened. Where that fails it is told, once until it works again."""
        await whole(self._record(event))

    async def _record(self, event: Event) -> None:
        trouble = await self._keep(event, urgent=False)
        if trouble is not None and self._trouble_told != str(trouble):
            self._trouble_told = str(trouble)
            self.show(ErrorOccurred(message=self._trouble_told))

    def show(self, event: Event) -> None:
        """Tell the observers of an event that nothing depends on."""
        self._tell((event,) if self._stream is None else self._stream.push(event))

    def _tell(self, events: Sequence[Event]) -> None:
        for shown in events:
            for observer in self._observers:
                try:
                    observer.notify(shown)
                except Exception as error:  # noqa: BLE001 - a screen that breaks must not stop the work behind it
                    _log.error("an observer failed on %s", shown.type, exc_info=error)

    async def _keep(self, event: Event, *, urgent: bool) -> LedgerError | None:
        """The event on the ledger, in the state, and told; the trouble if it could not be written."""
        masked, trouble = event if self._mask is None else self._mask.event(event), None
        if self._ledger is not None:
            try:
                await self._ledger.append(masked, urgent=urgent)
            except LedgerError as error:
                trouble = error
        self._replay.apply(event, int(self._clock() * 1000))
        if trouble is None:
            self._trouble_told = ""
        if trouble is None or event != ErrorOccurred(message=str(trouble)):  # the same is told once
            held_back = () if self._stream is None else self._stream.flush()
            self._tell((*held_back, masked))
        return trouble

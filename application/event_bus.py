"""Carries every event: first onto the record, then to those who watch, in the order in which they happened.

What a model's session reports while an answer arrives becomes events as well (`StreamEvents`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import assert_never

from msgspec import Struct

from quorum.application.cancellation import wait_shielded
from quorum.application.ports.people import Observer
from quorum.application.ports.storage import Ledger
from quorum.domain.calls.effects import FileState
from quorum.domain.conversation import response
from quorum.domain.errors import EventRefused, LedgerError, explain_host_failure, explain_unforeseen
from quorum.domain.events import event as events
from quorum.domain.events.event import (
    CallStarted,
    ErrorOccurred,
    Event,
    FilesKept,
    QuorumConcluded,
    ReviewDecided,
    VoteCast,
)
from quorum.domain.events.masking import SecretMask, StreamMask
from quorum.domain.fact import PersonInput
from quorum.domain.plan.plan import SessionPhase
from quorum.domain.sessions.replay import Replay
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.sessions.state import SessionState
from quorum.domain.text.large import is_large


class StreamEvents:
    """Shows what a session tells while an answer arrives.

    Pieces of text that were read from the connection without waiting for it are shown as one: masking and
    drawing cost by the piece, and nobody sees them apart.
    """

    def __init__(self, show: Callable[[events.Event], None]) -> None:
        self._show = show
        self._texts: list[str] = []
        self._kind: type[events.TextDelta | events.ReasoningDelta] = events.TextDelta

    def add_event(self, event: response.StreamEvent) -> None:
        """Show it at the latest when the event loop comes round, and before anything that is taken later."""
        match event:
            case response.Delta(text):
                self._join(events.TextDelta, text)
            case response.StreamedReasoning(text):
                self._join(events.ReasoningDelta, text)
            case response.Completed() | response.CompletedResponse() | response.Error():
                self.flush()  # the answer ends here: the run tells how when that is recorded
            case _:
                self.flush()
                if (shown := translate_stream_event(event)) is not None:
                    self._show(shown)

    def flush(self) -> None:
        """Show the text that waits."""
        if self._texts:
            text, self._texts = "".join(self._texts), []
            self._show(self._kind(text=text))

    def _join(self, kind: type[events.TextDelta | events.ReasoningDelta], text: str) -> None:
        if kind is not self._kind:
            self.flush()
            self._kind = kind
        if not self._texts:
            asyncio.get_running_loop().call_soon(self.flush)
        self._texts.append(text)


def translate_stream_event(event: response.StreamEvent) -> events.Event | None:
    """The event to show for it; None where the run itself announces the same fact when it is recorded."""
    match event:
        case response.Delta(text):
            return events.TextDelta(text=text)
        case response.StreamedReasoning(text):
            return events.ReasoningDelta(text=text)
        case response.StreamedToolCall(index=index, id=id_, name=name, arguments_delta=delta):
            return events.ToolCallDelta(index=index, id=id_, name=name, arguments_delta=delta)
        case response.StreamedPromptProgress(read=read, total=total):
            return events.PromptProgressed(read=read, total=total)
        case response.StreamRetry():
            return events.RetryScheduled(
                attempt=event.attempt,
                delay_secs=event.delay_secs,
                reason=event.reason,
                attempts=event.attempts,
                kind=event.kind,
                is_loading=event.is_loading,
            )
        case response.StreamedUsage() | response.Completed() | response.CompletedResponse() | response.Error():
            return None
        case _:
            assert_never(event)


_log = logging.getLogger(__name__)
_BEFORE_A_CALL = (FilesKept, VoteCast, QuorumConcluded, ReviewDecided)
"""Of what is noted, that without which a call must not start."""


class _Leaving(Struct, eq=False):
    """An event on its way to the observers. `ready`: it is masked, and recorded or never will be.

    `before` is published ahead of it: the text of an answer that was held back until then, or its own text,
    masked, if it is not `is_published` itself. One that is not masked at once, or comes after such a one, has a
    `turn`, which ends when it is given to the ledger or, if it is only shown, masked.
    """

    event: Event
    ready: bool
    before: tuple[Event, ...] = ()
    is_published: bool = True
    masked: bool = True
    turn: asyncio.Event | None = None
    kept: asyncio.Future[LedgerError | None] | None = None


class EventBus:
    """The one way an event leaves the run.

    `announce`, `record` and `note` are for durable events; `show` is for ephemeral ones. Whatever is kept or
    shown goes through the `mask` first; what is large does so in a thread, and what happens meanwhile stays
    behind it. Observers get an event once it is recorded, and after all that happened before it; one that
    fails is logged and can never fail the run. Without a ledger nothing outlives the process. `list_accounts`
    names those of the people whose words are told here.
    """

    def __init__(
        self,
        observers: Sequence[Observer],
        *,
        ledger: Ledger | None = None,
        mask: SecretMask | None = None,
        past: Sequence[LedgerRecord] = (),
        list_accounts: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._list_accounts = list_accounts
        self._observers = tuple(observers)
        self._ledger = ledger
        self._mask = mask
        self._stream = StreamMask(mask) if mask is not None else None
        self._replay = Replay()
        self._reported_trouble = ""
        self._unrecorded: dict[str, EventRefused] = {}  # by call: why what it depends on is not on record
        self.trouble = ""
        """Why the last event that was to be recorded is not; empty where it is."""
        self._leaving: deque[_Leaving] = deque()
        self._last_turn: asyncio.Event | None = None  # of the last event that had to wait for its own
        self._last_streamed: asyncio.Event | None = None  # of the last one that changes the stream in it
        for record in past:
            if record.event is not None:
                self._replay.apply(record.event, record.at_ms)

    def open_another(self, ledger: Ledger, past: Sequence[LedgerRecord]) -> EventBus:
        """One for the record of another session, behind the same mask."""
        return EventBus((), ledger=ledger, mask=self._mask, past=past)

    @property
    def state(self) -> SessionState:
        """The session as everything that happened so far has left it."""
        return self._replay.state

    @property
    def phase(self) -> SessionPhase:
        """Whether a plan is being made, and which one is in force. It may be read in any thread."""
        return self._replay.phase

    @property
    def own_files(self) -> Mapping[str, FileState]:
        """The files that the session made and nobody else is known to have changed, each as it was left."""
        return self._replay.own_files

    @property
    def askers(self) -> frozenset[str]:
        """The accounts of all who have said something into the session, and of those who can now."""
        return self._replay.askers.union(self._list_accounts())

    def hide(self, text: str) -> str:
        """The text without the secrets that are known so far."""
        return text if self._mask is None else self._mask.mask_text(text)

    async def announce(self, event: Event, *, urgent: bool = False) -> None:
        """Record what is about to happen. Raises LedgerError where that fails, or something that was noted of
        this call never will be on the record: it must not happen then.

        `urgent`: the record must survive a loss of power as well.
        """
        if kept := self._keep(event, urgent=urgent):
            trouble = await wait_shielded(kept)
            if trouble is None and isinstance(event, CallStarted):
                trouble = self._unrecorded.get(event.context.call_id)
            if trouble is not None:
                raise trouble

    async def record(self, event: Event) -> None:
        """Record what has happened. A failure is reported, once until it works again."""
        if kept := self._keep(event, complain=True):
            await wait_shielded(kept)

    def note(self, event: Event) -> None:
        """Record it too, without waiting: whatever is announced or recorded next waits for it as well, and is
        written with it."""
        self._keep(event, complain=True, may_wait=True)

    async def settle(self) -> None:
        """Wait until everything noted so far is recorded, or its failure reported."""
        if kept := [leaving.kept for leaving in self._leaving if leaving.kept is not None]:
            await asyncio.wait(kept)

    def show(self, event: Event) -> None:
        """Tell the observers of an event that nothing depends on."""
        if self._stream is not None and (_is_under_way(self._last_streamed) or is_large(event)):
            leaving, before = _Leaving(event, ready=False, is_published=False, masked=False), self._last_turn
            leaving.turn = self._last_turn = self._last_streamed = asyncio.Event()
            self._leaving.append(leaving)
            leaving.kept = asyncio.create_task(self._show_in_turn(self._stream, leaving, before))
            return
        shown = (event,) if self._stream is None else self._stream.push(event)
        self._leaving += (_Leaving(each, ready=True) for each in shown)
        self._tell()

    def _keep(
        self, event: Event, *, urgent: bool = False, complain: bool = False, may_wait: bool = False
    ) -> asyncio.Future[LedgerError | None] | None:
        """Have the event in the state and on its way onto the ledger, if there is one, behind all before it."""
        if isinstance(event, PersonInput) and (accounts := self._list_accounts()):
            event = event.name_asker(accounts)
        leaving = _Leaving(event, ready=False, masked=self._mask is None or not is_large(event))
        if self._mask is not None and leaving.masked:
            leaving.event = self._mask.mask_event(event)
        self._replay.apply(event, int(time.time() * 1000))
        flushes_later = _is_under_way(self._last_streamed)
        held_back = () if self._stream is None or flushes_later else self._stream.flush()
        self._leaving += (*(_Leaving(each, ready=True) for each in held_back), leaving)
        before = self._last_turn
        if not leaving.masked or _is_under_way(before):
            leaving.turn = self._last_turn = asyncio.Event()
            if flushes_later:
                self._last_streamed = leaving.turn
            leaving.kept = asyncio.create_task(
                self._append_in_turn(
                    leaving, before, flushes_later, urgent=urgent, complain=complain, may_wait=may_wait
                )
            )
        elif self._ledger is not None:
            leaving.kept = self._append(
                self._ledger, leaving, urgent=urgent, complain=complain, may_wait=may_wait
            )
        else:
            leaving.ready = True
        self._tell()
        return leaving.kept

    async def _show_in_turn(
        self, stream: StreamMask, leaving: _Leaving, before: asyncio.Event | None
    ) -> LedgerError | None:
        """Mask a piece of an answer in a thread, after those `before` it. There is never trouble."""
        try:
            if before is not None:
                await before.wait()
            leaving.before = await asyncio.to_thread(stream.push, leaving.event)
            leaving.ready = True
        except BaseException:
            self._leaving.remove(leaving)  # what comes after it is not held up
            raise
        finally:
            if leaving.turn is not None:
                leaving.turn.set()
        self._tell()
        return None

    async def _append_in_turn(
        self,
        leaving: _Leaving,
        before: asyncio.Event | None,
        flushes: bool,
        *,
        urgent: bool,
        complain: bool,
        may_wait: bool,
    ) -> LedgerError | None:
        """Mask an event in a thread, if it is not masked, and give it to the ledger after those `before` it.

        `flushes`: the text of an answer that is held back then is published ahead of it.
        """
        try:
            if not leaving.masked and self._mask is not None:
                leaving.event = await asyncio.to_thread(self._mask.mask_event, leaving.event)
            if before is not None:
                await before.wait()
            if flushes and self._stream is not None:
                leaving.before = self._stream.flush()
        except BaseException as error:
            self._leaving.remove(leaving)  # what comes after it is not held up
            if not (may_wait and isinstance(error, Exception)):
                raise
            return self._refuse(leaving.event, error)
        finally:
            if leaving.turn is not None:
                leaving.turn.set()  # the next runs after this step, in which this one is given to the ledger
        if self._ledger is not None:
            return await self._append(
                self._ledger, leaving, urgent=urgent, complain=complain, may_wait=may_wait
            )
        leaving.ready = True
        self._tell()
        return None

    def _append(
        self, ledger: Ledger, leaving: _Leaving, *, urgent: bool, complain: bool, may_wait: bool
    ) -> asyncio.Future[LedgerError | None]:
        """Give an event to the ledger; the trouble if it could not be written."""
        kept: asyncio.Future[LedgerError | None] = asyncio.get_running_loop().create_future()

        def conclude(written: asyncio.Future[None]) -> None:
            error = asyncio.CancelledError() if written.cancelled() else written.exception()
            if error is None or isinstance(error, LedgerError):
                self._note_written(leaving, error, complain=complain)
            else:
                self._leaving.remove(leaving)  # what comes after it is not held up
                if may_wait and isinstance(error, Exception):
                    error = self._refuse(leaving.event, error)  # nobody else hears of it
            if kept.done():
                return  # whoever waited for it was cancelled
            if error is None or isinstance(error, LedgerError):
                kept.set_result(error)
            else:
                kept.set_exception(error)

        written: asyncio.Future[None]
        try:
            written = asyncio.ensure_future(ledger.append(leaving.event, urgent=urgent, may_wait=may_wait))
        except Exception as error:  # noqa: BLE001 - whoever waits must get it, whatever it is
            written = asyncio.get_running_loop().create_future()
            written.set_exception(error)
        written.add_done_callback(conclude)
        return kept

    def _note_written(self, leaving: _Leaving, trouble: LedgerError | None, *, complain: bool) -> None:
        if trouble is None:
            self._reported_trouble = self.trouble = ""
        else:
            self.trouble = str(trouble)
            self._remember(leaving.event, trouble)
            if leaving.event == ErrorOccurred(message=self.trouble):
                leaving.is_published = False  # the same is reported once
        leaving.ready = True
        self._tell()
        if complain and trouble is not None:
            self._complain(trouble)

    def _refuse(self, event: Event, error: Exception) -> EventRefused:
        """Say that an event that was noted is not on record, and never will be."""
        why = explain_host_failure(error) or explain_unforeseen(error)
        refused = EventRefused(f"{event.type} cannot be recorded: {why}")
        self.trouble = str(refused)
        self._remember(event, refused)
        self._tell()
        self._complain(refused)
        return refused

    def _remember(self, event: Event, trouble: LedgerError) -> None:
        if isinstance(trouble, EventRefused) and isinstance(event, _BEFORE_A_CALL):
            self._unrecorded[event.context.call_id] = trouble

    def _complain(self, trouble: LedgerError) -> None:
        if self._reported_trouble != str(trouble):
            self._reported_trouble = str(trouble)
            self.show(ErrorOccurred(message=self._reported_trouble))

    def _tell(self) -> None:
        """Tell of everything before which nothing is on its way."""
        while self._leaving and self._leaving[0].ready:
            leaving = self._leaving.popleft()
            for event in (*leaving.before, leaving.event) if leaving.is_published else leaving.before:
                self._notify(event)

    def _notify(self, event: Event) -> None:
        for observer in self._observers:
            try:
                observer.notify(event)
            except Exception as error:  # noqa: BLE001 - a screen that breaks must not stop the work behind it
                _log.error("an observer failed on %s", event.type, exc_info=error)


def _is_under_way(turn: asyncio.Event | None) -> bool:
    return turn is not None and not turn.is_set()

"""Blocking work of tools: in a thread that is never abandoned, and that notices when it should stop."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import ClassVar, TypeVar

from quorum.domain.calls.execution import CallControls

_Result = TypeVar("_Result")


class Stopped(Exception):
    """The work noticed that it should stop, and has had no effect."""


class Stop:
    """Tells blocking work whether to continue. Safe to use from any thread."""

    def __init__(self, controls: CallControls | None = None) -> None:
        self._controls = controls
        self._asked = threading.Event()

    def ask(self) -> None:
        """Make the next `check` raise."""
        self._asked.set()

    @property
    def is_asked(self) -> bool:
        """Whether the call is cancelled."""
        return self._asked.is_set() or (self._controls is not None and self._controls.cancelled)

    def wait(self, secs: float) -> None:
        """Wait so long, or until `ask` is called."""
        self._asked.wait(secs)

    def check(self) -> None:
        """Raises Stopped once the call is cancelled."""
        if self.is_asked:
            raise Stopped


_stop_of_work: ContextVar[Stop | None] = ContextVar("_stop_of_work", default=None)

PATIENCE_SECS = 60.0
"""How long a server that does not answer is waited for. A database fails over in less."""
_RETRY_SECS = 0.2
_TELL_SECS = 1.0
"""A shorter wait is not worth a word."""
_watchers: list[Callable[[str], None]] = []


@contextmanager
def watch_outages(tell: Callable[[str], None]) -> Iterator[None]:
    """Meanwhile `tell` is called, in any thread, with a sentence when a server is waited for, or is back."""
    _watchers.append(tell)
    try:
        yield
    finally:
        _watchers.remove(tell)


class Outage:
    """Since when a server does not answer, as all threads see it that wait for it."""

    most_secs: ClassVar[float] = math.inf
    """How long this process waits at most for any server: less where somebody else does not wait for it."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._since = self._last = -math.inf
        self._is_told = False
        self.patience_secs = 0.0

    @property
    def _patience(self) -> float:
        return min(self.patience_secs, self.most_secs)

    def outlast(
        self,
        work: Callable[[], _Result],
        lost: type[Exception],
        is_lost: Callable[[Exception], bool] = lambda _: True,
    ) -> _Result:
        """Do this in a thread; where it raises `lost` and that `is_lost`, wait and do it again, for as long as
        that is worth it.

        Raises Stopped once the work of `run_in_thread` that waits so is cancelled.
        """
        until = math.inf
        while True:
            began = time.monotonic()
            try:
                result = work()
            except lost as error:
                if not is_lost(error):
                    raise
                now = time.monotonic()
                # A server that is there and breaks each connection is not waited for without end, either.
                until = min(until, now + self._patience)
                if not self._note_failure(began, now) or now >= until:
                    raise
            else:
                self._note_answer()
                return result
            self._pause()

    def _pause(self) -> None:
        """Wait before the next try. Raises Stopped as `outlast` does."""
        if (stop := _stop_of_work.get()) is None:
            time.sleep(_RETRY_SECS)
        else:
            stop.wait(_RETRY_SECS)
            stop.check()

    def _note_failure(self, began: float, now: float) -> bool:
        """Whether the server is waited for still, after a try between these times."""
        with self._lock:
            if began - self._last > max(self._patience, _TELL_SECS):  # nobody has asked for so long
                self._since, self._is_told = now, False
            self._last = now
            is_waited_for = now - self._since < self._patience
            is_news = is_waited_for and not self._is_told and now - self._since >= _TELL_SECS
            self._is_told |= is_news
        if is_news:
            _tell_all(f"{self._place} does not answer; it is waited for, at most {self._patience:g} s")
        return is_waited_for

    def _note_answer(self) -> None:
        """The server answers."""
        if self._last == -math.inf:
            return
        with self._lock:
            is_news, self._is_told, self._last = self._is_told, False, -math.inf
        if is_news:
            _tell_all(f"{self._place} answers again")


def _tell_all(sentence: str) -> None:
    for tell in tuple(_watchers):
        tell(sentence)


async def run_in_thread(work: Callable[[Stop], _Result], controls: CallControls | None = None) -> _Result:
    """Run `work` in a thread, in the context of the caller, and wait for its end, also when cancelled.

    Work that finished returns its result although the call was cancelled, because its effect is real; work
    that stopped or failed after the cancellation ends in CancelledError.
    """
    stop = Stop(controls)

    def run() -> _Result:
        stop.check()
        _stop_of_work.set(stop)
        return work(stop)

    future = asyncio.get_running_loop().run_in_executor(None, copy_context().run, run)
    cancelled = False
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            cancelled = True
            stop.ask()
    try:
        return future.result()
    except Stopped as stopped:
        raise asyncio.CancelledError("the call was cancelled before it had an effect") from stopped
    except Exception as error:
        if cancelled:
            raise asyncio.CancelledError("the call was cancelled and failed") from error
        raise

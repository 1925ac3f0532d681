"""Blocking work of tools: in a thread that is never abandoned, and that notices when it should stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

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

    def check(self) -> None:
        """Raises Stopped once the call is cancelled."""
        if self.is_asked:
            raise Stopped


async def run_in_thread(work: Callable[[Stop], _Result], controls: CallControls | None = None) -> _Result:
    """Run `work` in a thread, in the context of the caller, and wait for its end, also when cancelled.

    Work that finished returns its result although the call was cancelled, because its effect is real; work
    that stopped or failed after the cancellation ends in CancelledError.
    """
    stop = Stop(controls)

    def run() -> _Result:
        stop.check()
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

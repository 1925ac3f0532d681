"""Runs work to its end in spite of a cancellation, and large work beside the event loop, in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import TypeVar

from quorum.domain.text.large import is_large

T = TypeVar("T")


def absorb_cancellation() -> None:
    """Take note of a cancellation of the current task and continue: the caller ends in its own way."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()


async def run_shielded(work: Coroutine[object, object, T]) -> T:
    """Run the work to its end, then raise a cancellation that arrived meanwhile. It must be bounded in time."""
    return await wait_shielded(asyncio.create_task(work))


async def postpone_cancellation(work: Coroutine[object, object, None]) -> None:
    """Run the work to its end; a cancellation that arrives meanwhile is raised where the caller waits next. The
    work must be bounded in time."""
    try:
        await run_shielded(work)
    except asyncio.CancelledError:
        absorb_cancellation()
        task = asyncio.current_task()
        assert task is not None
        task.cancel()


async def wait_shielded(task: asyncio.Future[T]) -> T:
    """Wait for what runs already, and only then be cancelled, as above."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as stop:
            cancelled = stop
    result = task.result()
    if cancelled is not None:
        raise cancelled
    return result


async def run_to_end(work: Coroutine[object, object, T]) -> T:
    """Run the work to its end even if the current task is cancelled. The work must be bounded in time."""
    task = asyncio.create_task(work)
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            absorb_cancellation()
    return task.result()


def raise_if_cancelled() -> None:
    """Raise the cancellation of this task that a step at its end has swallowed."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


_Result = TypeVar("_Result")


is_off_loop: ContextVar[bool] = ContextVar("is_off_loop", default=False)
"""Whether a task sees other files than the thread of the event loop: what looks at files never runs there."""


async def run_off_loop(work: Callable[[], _Result], *concerned: object) -> _Result:
    """Return the result of the work: run in a thread if one of the values concerned is large, or the task sees
    other files, else at once.

    Cancelled, it leaves the work to itself: it must have no effect.
    """
    return await asyncio.to_thread(work) if is_off_loop.get() or is_large(*concerned) else work()

"""Waiting for what is done in any case."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future
from typing import TypeVar, cast

_Result = TypeVar("_Result")


async def wait_to_the_end(work: Future[_Result] | Awaitable[_Result]) -> _Result:
    """What comes of the work. Cancelled, it leaves the work to itself, and what comes of it to nobody."""
    if isinstance(work, Future):
        future = asyncio.wrap_future(work)
        future.add_done_callback(_consume_exception)
        return await asyncio.shield(future)
    task = asyncio.ensure_future(_await_outcome(work))
    if isinstance(work, Coroutine):
        # Where the loop ends at this moment it never begins, and Python would print that.
        task.add_done_callback(lambda _: work.close())
    result, failure = await asyncio.shield(task)
    if failure is not None:
        raise failure
    return cast("_Result", result)


async def _await_outcome(work: Awaitable[_Result]) -> tuple[_Result | None, Exception | None]:
    """What comes of the work, or its failure: a task that fails when the loop ends would be printed by it."""
    try:
        return await work, None
    except Exception as failure:  # noqa: BLE001 - whoever waits gets it
        return None, failure


def _consume_exception(future: asyncio.Future[_Result]) -> None:
    # A failure that nobody waits for any more would be printed, over whatever is on the screen.
    if not future.cancelled():
        future.exception()

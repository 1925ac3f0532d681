"""Waiting for what is done in any case."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from concurrent.futures import Future
from typing import TypeVar

_Result = TypeVar("_Result")


async def to_the_end(work: Future[_Result] | Awaitable[_Result]) -> _Result:
    """What comes of the work. Cancelled, it leaves the work to itself, and what comes of it to nobody."""
    future = asyncio.wrap_future(work) if isinstance(work, Future) else asyncio.ensure_future(work)
    future.add_done_callback(_taken_note_of)
    return await asyncio.shield(future)


def _taken_note_of(future: asyncio.Future[_Result]) -> None:
    # A failure that nobody waits for any more would be printed, over whatever is on the screen.
    if not future.cancelled():
        future.exception()

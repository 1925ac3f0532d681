"""Work on what models ask for: it may be of any size, and the event loop has others to serve."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from quorum.domain.text.large import is_large

_Result = TypeVar("_Result")


async def run_off_loop(work: Callable[[], _Result], *concerned: object) -> _Result:
    """Return the result of the work: run in a thread if one of the values concerned is large, else at once.

    Cancelled, it leaves the work to itself: it must have no effect.
    """
    return await asyncio.to_thread(work) if is_large(*concerned) else work()

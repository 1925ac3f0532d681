"""Whose question is asked next: one at a time, that of the lowest call first."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class TurnByIndex:
    """A lock that goes, when free, to the waiter with the lowest index."""

    def __init__(self) -> None:
        self._held = False
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = 0

    @asynccontextmanager
    async def hold_turn(self, index: int) -> AsyncIterator[None]:
        """Hold the lock as the one with this index."""
        await self._acquire(index)
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, index: int) -> None:
        if not self._held:
            self._held = True
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arrivals += 1
        heapq.heappush(self._waiting, (index, self._arrivals, place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # the turn had just been given to us: pass it on
                self._release()
            raise

    def _release(self) -> None:
        while self._waiting:
            _, _, place = heapq.heappop(self._waiting)
            if not place.done():
                place.set_result(None)
                return
        self._held = False

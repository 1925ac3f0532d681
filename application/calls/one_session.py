"""Risky calls of several sessions in one workspace: those of one session at a time."""

from __future__ import annotations

import asyncio


class OneSession:
    """A place in front of a workspace, one for each session that works in it.

    All places of a workspace share a `door`. Calls of one session may be inside at the same time, as its plan
    lets them; those of another wait until the last of them has left.
    """

    def __init__(self, door: asyncio.Lock | None = None) -> None:
        self._door = door or asyncio.Lock()
        self._inside = 0
        self._entering = asyncio.Lock()

    def open_another(self) -> OneSession:
        """A place for another session in front of the same workspace."""
        return OneSession(self._door)

    async def enter(self) -> None:
        """Wait until no other session is inside."""
        async with self._entering:
            if not self._inside:
                await self._door.acquire()
            self._inside += 1

    def leave(self) -> None:
        """End what `enter` began."""
        self._inside -= 1
        if not self._inside:
            self._door.release()

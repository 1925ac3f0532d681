"""Reads a source of lines in threads, so that the screen never waits for a disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorum.application.ports.storage import LineSource


class Reader:
    """What is known of a source: `known` lines, and whether they are all (`complete`).

    Every method raises what the source raises. Cancelled, it answers nothing; a search that is under way in
    its thread then ends unheard.
    """

    def __init__(self, source: LineSource) -> None:
        self._source = source
        self.known = 0
        self.complete = False

    async def read_window(self, top: int, height: int) -> tuple[int, list[str]]:
        """`height` lines from `top` on, or the last ones if these are fewer, and the first one's number."""
        lines = await asyncio.to_thread(self._source.read_lines, top, height)
        if not self.complete and self.known < top + height:
            await self._count_on()
        if len(lines) < height and top > 0:
            await self.count(lambda: None)
            top = max(0, min(top, self.known - height))
            lines = await asyncio.to_thread(self._source.read_lines, top, height)
        return top, lines

    async def count(self, tell: Callable[[], None], enough: int | None = None) -> None:
        """Count until `enough` lines are known, or all are; `tell` is called after each piece of the way."""
        while not self.complete and (enough is None or self.known < enough):
            await self._count_on()
            tell()

    async def find(self, needle: str, start: int, *, backwards: bool) -> int | None:
        """The nearest line from `start` on that holds this very text."""
        return await asyncio.to_thread(self._source.find, needle, start, backwards=backwards)

    async def _count_on(self) -> None:
        self.known, self.complete = await asyncio.to_thread(self._source.count_so_far)

"""All of a stored output, read in a thread so that the screen never waits for a disk."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from application.ports.storage import LineSource

_LINES_AT_ONCE = 2_000
MOST_CHARACTERS = 20_000_000


async def whole_output(source: LineSource) -> tuple[str, bool]:
    """The text, and whether that is all: it ends after 20 million characters. Raises what the source raises."""
    return await asyncio.to_thread(_read, source)


def _read(source: LineSource) -> tuple[str, bool]:
    lines: list[str] = []
    room = MOST_CHARACTERS
    while more := source.lines(len(lines), _LINES_AT_ONCE):
        lines += more
        room -= sum(map(len, more))
        if room < 0:
            return "\n".join(lines), False
    return "\n".join(lines), True

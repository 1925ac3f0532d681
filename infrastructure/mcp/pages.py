"""Lists of an MCP server, which it gives page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeVar

_MOST_PAGES = 20


class Page(Protocol):
    """A part of a list; `next_cursor` leads to the next one, and is empty at the end."""

    @property
    def next_cursor(self) -> str | None: ...


_Page = TypeVar("_Page", bound=Page)


async def iterate_pages(fetch: Callable[[str | None], Awaitable[_Page]]) -> AsyncIterator[_Page]:
    """The pages that `fetch` answers for a cursor, None for the first; 20 at the most."""
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await fetch(cursor)
        yield page
        cursor = page.next_cursor
        if not cursor:
            return

"""Lists of an MCP server, which it gives page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeVar

_MOST_PAGES = 200


class Page(Protocol):
    """A part of a list; `next_cursor` leads to the next one, and is empty at the end."""

    @property
    def next_cursor(self) -> str | None: ...


_Page = TypeVar("_Page", bound=Page)


async def iterate_pages(
    fetch: Callable[[str | None], Awaitable[_Page]], notices: list[str]
) -> AsyncIterator[_Page]:
    """The pages that `fetch` answers for a cursor, None for the first; 200 at the most.

    An end before the list's own goes to `notices`: pages that go in a circle, or one that fails after others.
    """
    from mcp.shared.exceptions import MCPError

    cursor: str | None = None
    seen: set[str] = set()
    for count in range(_MOST_PAGES):
        try:
            page = await fetch(cursor)
        except (MCPError, ValueError) as error:
            if not count:
                raise
            notices.append(f"its list ends after {count} pages, for the next one failed: {error}")
            return
        yield page
        cursor = page.next_cursor
        if not cursor:
            return
        if cursor in seen:
            notices.append(f"its list ends after {count + 1} pages, for the next one is one of them again")
            return
        seen.add(cursor)
    notices.append(f"its list is longer than {_MOST_PAGES} pages, of which the first ones are read")

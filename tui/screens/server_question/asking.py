"""Who asks: the first lines of each question of an MCP server."""

from __future__ import annotations

from collections.abc import Iterator

from quorum.domain.mcp.server_question import ServerQuestion
from quorum.tui.screens.review.text.rows import Line, LineKind, clean_line


def list_origin(question: ServerQuestion) -> Iterator[Line]:
    """The server, the call it works on, and its own words, which are not to be taken for ours."""
    yield Line("server   ", clean_line(question.server), LineKind.STRONG)
    if question.call:
        yield Line("during   ", clean_line(question.call))
    for number, text in enumerate(question.message.splitlines() or ("",)):
        yield Line("         " if number else "it says  ", clean_line(text))

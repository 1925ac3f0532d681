"""The screen of `/lsp`: the language servers of the session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.accounts.mcp_screen import STYLES, indent_lines
from quorum.tui.screens.accounts.sheet import AccountSheet
from quorum.tui.widgets.colours import QUIET

if TYPE_CHECKING:
    from quorum.domain.calls.diagnostics import LanguageServerStatus

_NONE = "The settings name no language server. A table [lsp.NAME] with a command and languages adds one."


class LanguageServersScreen(AccountSheet):
    """Shows the servers as they were when it was opened."""

    HEADING = "Language servers"

    def __init__(self, servers: Sequence[LanguageServerStatus]) -> None:
        super().__init__()
        self._servers = tuple(servers)

    def build_lines(self, width: int) -> Iterator[Content]:
        """Name and state of each, what it serves and found, and what went wrong."""
        if not self._servers:
            yield from indent_lines(_NONE, width)
        for place, server in enumerate(self._servers):
            if place:
                yield Content("")
            yield Content.assemble(
                (server.name, "bold"),
                "  ",
                (server.state.value, STYLES.get(server.state.value, QUIET)),
                (f"  {make_printable(server.version, newlines=False)}".rstrip(), QUIET),
            )
            about = f"{', '.join(server.languages)}: {server.command}"
            yield from (line.stylize(QUIET) for line in indent_lines(about, width))
            if server.state.value == "running":
                found = (format_amount(server.errors, "error"), format_amount(server.warnings, "warning"))
                yield from indent_lines(f"{' and '.join(found)} in the files that it was asked about", width)
            if server.state.value == "not started":
                yield from indent_lines("it starts with the first edit of or question about its files", width)
            if server.problem:
                yield from (line.stylize("$text-error") for line in indent_lines(server.problem, width))
                yield from indent_lines(f"/lsp restart {server.name} tries again", width)

"""The language servers of a session: each is started when a file of its own is edited or asked about."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from quorum.domain.calls.diagnostics import LanguageServerStatus
from quorum.domain.errors import ToolError
from quorum.domain.events.event import DiagnosticsReported
from quorum.infrastructure.language_servers.channel import LanguageServerFailed
from quorum.infrastructure.language_servers.edit_checks import EditChecks
from quorum.infrastructure.language_servers.server import LanguageServer
from quorum.infrastructure.language_servers.sources import SourceFiles


class LanguageServers:
    """Implements the ports `EditDiagnostics`, `LanguageServerControl` and `BackgroundWork`."""

    def __init__(self, servers: Sequence[LanguageServer], sources: SourceFiles) -> None:
        self._servers = tuple(servers)
        self.sources = sources
        self._checks = {each: EditChecks(each) for each in servers if each.table.diagnostics}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(server.name for server in self._servers)

    def find_servers(self, path: str | None) -> tuple[LanguageServer, ...]:
        """Those whose business a file is; without one all of them."""
        return tuple(each for each in self._servers if path is None or each.serves(path))

    def list_statuses(self) -> tuple[LanguageServerStatus, ...]:
        return tuple(server.status for server in self._servers)

    async def restart(self, name: str) -> LanguageServerStatus | None:
        server = next((each for each in self._servers if each.name == name), None)
        if server is None:
            return None
        server.renew()
        with suppress(LanguageServerFailed):  # the status says so
            await server.ensure()
        return server.status

    def begin(self) -> None:
        """Nothing is started before it is needed."""

    def renew(self) -> None:
        """Have each started anew at its next use: the workspace is another one. From any thread."""
        for server in self._servers:
            server.renew()

    async def aclose(self) -> None:
        """End those that run. One that is needed again starts anew."""
        await asyncio.gather(*(checks.aclose() for checks in self._checks.values()))
        await asyncio.gather(*(server.aclose() for server in self._servers))

    # ---------------------------------------------------------------- edits

    async def before_edits(self, paths: Sequence[str]) -> None:
        for server, checks in self._checks.items():
            if mine := self._select(server, paths):
                checks.expect_edits({path: await asyncio.to_thread(self._read, path) for path in mine})

    def note_edits(self, paths: Sequence[str]) -> None:
        for server, checks in self._checks.items():
            if mine := self._select(server, paths):
                checks.note_edits(mine)

    async def collect(self, *, is_last: bool) -> tuple[DiagnosticsReported, ...]:
        await asyncio.gather(*(checks.wait(is_last=is_last) for checks in self._checks.values()))
        return tuple(report for checks in self._checks.values() for report in checks.pop_reports())

    def _select(self, server: LanguageServer, paths: Sequence[str]) -> list[str]:
        """The files among them that are its business, each by its own path, links resolved."""
        places = (self.sources.find(path) for path in paths)
        found = dict.fromkeys(place.path for place in places if place is not None)
        return [path for path in found if server.serves(path)]

    def _read(self, path: str) -> str | None:
        """What a file holds; None where it is not there, or no text."""
        try:
            return self.sources.read(self.sources.require(path))
        except ToolError:
            return None

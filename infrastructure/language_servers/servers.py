"""The language servers of a session: each is started when a file of its own is edited or asked about."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from quorum.domain.calls.diagnostics import LanguageServerStatus, count_lines, find_new_lines, limit_lines
from quorum.domain.errors import ToolError
from quorum.domain.events.event import DiagnosticsReported
from quorum.infrastructure.language_servers.channel import LanguageServerFailed, LanguageServerRests
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


_MOST_LINES = 20
_MOST_BYTES = 4_000


class EditChecks:
    """Has the server look at files as they were before an edit, then as they are, in the background.

    The server knows of a file what it was told, so that the edit waits for nothing: the former text may be
    looked at after it. What is wrong with that is never new.
    """

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._before: dict[str, str | None] = {}
        self._edited: dict[str, None] = {}
        self._looked_at: dict[str, None] = {}
        self._known: dict[str, tuple[str, ...]] = {}
        self._working: asyncio.Task[None] | None = None
        self._reports: list[DiagnosticsReported] = []
        self._told_failure = ""
        self._is_due = False
        self._last_edited: tuple[str, ...] = ()

    def expect_edits(self, texts: Mapping[str, str | None]) -> None:
        """These files, which hold these texts or are not there, are about to be edited."""
        for path, text in texts.items():
            if path not in self._edited:  # else what is wrong with it now may come from edits
                self._before.setdefault(path, text)
        self._begin()

    def note_edits(self, paths: Iterable[str]) -> None:
        """These files were edited."""
        self._edited |= dict.fromkeys(paths)
        self._is_due = True
        self._begin()

    async def wait(self, *, is_last: bool) -> None:
        """Wait for edits, once and when it is the last time, as long as the settings allow."""
        is_due, self._is_due = self._is_due or is_last, False
        if is_due and self._working is not None and not self._working.done():
            await asyncio.wait([self._working], timeout=self._server.table.wait_secs)

    def pop_reports(self) -> list[DiagnosticsReported]:
        """What was found and not yet reported."""
        is_idle = self._working is None or self._working.done()
        if is_idle and self._known:
            self._compare()  # what the server has said since by itself
        reports, self._reports = self._reports, []
        return reports

    async def aclose(self) -> None:
        """Look at nothing any more."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait([self._working])

    def _begin(self) -> None:
        if (self._before or self._edited) and (self._working is None or self._working.done()):
            self._working = asyncio.create_task(self._work(), name=f"edits-{self._server.name}")

    async def _work(self) -> None:
        while self._before or self._edited:
            try:
                await self._server.ensure()
                while self._before:
                    path = next(iter(self._before))
                    await self._look_before(path, self._before[path])
                    self._before.pop(path)
                if self._edited:
                    await self._look_after(tuple(self._edited))
            except LanguageServerFailed as error:
                self._edited |= self._looked_at
                self._looked_at.clear()
                self._report_failure(error)
                self._before.clear()
                self._edited.clear()

    async def _look_before(self, path: str, text: str | None) -> None:
        server = self._server
        if text is not None and path in self._known and server.get_text(path) == text:
            return
        async with server.changing_files():
            if text is not None:
                server.tell_text(path, text)
                await server.settle([path])
        found = server.problems.list_lines()
        self._known = {**found, **self._known, path: found.get(path, ()) if text is not None else ()}

    async def _look_after(self, paths: tuple[str, ...]) -> None:
        server, self._looked_at = self._server, dict.fromkeys(paths)
        async with server.changing_files():
            await server.tell_changes()
            opened = []
            for path in paths:
                self._edited.pop(path, None)  # edited once more from here on, it is looked at once more
                if (location := server.sources.find(path)) is not None:
                    with suppress(ToolError):  # it is gone by now, or no text any more
                        await server.open_document(location)
                        opened.append(path)
            await server.settle(opened)
        self._last_edited = paths
        self._compare()
        self._looked_at.clear()
        self._told_failure = ""

    def _compare(self) -> None:
        """Note what is new, and that it is known from now on."""
        server = self._server
        new: list[str] = []
        old = 0
        for path, lines in server.problems.list_lines().items():
            if lines == (known := self._known.get(path, ())):
                continue
            self._known[path] = lines
            if server.sources.find(path) is not None:
                more = find_new_lines(count_lines(known), lines)
                new += more
                old += len(lines) - len(more)
        if new:
            shown = limit_lines(new, max_lines=_MOST_LINES, max_bytes=_MOST_BYTES)
            files = tuple(map(server.sources.label, self._last_edited))
            self._reports.append(
                DiagnosticsReported(name=server.name, files=files, lines=shown, new=len(new), old=old)
            )

    def _report_failure(self, error: LanguageServerFailed) -> None:
        failure = str(error)
        if failure == self._told_failure or (self._told_failure and isinstance(error, LanguageServerRests)):
            return
        self._told_failure = failure
        files = tuple(map(self._server.sources.label, self._edited or self._before))
        self._reports.append(DiagnosticsReported(name=self._server.name, files=files, failure=failure))

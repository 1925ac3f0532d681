"""Ports of diagnostics: commands and language servers that check edited files, and the observer of edits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quorum.domain.calls.diagnostics import LanguageServerStatus
from quorum.domain.events.event import DiagnosticsReported


class DiagnosticsCommand(Protocol):
    """A program that the person declared, which prints what is wrong with files."""

    @property
    def name(self) -> str:
        """Its name, unique in the settings."""
        ...

    async def select_files(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Those of the absolute paths that are files now and match its patterns, sorted."""
        ...

    def label(self, path: str) -> str:
        """How the program is given a path: relative to the workspace where it is below it."""
        ...

    async def run(self, files: Sequence[str]) -> tuple[str, ...]:
        """The lines that it prints about these files; none where it exits with 0.

        Raises DiagnosticsFailed where that is not known. Cancelled, it is ended with all that it started.
        """
        ...


class EditDiagnostics(Protocol):
    """Language servers, which find out by themselves what is wrong with files after each edit."""

    async def before_edits(self, paths: Sequence[str]) -> None:
        """Calls that may edit these absolute paths are about to run. They do not wait for what is found."""
        ...

    def note_edits(self, paths: Sequence[str]) -> None:
        """Calls have edited these absolute paths."""
        ...

    async def collect(self, *, is_last: bool) -> tuple[DiagnosticsReported, ...]:
        """What was found since the last time, by each server that found anything or failed. Edits are waited
        for once, within the limits of the settings; what takes longer comes the next time. `is_last`: there may
        be no next time, so that they are waited for once more."""
        ...


class LanguageServerControl(Protocol):
    """The language servers of a session, as people see them."""

    def list_statuses(self) -> tuple[LanguageServerStatus, ...]:
        """As they are now, in the order of the settings."""
        ...

    async def restart(self, name: str) -> LanguageServerStatus | None:
        """End a server and start it anew, also one that failed too often; what became of it, None where there
        is none of that name."""
        ...


class NoLanguageServers:
    """Implements the port where the settings name none."""

    def list_statuses(self) -> tuple[LanguageServerStatus, ...]:
        return ()

    async def restart(self, name: str) -> LanguageServerStatus | None:
        return None


class EditWatcher(Protocol):
    """Learns which files calls are about to edit, and which they edited."""

    async def before_edits(self, paths: Sequence[str]) -> None:
        """Calls that may edit these absolute paths are about to run. They wait for it."""
        ...

    def note_edits(self, paths: Sequence[str]) -> None:
        """Calls that may have edited these absolute paths have ended."""
        ...

    async def report_edits(self) -> str:
        """What the model is to read of the edits noted so far, and of earlier ones of which nothing was known
        in time; empty where that is nothing. Cancelled, nothing is lost."""
        ...


class NoEditWatcher:
    """Nobody wants to know of edits."""

    async def before_edits(self, paths: Sequence[str]) -> None: ...

    def note_edits(self, paths: Sequence[str]) -> None: ...

    async def report_edits(self) -> str:
        return ""

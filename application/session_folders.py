"""The folders of a session beside its working directory: put in force, recorded, withdrawn with its turns."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from quorum.application.event_bus import EventBus
from quorum.application.ports.workspace import FolderCheck
from quorum.domain.errors import ConfigError
from quorum.domain.events.event import FolderAdded
from quorum.domain.events.session import FolderOrigin
from quorum.domain.review.path_policy import WorkspaceRoots
from quorum.domain.text.paths import is_below_any


class WantedFolder(Struct, frozen=True, kw_only=True):
    """A folder that is to be added at the start, as it was named."""

    path: str
    origin: FolderOrigin


def list_option_folders(paths: Iterable[Path]) -> tuple[WantedFolder, ...]:
    """The folders that options of the start name."""
    return tuple(WantedFolder(path=str(path), origin=FolderOrigin.OPTION) for path in paths)


class SessionFolders:
    """Adds folders to `roots`, which all that decides and acts in the workspace reads.

    `configured` are those of the settings: they belong to each session and are not on its record. `wanted` are
    those that this start asks for. `learn` finds out what must be hidden in a workspace that has grown; it
    blocks.
    """

    def __init__(
        self,
        roots: WorkspaceRoots,
        *,
        check: FolderCheck,
        events: EventBus,
        configured: Sequence[str] = (),
        wanted: Sequence[WantedFolder] = (),
        learn: Callable[[], None] = lambda: None,
    ) -> None:
        self._roots = roots
        self._check = check
        self._events = events
        self._configured = tuple(configured)
        self._wanted = tuple(wanted)
        self._learn = learn
        self._of_settings: tuple[str, ...] = ()

    @property
    def added(self) -> tuple[str, ...]:
        """The folders beside the working directory, as canonical paths, in the order in which they came."""
        return self._roots.added

    def require_wanted(self) -> None:
        """Raises ConfigError where a folder that this start asks for cannot be added. Blocks."""
        for folder in self._wanted:
            self._check.resolve(folder.path)

    async def restore(self) -> tuple[str, ...]:
        """Put in force what the settings name and what the session has added before; sentences about those that
        are left out."""
        notices: list[str] = []
        self._of_settings = await self._keep_usable(self._configured, "workspace.directories", notices)
        recorded = await self._keep_usable(
            self._events.state.folders, "a folder that was added is left out", notices
        )
        await self._put_in_force((*self._of_settings, *recorded))
        return tuple(notices)

    async def add_wanted(self) -> None:
        """Add what this start asks for. Raises ConfigError and LedgerError."""
        for folder in self._wanted:
            await self.add(folder.path, folder.origin)

    async def add(self, path: str, origin: FolderOrigin = FolderOrigin.COMMAND) -> str | None:
        folder = await asyncio.to_thread(self._check.resolve, path)
        if is_below_any(folder, self._roots):
            return None
        await self._events.announce(FolderAdded(folder=folder, origin=origin))
        await self._put_in_force((*self._roots.added, folder))
        return folder

    async def find_addable(self, paths: Sequence[str]) -> str | None:
        return await asyncio.to_thread(self._find_addable, tuple(paths)) if paths else None

    def _find_addable(self, paths: Sequence[str]) -> str | None:
        around = [path if os.path.isdir(path) else os.path.dirname(path) for path in paths]
        folder = os.path.commonpath(around)
        try:
            return folder if self._check.resolve(folder) == folder else None
        except ConfigError:
            return None

    def withdraw_undone(self) -> None:
        """Leave out what was added in turns that the session has taken back."""
        standing = (*self._of_settings, *self._events.state.folders)
        self._roots.replace_added(folder for folder in self._roots.added if folder in standing)

    async def _keep_usable(self, paths: Sequence[str], what: str, notices: list[str]) -> tuple[str, ...]:
        usable: list[str] = []
        for path in paths:
            try:
                usable.append(await asyncio.to_thread(self._check.resolve, path))
            except ConfigError as error:
                notices.append(f"{what}: {error}")
        return tuple(usable)

    async def _put_in_force(self, folders: Sequence[str]) -> None:
        before = self._roots.added
        self._roots.replace_added(folders)
        if set(self._roots.added) - set(before):
            await asyncio.to_thread(self._learn)

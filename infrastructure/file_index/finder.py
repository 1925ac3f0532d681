"""Finds files of the workspace by a part of their path, at any time, without keeping anybody waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from quorum.domain.calls.found_file import FoundFile
from quorum.infrastructure.file_index.index import FileIndex
from quorum.infrastructure.file_index.listing import Listing, build_index, list_files

_FRESH_SECS = 3.0
_PATIENCE_SECS = 0.05
_USED_POINTS, _MOST_USED = 14, 50


class WorkspaceFiles:
    """The files below the folders of a workspace: those of the working directory, the first, by their paths
    from there, those of others by their whole paths. Listed at the first wish, and again where the list is old.

    Whoever asks then gets the new list if it comes at once, and else the one there is. `clock` is in seconds.
    """

    def __init__(
        self, folders: Sequence[str], environ: Mapping[str, str], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folders, self._environ, self._clock = folders, environ, clock
        self._index: FileIndex | None = None
        self._listing = Listing(b"")
        self._listed_at = float("-inf")
        self._listed: tuple[str, ...] = ()
        self._renewal: asyncio.Task[None] | None = None
        self._used: dict[str, None] = {}

    async def find(self, query: str, limit: int) -> tuple[FoundFile, ...]:
        """The files and folders that fit what is typed, best first, at most so many."""
        is_old = self._clock() - self._listed_at > _FRESH_SECS or self._listed != tuple(self._folders)
        if self._renewal is None and is_old:
            self._renewal = asyncio.create_task(self._renew(), name="file index")
        if self._renewal is not None:
            waiting = None if self._index is None else _PATIENCE_SECS
            await asyncio.wait({self._renewal}, timeout=waiting)
        if self._index is None:
            return ()
        recent = list(self._used)
        bonus = {path: _USED_POINTS + place for place, path in enumerate(recent)}
        return await asyncio.to_thread(self._index.find, query, limit, bonus)

    def note_used(self, path: str) -> None:
        self._used.pop(path, None)
        self._used[path] = None
        while len(self._used) > _MOST_USED:
            del self._used[next(iter(self._used))]

    async def aclose(self) -> None:
        if (renewal := self._renewal) is not None:
            renewal.cancel()
            await asyncio.wait({renewal})

    async def _renew(self) -> None:
        self._listed = folders = tuple(self._folders)
        try:
            listing = await list_files(Path(folders[0]), self._environ)
            for added in folders[1:]:
                listing = listing.with_folder(added, await list_files(Path(added), self._environ))
            if listing != self._listing or self._index is None:
                self._index = await asyncio.to_thread(build_index, listing, folders[0])
                self._listing = listing
        finally:
            self._listed_at, self._renewal = self._clock(), None

"""Finds files of the workspace by a part of their path, at any time, without keeping anybody waiting.

Which files a project has: those git would keep, or, without git, those that no ignore file leaves out.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from heapq import nsmallest
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from quorum.application.program_lookup import filter_environment, find_program
from quorum.domain.calls.found_file import FoundFile
from quorum.domain.shell.git_commands import GIT_ENVIRONMENT
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.execution.program import open_program
from quorum.infrastructure.execution.shell.programs import PROGRAM_FOLDERS
from quorum.infrastructure.file_index.index import FileIndex
from quorum.infrastructure.files.searching import IgnoreRules

MOST_FILES = 200_000
_GIT_SECS, _WALK_SECS = 20.0, 10.0
_MOST_BYTES = 64 * 1024 * 1024
_NEWEST = 40
# Made anew by their programs, or a program's own: nobody names a file in them, and they may hold very many.
_HEAVY = frozenset(
    {".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache",
     ".ruff_cache", ".tox", ".nox", ".gradle", ".cache", ".next", ".nuxt", ".terraform", "bower_components",
     "site-packages"}
)  # fmt: skip
_Place: TypeAlias = tuple[tuple[str, ...], IgnoreRules]
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Listing(Struct, frozen=True):
    """The paths of files from the working directory, each followed by NUL. `walked`: they are not from git.

    Those of the folders `added` are whole paths.
    """

    raw: bytes
    walked: bool = False
    added: tuple[str, ...] = ()

    def with_folder(self, folder: str, inner: Listing) -> Listing:
        """This listing, with that of another folder behind it."""
        prefix = os.fsencode(folder.rstrip("/")) + b"/"
        paths = (prefix + path + b"\0" for path in inner.raw.split(b"\0") if path)
        return Listing(self.raw + b"".join(paths), walked=self.walked, added=(*self.added, folder))


async def list_files(cwd: Path, environ: Mapping[str, str]) -> Listing:
    """The files below the working directory, of a bounded number; those it cannot see are left out."""
    raw = await _list_with_git(cwd, environ)
    if raw:
        return Listing(raw)
    stop = Stop()
    try:
        return Listing(await asyncio.to_thread(walk_files, str(cwd), stop), walked=True)
    finally:
        stop.ask()


async def _list_with_git(cwd: Path, environ: Mapping[str, str]) -> bytes:
    """What `git ls-files` tells; nothing where there is no git, no repository, or no end.

    Listing runs nothing of the repository's own: neither filters nor hooks have a part in it, and a program
    that watches its files is switched off.
    """
    git = find_program("git", os.pathsep.join(PROGRAM_FOLDERS))
    if git is None:
        return b""
    arguments = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    environment = {**filter_environment(build_command_environment(environ, ())), **GIT_ENVIRONMENT}
    pieces, size = [], 0
    try:
        async with (
            open_program((git, *arguments), environment=environment, cwd=cwd) as process,
            asyncio.timeout(_GIT_SECS),
        ):
            assert process.stdout is not None
            while size < _MOST_BYTES and (piece := await process.stdout.read(1 << 18)):
                pieces.append(piece)
                size += len(piece)
            return b"".join(pieces) if size >= _MOST_BYTES or not await process.wait() else b""
    except OSError:  # it cannot be started, or takes too long
        return b""


def walk_files(cwd: str, stop: Stop, clock: Callable[[], float] = time.monotonic) -> bytes:
    """The files below a folder, nearest first, without ignored ones and heavy folders. Follows no links."""
    deadline = clock() + _WALK_SECS
    found: list[bytes] = []
    level: list[_Place] = [((), IgnoreRules())]
    while level and len(found) < MOST_FILES and clock() < deadline:
        below: list[_Place] = []
        for names, rules in level:
            stop.check()
            below += _look_into(cwd, names, rules, found)
            if len(found) >= MOST_FILES or clock() > deadline:
                break
        level = below
    return b"".join(found)


def _look_into(cwd: str, names: tuple[str, ...], rules: IgnoreRules, found: list[bytes]) -> list[_Place]:
    """Add the files of one folder; the folders in it, with the rules that hold there."""
    below: list[_Place] = []
    try:
        folder = os.open(os.path.join(cwd, *names), _FOLDER)
    except OSError:
        return below
    try:
        with os.scandir(folder) as entries:
            held = sorted(entries, key=lambda entry: entry.name)
            kinds = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in held]
        inner_rules = rules.enter(folder, (name for name, _ in kinds), len(names))
        for name, is_folder in kinds:
            inner = (*names, name)
            if (is_folder and name in _HEAVY) or inner_rules.ignore(inner, is_folder=is_folder):
                continue
            if is_folder:
                below.append((inner, inner_rules))
            else:
                found.append(os.fsencode("/".join(inner)) + b"\0")
    except OSError:
        pass  # a folder that went away meanwhile holds nothing any more
    finally:
        os.close(folder)
    return below


def build_index(listing: Listing, cwd: str) -> FileIndex:
    """The index of what was listed: without what is gone from the disk, with the folders, the newest first."""
    times: dict[str, int] = {}
    folders: set[str] = set()
    for raw in listing.raw.split(b"\0")[:MOST_FILES]:
        path = os.fsdecode(raw).rstrip("/")
        try:
            status = os.lstat(os.path.join(cwd, path)) if path else None
        except (OSError, ValueError):
            continue
        if status is None:
            continue
        if stat.S_ISDIR(status.st_mode):  # a repository inside this one
            folders.add(path)
        else:
            times[path] = status.st_mtime_ns
        while path not in listing.added and (path := path.rpartition("/")[0]) and path not in folders:
            folders.add(path)
    newest = nsmallest(_NEWEST, times, key=lambda path: (-times[path], len(path)))
    rest = [*(path for path in times if path not in newest), *(f"{folder}/" for folder in folders)]
    rest.sort(key=len)  # by nothing else: a longer comparison would keep the screen's thread waiting
    return FileIndex([*newest, *rest], fresh=newest)


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

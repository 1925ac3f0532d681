"""Looking at many files quickly: their names, sizes and times, never their contents."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter

from domain.calls.effects import FileLook, FileMark

MOST_FILES = 200_000
LONGEST_SECS = 3.0
_NAME = attrgetter("name")
# Git writes these whenever it is used; what they hold shows elsewhere, in its index and its references.
_SKIPPED = (".git/objects", ".git/logs", ".git/lfs")


class WorkspaceWatch:
    """Looks at the files below the roots of a workspace, or at some of them.

    A look takes at most three seconds and so many files; one that had to stop early says that it is incomplete.
    Links are looked at, not followed. What cannot be read is passed over, and so is what stands at the paths in
    `passed_over` or below, such as our own records.
    """

    def __init__(
        self,
        roots: Sequence[str],
        *,
        passed_over: Sequence[str] = (),
        most_files: int = MOST_FILES,
        longest_secs: float = LONGEST_SECS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._roots = tuple(os.path.realpath(root) for root in roots)
        self._passed_over = frozenset(map(os.path.realpath, passed_over))
        self._most_files = most_files
        self._longest_secs = longest_secs
        self._clock = clock

    async def look(self, paths: Sequence[str] | None = None) -> FileLook:
        """The files as they are: those of the whole workspace, or these paths and what lies below them."""
        return await asyncio.to_thread(self._look, self._roots if paths is None else paths)

    def _look(self, starts: Iterable[str]) -> FileLook:
        marks: dict[str, FileMark] = {}
        deadline = self._clock() + self._longest_secs
        for start in starts:
            for inside in _below(start, self._passed_over):
                for path, status in inside:
                    marks[path] = FileMark(
                        kind=status.st_mode,
                        size=status.st_size,
                        modified_ns=status.st_mtime_ns,
                        changed_ns=status.st_ctime_ns,
                        inode=status.st_ino,
                    )
                    if len(marks) >= self._most_files or self._clock() > deadline:
                        return FileLook(marks=marks, complete=False)
        return FileLook(marks=marks)


def _below(start: str, passed_over: frozenset[str]) -> Iterator[list[tuple[str, os.stat_result]]]:
    """Every file and link at a path and below it, by folders, in an order that does not change from look to
    look."""
    if any(start == path or start.startswith(path.rstrip("/") + "/") for path in passed_over):
        return
    try:
        status = os.lstat(start)
    except OSError:  # not there: that is what a later look is compared with
        return
    if not stat.S_ISDIR(status.st_mode):
        yield [(start, status)]
        return
    waiting = [start]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=_NAME)
        except OSError:
            continue
        inside = []
        for entry in listed:
            if entry.path in passed_over:
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    if not entry.path.endswith(_SKIPPED):
                        waiting.append(entry.path)
                else:
                    inside.append((entry.path, entry.stat(follow_symlinks=False)))
            except OSError:  # gone between two system calls
                continue
        yield inside

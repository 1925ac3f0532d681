"""Looking at many files quickly: their names, sizes and times, never their contents.

A look at the whole workspace costs as much as what changed since the one before, where events of the system
tell that: on local file systems of Linux, as long as there are watches for all folders. Elsewhere every file is
looked at each time.
"""

from __future__ import annotations

import asyncio
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter

from quorum.domain.calls.effects import FileLook, FileMark
from quorum.domain.text.paths import is_below_any
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.files.inotify import Inotify, read_watch_limit
from quorum.infrastructure.files.mounts import are_local
from quorum.infrastructure.files.standing_roots import list_standing_roots
from quorum.infrastructure.store.snapshots.reading import build_mark
from quorum.infrastructure.store.snapshots.watched_tree import SKIPPED, TreeLostError, WatchedTree

MOST_FILES = 400_000
LONGEST_SECS = 3.0
# A call waits so long where a look before it had to stop early: it would not come further.
_LATER_SECS = 0.2
_NAME = attrgetter("name")
# A check works for so long, then rests for as long.
_SLICE_SECS = 0.02
_PATIENCE = 10
# More paths than these count as all.
_MOST_TOUCHED = 100_000


class WorkspaceWatch:
    """Looks at the files below the roots of a workspace, or at some of them.

    A look takes at most three seconds and so many files; one that had to stop early says that it is incomplete.
    Those after it take 0.2 seconds where there are too many files, or until all are known from a look in the
    background.
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
        events: bool = True,
    ) -> None:
        """`events` says whether to use those of the system, if it has them. `roots` may grow, see
        `WorkspaceRoots`."""
        self._live = roots
        self._roots = list_standing_roots(roots)
        self._passed_over = frozenset(map(os.path.realpath, passed_over))
        self._most_files = most_files
        self._longest_secs = longest_secs
        self._clock = clock
        self._lock = threading.Lock()
        self._may_watch = events
        self._tree: WatchedTree | None = None
        self._deadline = 0.0
        self._had_to_stop = False
        self._version = 0
        self._journal: list[tuple[int, frozenset[str]]] = []
        self._floor = 0
        self._missed: dict[str, FileMark | None] = {}

    async def follow(self) -> FileLook:
        """The files of the whole workspace as they are, and from now on what changes in it.

        It may take as long as several looks: for when nobody waits.
        """
        return await run_in_thread(self._follow)

    async def look(self, paths: Sequence[str] | None = None, *, after: bool = False) -> FileLook:
        """The files as they are: those of the whole workspace, or these paths and what lies below them.

        `after` says that something ran: what a check found out late is then taken for its work.
        """
        if paths is None or set(paths) == set(self._live):
            longest_secs = _LATER_SECS if self._had_to_stop else self._longest_secs
            look = await asyncio.to_thread(self._look_at_all, after, longest_secs, wanted=paths)
            if look is not None:
                return look
        return await asyncio.to_thread(self._look, paths or ())

    def list_touched(self, before: FileLook, after: FileLook) -> frozenset[str] | None:
        """The paths at which something happened between two looks; None where that is not known."""
        with self._lock:
            if not self._floor <= before.version <= after.version or before.version == 0:
                return None
            between = [paths for version, paths in self._journal if before.version < version <= after.version]
        return frozenset().union(*between)

    def check(self, stop: Stop) -> None:
        """Look at every file, to find out what events did not tell; slowly, so that others get on.

        If there is such a file, events are not trusted any more. Raises Stopped when asked to stop.
        """
        with self._lock:
            if self._tree is None or self._missed or not self._may_watch or not self._refresh(self._tree):
                return
            version, known = self._version, self._tree.marks.copy()
        seen = self._read_marks(stop)
        with self._lock:
            if self._tree is None or self._floor > version or not self._refresh(self._tree):
                return
            noted = frozenset().union(*(paths for number, paths in self._journal if number > version))
            for path in known.keys() | seen.keys():
                if path not in noted and known.get(path) != seen.get(path):
                    self._missed[path] = seen.get(path)

    def _read_marks(self, stop: Stop) -> dict[str, FileMark]:
        seen: dict[str, FileMark] = {}
        begun = time.monotonic()
        for root in self._roots:
            for inside in _walk_below(root, self._passed_over):
                seen.update((path, build_mark(status)) for path, status in inside)
                if (spent := time.monotonic() - begun) > _SLICE_SECS:
                    stop.check()
                    time.sleep(spent)
                    begun = time.monotonic()
        return seen

    def _follow(self, stop: Stop) -> FileLook:
        look = self._look_at_all(False, self._longest_secs * _PATIENCE, stop)
        stop.check()
        assert look is not None, "whatever the roots are by now is wanted"
        return look

    def _look_at_all(
        self,
        after: bool,
        longest_secs: float,
        stop: Stop | None = None,
        *,
        wanted: Sequence[str] | None = None,
    ) -> FileLook | None:
        """The whole workspace; None where `wanted`, if given, are not its roots any more.

        No file is known where a look in the background takes longer than this one may.
        """
        is_call = stop is None  # a look in the background may be cancelled, which tells nothing
        if not self._lock.acquire(timeout=longest_secs):
            self._had_to_stop |= is_call
            return FileLook(complete=False)
        try:
            live = tuple(self._live)
            if wanted is not None and set(wanted) != set(live):
                return None
            if (roots := list_standing_roots(live)) != self._roots:
                self._roots = roots
                self._forget()
            tree = self._tree
            if tree is None or not self._may_watch or not self._refresh(tree):
                tree = self._build(longest_secs, stop or Stop())
            late = frozenset(self._missed) if after else frozenset()
            if late:
                self._take_missed(tree)
            version = self._version if self._tree is not None else 0
            if tree.complete:
                self._had_to_stop = False
            elif is_call:
                self._had_to_stop = self._is_more_time_vain(tree)
            return FileLook(marks=tree.marks.copy(), complete=tree.complete, version=version, late=late)
        finally:
            self._lock.release()

    def _build(self, longest_secs: float, stop: Stop) -> WatchedTree:
        """Look at all files, and from now on at what changes, if that can be."""
        self._forget()
        self._deadline = self._clock() + longest_secs
        tree = WatchedTree(
            self._roots,
            passed_over=self._passed_over,
            is_over=lambda files: files >= self._most_files or self._clock() > self._deadline or stop.is_asked,
            events=self._open_events(),
            most_folders=read_watch_limit() // 2,
        )
        if tree.live:
            self._tree = tree
        elif tree.complete or len(tree.marks) >= self._most_files:  # more time would not help
            self._may_watch = False
        return tree

    def _is_more_time_vain(self, tree: WatchedTree) -> bool:
        """Whether the next look need not take as long: there are too many files, or events will tell."""
        return self._may_watch or len(tree.marks) >= self._most_files

    def _open_events(self) -> Inotify | None:
        if not self._may_watch or not are_local(self._roots):
            return None
        try:
            return Inotify()
        except OSError:
            return None

    def _refresh(self, tree: WatchedTree) -> bool:
        """Bring the tree up to date; whether that could be."""
        self._deadline = self._clock() + self._longest_secs
        try:
            touched = tree.refresh()
        except TreeLostError:
            self._forget()
            return False
        if touched:
            self._note(frozenset(touched))
        return True

    def _note(self, touched: frozenset[str]) -> None:
        self._version += 1
        self._journal.append((self._version, touched))
        if sum(len(paths) for _, paths in self._journal) > _MOST_TOUCHED:
            self._journal.clear()
            self._floor = self._version

    def _take_missed(self, tree: WatchedTree) -> None:
        for path, mark in self._missed.items():
            tree.apply(path, mark)
        self._note(frozenset(self._missed))
        self._missed.clear()
        self._may_watch = False

    def _forget(self) -> None:
        """Tell versions so far from later ones."""
        if self._tree is not None:
            self._tree.close()
        self._tree = None
        self._missed.clear()
        self._journal.clear()
        self._version += 1
        self._floor = self._version

    def _look(self, starts: Iterable[str]) -> FileLook:
        marks: dict[str, FileMark] = {}
        deadline = self._clock() + self._longest_secs
        for start in starts:
            for inside in _walk_below(start, self._passed_over):
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


def _walk_below(start: str, passed_over: frozenset[str]) -> Iterator[list[tuple[str, os.stat_result]]]:
    """Every file and link at a path and below it, by folders, in an order that does not change from look to
    look."""
    if is_below_any(start, passed_over):
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
                    if not entry.path.endswith(SKIPPED):
                        waiting.append(entry.path)
                else:
                    inside.append((entry.path, entry.stat(follow_symlinks=False)))
            except OSError:  # gone between two system calls
                continue
        yield inside

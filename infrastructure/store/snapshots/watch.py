"""Looks at many files quickly: their names, sizes and times, never their contents.

A look at the whole workspace costs as much as what changed since the one before, where events of the system
tell that: on local file systems of Linux, as long as there are watches for all folders. Elsewhere every file is
looked at each time.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter

from msgspec import Struct, field

from quorum.domain.calls.effects import FileLook, FileMark
from quorum.domain.text.paths import is_below_any
from quorum.infrastructure.blocking import Stop, run_in_thread, walk_alone
from quorum.infrastructure.files import inotify
from quorum.infrastructure.files.inotify import FolderEvent, Inotify, read_watch_limit
from quorum.infrastructure.files.mounts import are_local
from quorum.infrastructure.files.workspace import list_standing_roots
from quorum.infrastructure.store.snapshots.reading import build_mark

_NAME = attrgetter("name")
# Git writes these whenever it is used; what they hold shows elsewhere, in its index and its references.
SKIPPED = (".git/objects", ".git/logs", ".git/lfs")
_UNUSABLE = inotify.QUEUE_OVERFLOW | inotify.UNMOUNT
_GONE = inotify.DELETE_SELF | inotify.MOVE_SELF
_EXHAUSTED = (errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class TreeLostError(Exception):
    """Events do not tell any more what changed: everything must be looked at."""


class _Folder(Struct):
    watch: int | None
    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)


class WatchedTree:
    """Marks of all files below `roots`, but for the paths in `passed_over` and what lies below them.

    It has at most so many files, and `is_over` is asked after each whether to stop; a tree that had to is not
    `complete`. Without `events`, or with more than `most_folders`, the tree is not `live`: it stays as it was
    at first.
    """

    def __init__(
        self,
        roots: Iterable[str],
        *,
        passed_over: frozenset[str],
        most_files: int,
        is_over: Callable[[], bool],
        events: Inotify | None = None,
        most_folders: int = 0,
    ) -> None:
        self.marks: dict[str, FileMark] = {}
        self.complete = True
        self._roots = tuple(roots)
        self._passed_over = passed_over
        self._most_files = most_files
        self._is_over = is_over
        self._events = events
        self._most_folders = most_folders
        self._folders: dict[str, _Folder] = {}
        self._paths: dict[int, str] = {}
        # Events name only the path through which a file was written: files of several names are looked at.
        self._linked: set[str] = set()
        for root in self._roots:
            self._scan(root)
        self._identities = [_read_identity(root) for root in self._roots]
        if not self.complete:
            self.close()

    @property
    def live(self) -> bool:
        """Whether events tell what changes."""
        return self._events is not None

    def close(self) -> None:
        """Watch no more."""
        if self._events is not None:
            self._events.close()
            self._events = None

    def refresh(self) -> set[str]:
        """Bring the marks up to date; the paths of all files at which something happened.

        Raises TreeLostError where that is not known.
        """
        if self._events is None or [_read_identity(root) for root in self._roots] != self._identities:
            raise TreeLostError
        dirty, is_certain = self._take_dirty_paths(self._events.read())
        touched: set[str] = set()
        for path in dirty:
            self._drop(path, touched)
        linked = frozenset(self._linked)
        for path in sorted(dirty):  # folders before what is in them
            if path not in self._folders and self._is_reached(path):
                self._scan(path, touched)
        self._link_names(self._linked - linked)
        touched |= self._look_again(self._linked if is_certain else self.marks.keys())
        if not self.complete or self._events is None:
            raise TreeLostError
        return touched

    def apply(self, path: str, mark: FileMark | None) -> None:
        """Take over the mark of a file that no event named; None where there is no file."""
        if mark is None:
            self.marks.pop(path, None)
        else:
            self.marks[path] = mark

    # ---------------------------------------------------------------- events

    def _take_dirty_paths(self, events: Iterable[FolderEvent]) -> tuple[set[str], bool]:
        """The paths at which something happened, and whether these are certainly all."""
        dirty: set[str] = set()
        names = _NewNames()
        for event in events:
            if event.mask & _UNUSABLE:
                raise TreeLostError
            folder = self._paths.get(event.watch)
            if folder is None:
                continue
            if event.mask & inotify.IGNORED:
                del self._paths[event.watch]
            if not event.name:
                if folder in self._roots and event.mask & _GONE:
                    raise TreeLostError
                dirty.add(folder)
                continue
            path = f"{folder.rstrip('/')}/{event.name}"
            if path in self._passed_over or (event.mask & inotify.IS_FOLDER and path.endswith(SKIPPED)):
                continue
            dirty.add(path)
            names.apply(path, event)
        names.finish()
        return dirty, names.are_certain

    def _is_reached(self, path: str) -> bool:
        return path in self._roots or os.path.dirname(path) in self._folders

    def _link_names(self, new: set[str]) -> None:
        """Take note of all names of files that have more than one since now."""
        inodes = {self.marks[path].inode for path in new if path in self.marks}
        if inodes:
            self._linked.update(path for path, mark in self.marks.items() if mark.inode in inodes)

    def _look_again(self, paths: Iterable[str]) -> set[str]:
        """Those of the files that are not as their marks say."""
        touched: set[str] = set()
        for path in tuple(paths):
            try:
                status = os.lstat(path)
            except OSError:  # an event will tell
                continue
            mark = build_mark(status)
            if self.marks.get(path) != mark:
                touched.add(path)
                self.marks[path] = mark
            if status.st_nlink < 2:
                self._linked.discard(path)
        return touched

    # ---------------------------------------------------------------- the tree

    def _drop(self, path: str, touched: set[str]) -> None:
        above = self._folders.get(os.path.dirname(path))
        if above is not None:
            above.files.discard(path)
            above.folders.discard(path)
        touched.add(path)
        waiting = [path]
        while waiting:
            each = waiting.pop()
            self.marks.pop(each, None)
            self._linked.discard(each)
            folder = self._folders.pop(each, None)
            if folder is None:
                continue
            touched |= folder.files
            waiting += folder.files
            waiting += folder.folders
            if folder.watch is not None and self._paths.pop(folder.watch, None) is not None and self._events:
                self._events.remove(folder.watch)

    def _scan(self, start: str, touched: set[str] | None = None) -> None:
        """Take in a path and what lies below it."""
        if is_below_any(start, self._passed_over):
            return
        try:
            status = os.lstat(start)
        except OSError:  # not there: that is what a later look is compared with
            return
        above = self._folders.get(os.path.dirname(start))
        if not stat.S_ISDIR(status.st_mode):
            self._add(start, status, above)
            if touched is not None:
                touched.add(start)
            return
        if above is not None:
            above.folders.add(start)
        waiting = [start]
        while waiting and self.complete:
            path = waiting.pop()
            inside = self._enter(path)
            if inside is None:
                continue
            waiting += inside.folders
            if touched is not None:
                touched |= inside.files

    def _enter(self, path: str) -> _Folder | None:
        """Take in what is in one folder. It is watched first, so that nothing is missed meanwhile."""
        folder = _Folder(self._watch(path))
        marks, passed_over = self.marks, self._passed_over
        for entry in _list_entries(path):
            inside = entry.path
            if inside in passed_over:
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    if not inside.endswith(SKIPPED):
                        folder.folders.add(inside)
                    continue
                status = entry.stat(follow_symlinks=False)
            except OSError:  # gone between two system calls
                continue
            marks[inside] = build_mark(status)
            folder.files.add(inside)
            if status.st_nlink > 1:
                self._linked.add(inside)
            if len(marks) >= self._most_files or self._is_over():
                self.complete = False
                return None
        self._folders[path] = folder
        return folder

    def _add(self, path: str, status: os.stat_result, folder: _Folder | None) -> None:
        self.marks[path] = build_mark(status)
        if status.st_nlink > 1:
            self._linked.add(path)
        if folder is not None:
            folder.files.add(path)

    def _watch(self, path: str) -> int | None:
        if self._events is None:
            return None
        try:
            if len(self._paths) >= self._most_folders:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            watch = self._events.add(path)
        except OSError as error:  # gone meanwhile, or closed to us: then a change of its mode is reported
            if error.errno in _EXHAUSTED:
                self.close()
            return None
        if self._paths.setdefault(watch, path) != path:  # one folder at two paths, or just moved
            self.close()
        return watch


class _NewNames:
    """Tells whether a file may have been written through a name that nobody watched, or that is gone.

    A new name of an old file, made with `ln`, counts as a new file once it is gone. What happens in a
    new folder is not noticed before the folder is watched.
    """

    def __init__(self) -> None:
        self.are_certain = True
        self._made: set[str] = set()
        self._written: set[str] = set()
        self._moving: dict[int, bool] = {}
        self._moving_folders: set[int] = set()

    def apply(self, path: str, event: FolderEvent) -> None:
        """Take in an event, in the order in which they happened."""
        if event.mask & inotify.IS_FOLDER:
            self._take_folder(path, event)
            return
        if event.mask & inotify.CREATE:
            self._made.add(path)
        if event.mask & (inotify.MODIFY | inotify.ATTRIB) and path in self._made:
            self._written.add(path)
        if event.mask & inotify.DELETE:
            self._lose(path)
        if event.mask & inotify.MOVED_FROM and path in self._made:
            self._moving[event.cookie] = path in self._written
            self._made.discard(path)
            self._written.discard(path)
        if event.mask & inotify.MOVED_TO:
            self._lose(path)
            if event.cookie in self._moving:
                self._made.add(path)
                if self._moving.pop(event.cookie):
                    self._written.add(path)

    def finish(self) -> None:
        """There are no more events: what moved away from a name did not come to another."""
        self.are_certain &= not any(self._moving.values())

    def _take_folder(self, path: str, event: FolderEvent) -> None:
        if event.mask & inotify.CREATE:
            self.are_certain = False
        if event.mask & inotify.MOVED_FROM:
            self._moving_folders.add(event.cookie)
        if event.mask & inotify.MOVED_TO and event.cookie not in self._moving_folders:
            self.are_certain = False
        if event.mask & (inotify.MOVED_FROM | inotify.DELETE):
            self.are_certain &= not any(name.startswith(f"{path}/") for name in self._written)

    def _lose(self, path: str) -> None:
        self.are_certain &= path not in self._written
        self._made.discard(path)


def _list_entries(folder: str) -> Sequence[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=_NAME)
    except OSError:
        return ()


def _read_identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


MOST_FILES = 400_000
LONGEST_SECS = 3.0
# A call waits so long where a look before it had to stop early: it would not come further.
_LATER_SECS = 0.2
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

    def close(self) -> None:
        """Use no events of the system any more. Blocks until a look that is under way has ended."""
        self._may_watch = False
        with self._lock:
            self._forget()

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
        with walk_alone():
            self._deadline = self._clock() + longest_secs
            tree = WatchedTree(
                self._roots,
                passed_over=self._passed_over,
                most_files=self._most_files,
                is_over=lambda: self._clock() > self._deadline or stop.is_asked,
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

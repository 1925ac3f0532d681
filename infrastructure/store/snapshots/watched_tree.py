"""The files below some folders, kept up to date by the events of the system where it has them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from msgspec import Struct, field

from quorum.domain.calls.effects import FileMark
from quorum.domain.text.paths import is_below_any
from quorum.infrastructure.files import inotify
from quorum.infrastructure.files.inotify import FolderEvent, Inotify
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

    `is_over` is asked with each number of files whether to stop; a tree that had to is not `complete`. Without
    `events`, or with more than `most_folders`, the tree is not `live`: it stays as it was at first.
    """

    def __init__(
        self,
        roots: Iterable[str],
        *,
        passed_over: frozenset[str],
        is_over: Callable[[int], bool],
        events: Inotify | None = None,
        most_folders: int = 0,
    ) -> None:
        self.marks: dict[str, FileMark] = {}
        self.complete = True
        self._roots = tuple(roots)
        self._passed_over = passed_over
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
        for entry in _list_entries(path):
            if entry.path in self._passed_over:
                continue
            try:
                if not entry.is_dir(follow_symlinks=False):
                    self._add(entry.path, entry.stat(follow_symlinks=False), folder)
                    if self._is_over(len(self.marks)):
                        self.complete = False
                        return None
                elif not entry.path.endswith(SKIPPED):
                    folder.folders.add(entry.path)
            except OSError:  # gone between two system calls
                continue
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

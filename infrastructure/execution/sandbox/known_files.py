"""What was guarded once in a session stays guarded, by identity, wherever it is moved.

Guarded files are found by their names. A command can take a name away from them: it renames a folder above, or
moves it to where nothing is looked for. So each is remembered by its device and inode. Where one is no longer
at its path, or has more names than are known, the workspace is gone through for it. What others than commands
put in its place is guarded as well.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Sequence
from threading import Lock
from typing import NamedTuple

from msgspec import Struct

from infrastructure.execution.sandbox.guarded_files import (
    GuardedFiles,
    PathIdentity,
    can_be_entered,
    identify,
)
from infrastructure.files.birth_time import read_birth_time

_MOST_ENTRIES = 3_000_000
_TRIES = 3
_PLACE = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


class _Inode(NamedTuple):
    device: int
    number: int


class _Traits(NamedTuple):
    """What is kept while something is moved, and another that gets its inode does not have.

    `born_ns` is None where the file system does not tell; the rest is None of a folder.
    """

    born_ns: int | None
    modified_ns: int | None
    size: int | None

    def is_of_same(self, other: _Traits) -> bool:
        """A file may have been written since, or was born anew in an upper layer, but hardly both."""
        if self.born_ns == other.born_ns and (self.born_ns is not None or self.size is None):
            return True
        return self.size is not None and self[1:] == other[1:]


class _Standing(NamedTuple):
    """What stands at a path, and in which folder, both at one moment; None: nothing does.

    `is_closed` tells that nobody can look.
    """

    inode: _Inode | None = None
    folder: _Inode | None = None
    stamp: _Traits | None = None
    names: int = 0
    is_closed: bool = False


class _Known(Struct):
    """All names of something guarded, each with the folder that it stands in.

    `names` is how many names it has, `searched` how many it had when they were last looked for.
    """

    is_sensitive: bool
    stamp: _Traits
    names: int
    paths: dict[str, _Inode]
    searched: int = 1


class KnownFiles:
    """What the sandbox of a session has guarded until now. Several threads may use it."""

    def __init__(self) -> None:
        self._known: dict[_Inode, _Known] = {}
        self._places: dict[str, PathIdentity] = {}
        self._lock = Lock()

    def complete(
        self, found: GuardedFiles, roots: Sequence[str], *, is_busy: bool, check: Callable[[], None]
    ) -> bool:
        """Add to `found` all other names by which what was guarded lies in the `roots` now.

        False where something can be found nowhere while a command may be moving it, as `is_busy` says. Reads
        folders; call it off the event loop. `check` is called now and then, and ends the search by raising.
        """
        with self._lock:
            noted = [self._note(path, is_sensitive=False) for path in found.protected]
            noted += [self._note(path, is_sensitive=True) for path in found.sensitive]
            if is_busy and not all(noted):
                return False
            lost, moved = self._find_lost()
            is_whole = True
            for _ in range(_TRIES if is_busy else 1):
                if not lost:
                    break
                is_whole = self._search(lost, roots, check)
                lost = {inode for inode in lost if self._has_unknown_names(inode)}
            moved = {inode for inode in moved if not self._known[inode].paths}
            if moved and is_busy:
                return False
            for inode in lost:
                known = self._known[inode]
                if known.paths:
                    known.searched = known.names if is_whole and not is_busy else known.searched
                elif is_whole or inode not in moved:  # it was deleted
                    del self._known[inode]
            if not is_whole and any(inode in self._known for inode in lost):
                found.complete = False
            listed = {*found.protected, *found.sensitive}
            places: dict[str, PathIdentity] = {}
            for inode, known in self._known.items():
                places |= {path: PathIdentity(inode, folder) for path, folder in known.paths.items()}
                _add(known, found, listed)
            self._places = places
        return True

    def follow(self, roots: Sequence[str], *, is_busy: bool) -> None:
        """Find what a command has moved, as the person may replace it there. Call it off the event loop."""
        self.complete(GuardedFiles(), roots, is_busy=is_busy, check=lambda: None)

    def describe(self, path: str) -> PathIdentity | None:
        """What stood at a path when it was last found to be guarded; None where that is not known."""
        return self._places.get(path)

    def _note(self, path: str, *, is_sensitive: bool) -> bool:
        """Remember what stands at a path; False where nothing does any more."""
        inode, folder, stamp, names, is_closed = _look(path)
        if inode is None or folder is None or stamp is None:
            return is_closed
        known = self._known.get(inode)
        if known is None or (path not in known.paths and not known.stamp.is_of_same(stamp)):
            known = self._known[inode] = _Known(is_sensitive, stamp, names, {})
        known.is_sensitive |= is_sensitive
        known.stamp, known.names = stamp, names
        known.paths[path] = folder
        return True

    def _find_lost(self) -> tuple[set[_Inode], set[_Inode]]:
        """What has names that are not known, and what of it a command may have moved."""
        lost: set[_Inode] = set()
        moved: set[_Inode] = set()
        for inode, known in tuple(self._known.items()):
            if not known.paths:  # the last search could not look everywhere
                moved.add(inode)
            for path, folder in tuple(known.paths.items()):
                now = _look(path)
                if now.inode == inode and now.stamp is not None and known.stamp.is_of_same(now.stamp):
                    known.stamp, known.names = now.stamp, now.names
                elif not now.is_closed:
                    del known.paths[path]
                    # No command can remove it from its folder: where that is as it was, others did.
                    if now.folder != folder:
                        moved.add(inode)
                    elif now.inode is not None:
                        self._note(os.path.realpath(path), is_sensitive=known.is_sensitive)
            if self._has_unknown_names(inode):
                lost.add(inode)
        return lost, moved & lost

    def _has_unknown_names(self, inode: _Inode) -> bool:
        known = self._known[inode]
        is_folder = known.stamp.size is None
        return not known.paths or (not is_folder and known.names not in (len(known.paths), known.searched))

    def _search(self, lost: Collection[_Inode], roots: Sequence[str], check: Callable[[], None]) -> bool:
        """Go through everything for these, packages and repositories too; whether all could be looked at."""
        numbers = {inode.number for inode in lost}
        left, is_whole, waiting = _MOST_ENTRIES, True, list(roots)
        while waiting and left > 0:
            check()
            folder = waiting.pop()
            try:
                with os.scandir(folder) as opened:
                    entries = list(opened)
            except (FileNotFoundError, NotADirectoryError):  # gone meanwhile
                continue
            except OSError:
                is_whole &= not can_be_entered(folder)
                continue
            left -= len(entries)
            for entry in entries:
                if entry.inode() in numbers:
                    self._place(entry.path, lost)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
        return is_whole and not waiting

    def _place(self, path: str, lost: Collection[_Inode]) -> None:
        inode, folder, stamp, names, _ = _look(path)
        if inode is None or inode not in lost or folder is None or stamp is None:
            return
        known = self._known[inode]
        if known.stamp.is_of_same(stamp):  # otherwise one that was deleted has left its inode to it
            known.paths[path] = folder
            known.stamp, known.names = stamp, names


def _add(known: _Known, found: GuardedFiles, listed: Collection[str]) -> None:
    for path in known.paths:
        if path in listed:
            continue
        if _look(path).is_closed:  # nothing can be mounted there, and the folder may be opened again
            found.complete = False
            continue
        (found.sensitive if known.is_sensitive else found.protected).append(path)
        if not known.is_sensitive and path not in found.places and (place := identify(path)) is not None:
            found.places[path] = place


def _look(path: str) -> _Standing:
    above, name = os.path.split(path)
    folder: _Inode | None = None
    try:
        place = os.open(above, _PLACE)
        try:
            folder = _get_inode(os.fstat(place))
            status = os.stat(name, dir_fd=place, follow_symlinks=False)
            born_ns = read_birth_time(name, place)
        finally:
            os.close(place)
    except (FileNotFoundError, NotADirectoryError):
        return _Standing(folder=folder)
    except OSError:
        return _Standing(folder=folder, is_closed=True)
    is_folder = stat.S_ISDIR(status.st_mode)
    stamp = _Traits(born_ns, *((None, None) if is_folder else (status.st_mtime_ns, status.st_size)))
    return _Standing(_get_inode(status), folder, stamp, status.st_nlink)


def _get_inode(status: os.stat_result) -> _Inode:
    return _Inode(status.st_dev, status.st_ino)

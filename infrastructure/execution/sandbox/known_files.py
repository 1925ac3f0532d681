"""What was guarded once in a session stays guarded, by identity, wherever it is moved.

Guarded files are found by their names. A command can take a name away from them: it renames a folder above, or
moves it to where nothing is looked for. So each is remembered by its device and inode. Where one is no longer
at its path, or has more names than are known, the workspace is gone through for it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Sequence
from threading import Lock
from typing import NamedTuple

from domain.lazy_dataclass import dataclass
from infrastructure.execution.sandbox.guarded_files import GuardedFiles, PathIdentity, identify

_MOST_ENTRIES = 3_000_000
_TRIES = 3


class _Inode(NamedTuple):
    device: int
    number: int


@dataclass(slots=True)
class _Known:
    """All names of something guarded, each with the folder that it stands in.

    `stamp` is what a file keeps while it is moved and another that gets its inode does not have; None of a
    folder. `names` is how many names it has, `searched` how many it had when they were last looked for.
    """

    is_sensitive: bool
    stamp: tuple[int, int] | None
    names: int
    paths: dict[str, _Inode | None]
    searched: int = 1


class KnownFiles:
    """What the sandbox of a session has guarded until now. Several threads may use it."""

    def __init__(self) -> None:
        self._known: dict[_Inode, _Known] = {}
        self._lock = Lock()

    def complete(
        self, found: GuardedFiles, roots: Sequence[str], *, is_busy: bool, check: Callable[[], None]
    ) -> bool:
        """Add to `found` all other names by which what was guarded lies in the `roots` now.

        False where something can be found nowhere while a command may be moving it, as `is_busy` says. Reads
        folders; call it off the event loop. `check` is called now and then, and ends the search by raising.
        """
        with self._lock:
            for path in found.protected:
                self._note(path, is_sensitive=False)
            for path in found.sensitive:
                self._note(path, is_sensitive=True)
            lost = self._find_lost(is_busy=is_busy)
            for _ in range(_TRIES if is_busy else 1):
                if not lost:
                    break
                if not self._search(lost, roots, check):
                    found.complete = False
                lost = {inode for inode in lost if not self._known[inode].paths}
            if lost and is_busy:
                return False
            for inode in lost:  # it was deleted
                del self._known[inode]
            for known in self._known.values():
                _add(known, found)
        return True

    def describe(self, path: str) -> PathIdentity | None:
        """What stood at a path when it was last found to be guarded; None where that is not known."""
        with self._lock:
            for inode, known in self._known.items():
                if (folder := known.paths.get(path)) is not None:
                    return PathIdentity(inode, folder)
        return None

    def _note(self, path: str, *, is_sensitive: bool) -> None:
        if (status := _look(path)) is None:
            return
        inode, stamp = _get_inode(status), _get_stamp(status)
        known = self._known.get(inode)
        if known is None or (known.stamp != stamp and path not in known.paths):
            known = self._known[inode] = _Known(is_sensitive, stamp, status.st_nlink, {})
        known.is_sensitive |= is_sensitive
        known.stamp = stamp
        known.paths[path] = _identify_folder(path)

    def _find_lost(self, *, is_busy: bool) -> set[_Inode]:
        """What has names that are not known. What is known to be gone is forgotten."""
        lost: set[_Inode] = set()
        for inode, known in tuple(self._known.items()):
            was_moved = is_busy
            for path, folder in tuple(known.paths.items()):
                status = _look(path)
                if status is not None and _get_inode(status) == inode:
                    known.names = status.st_nlink
                    continue
                del known.paths[path]
                # No command in the sandbox can remove it from its folder: where that is as it was, others did.
                was_moved |= _identify_folder(path) != folder
            if not known.paths:
                if was_moved:
                    lost.add(inode)
                else:
                    del self._known[inode]
            elif known.stamp is not None and known.names not in (len(known.paths), known.searched):
                lost.add(inode)
        return lost

    def _search(self, lost: Collection[_Inode], roots: Sequence[str], check: Callable[[], None]) -> bool:
        """Go through everything for these, packages and repositories too; whether all could be looked at."""
        numbers = {inode.number for inode in lost}
        left, is_whole, waiting = _MOST_ENTRIES, True, list(roots)
        while waiting and left > 0:
            check()
            try:
                with os.scandir(waiting.pop()) as opened:
                    entries = list(opened)
            except (FileNotFoundError, NotADirectoryError):  # gone meanwhile
                continue
            except OSError:
                is_whole = False
                continue
            left -= len(entries)
            for entry in entries:
                if entry.inode() in numbers:
                    self._place(entry.path, lost)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
        for inode in lost:
            self._known[inode].searched = self._known[inode].names
        return is_whole and not waiting

    def _place(self, path: str, lost: Collection[_Inode]) -> None:
        status = _look(path)
        if status is None or (inode := _get_inode(status)) not in lost:
            return
        known = self._known[inode]
        if known.stamp == _get_stamp(status):  # otherwise one that was deleted has left its inode to it
            known.paths[path] = _identify_folder(path)
            known.names = status.st_nlink


def _add(known: _Known, found: GuardedFiles) -> None:
    listed = found.sensitive if known.is_sensitive else found.protected
    for path in known.paths:
        if path not in listed:
            listed.append(path)
        if not known.is_sensitive and path not in found.places and (place := identify(path)) is not None:
            found.places[path] = place


def _look(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _identify_folder(path: str) -> _Inode | None:
    status = _look(os.path.dirname(path))
    return _get_inode(status) if status is not None else None


def _get_inode(status: os.stat_result) -> _Inode:
    return _Inode(status.st_dev, status.st_ino)


def _get_stamp(status: os.stat_result) -> tuple[int, int] | None:
    return None if stat.S_ISDIR(status.st_mode) else (status.st_mtime_ns, status.st_size)

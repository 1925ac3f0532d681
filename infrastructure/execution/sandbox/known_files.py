"""What was guarded once stays guarded, by identity, wherever it is moved.

Guarded files are found by their names. A command can take a name away from them: it renames a folder above, or
moves it to where nothing is looked for. So each is remembered by its device and inode, in a store also for
later sessions and for others beside this one. Where one is no longer at its path, or has more names than are
known, the workspace is gone through for it. What others than commands put in its place is guarded as well.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from threading import Lock
from typing import NamedTuple

from quorum.domain.errors import ConfigError
from quorum.domain.text.paths import is_below_any, lies_in
from quorum.infrastructure.execution.sandbox.guarded_files import (
    GuardedFiles,
    PathIdentity,
    can_be_entered,
    identify,
)
from quorum.infrastructure.execution.sandbox.identity_store import IdentityStore, Inode, KnownFile, look_at
from quorum.infrastructure.execution.sandbox.places import KnownPlaces

_MOST_ENTRIES = 3_000_000
_MOST_INNER = 50_000
# A folder may change again, unnoticed, within the same tick of the clock of its file system.
_TICK_NS = 20_000_000
_PAUSE_SECS = 0.01
_SETTLE_SECS = 1.0
# Of a repository: what git only adds to, by what it holds. Copies of a repository share it by hard links.
_OBJECTS = "objects"
_UNWRITTEN = "what is guarded here cannot be kept for later sessions"
_UNREADABLE = (
    "the list of what earlier sessions guarded here cannot be read, and a guarded file that was renamed since "
    "may be open; the list begins anew, and until this session ends commands are asked about"
)


class _Times(NamedTuple):
    inode: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def read(cls, folder: str) -> _Times | None:
        """Those of a folder now, None where it is gone; they change with the names in it."""
        try:
            status = os.lstat(folder)
        except OSError:
            return None
        return cls(status.st_ino, status.st_mtime_ns, status.st_ctime_ns)

    @property
    def is_settled(self) -> bool:
        """Whether one more change from now on has other times."""
        return max(self.modified_ns, self.changed_ns) < time.time_ns() - _TICK_NS


_UNSETTLED = _Times(0, 0, 0)


class KnownFiles:
    """What the sandbox has guarded in the workspace until now. Several threads may use it.

    `store` keeps it beyond the process; without one it is known to this session only.
    """

    def __init__(self, store: IdentityStore | None = None, places: KnownPlaces | None = None) -> None:
        """`places` are told what has been found, for the decisions about other tools."""
        self._store = store
        self._told = places
        self._is_store_readable = True
        self._written: dict[str, object] = {}
        self._why_unwritten: str | None = None
        self._known: dict[Inode, KnownFile] = {}
        self._places: dict[str, PathIdentity] = {}
        # What has just been looked at.
        self._noted: dict[str, Inode] = {}
        self._lock = Lock()

    @property
    def gap(self) -> str | None:
        """Why what earlier sessions guarded may be open, a clause; None where it is known."""
        return None if self._is_store_readable else _UNREADABLE

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say of each command, in sentences."""
        return () if self._why_unwritten is None else (f"{_UNWRITTEN}: {self._why_unwritten}",)

    def complete(
        self,
        found: GuardedFiles,
        roots: Sequence[str],
        hidden: Sequence[str] = (),
        *,
        is_busy: Callable[[Sequence[str]], bool],
        check: Callable[[], None],
    ) -> bool:
        """Add to `found` the `hidden` places, and all other names of what was guarded that lie in the `roots`.

        False where something was moved meanwhile, and where it can be found nowhere while a command may be
        moving it, as `is_busy` says of folders. Reads folders; call it off the event loop. `check` is called
        now and then, and ends the search by raising.
        """
        with self._lock:
            self._noted = {}
            self._read_stored(roots)
            noted = [self._note(path, is_sensitive=False) for path in found.protected]
            noted += [self._note(path, is_sensitive=True) for path in (*found.sensitive, *hidden)]
            if not all(noted):
                return False
            found.complete &= self._note_inner(found)
            found.sensitive += [path for path in hidden if path not in found.sensitive]
            lost, moved = self._find_lost()
            may_be_moving = bool(lost) and is_busy(roots)
            is_whole = not lost or self._search(lost, roots, check)
            lost = {inode for inode in lost if self._known[inode].has_unknown_names}
            moved = {inode for inode in moved if not self._known[inode].paths}
            if moved and may_be_moving:
                return False
            for inode in lost:
                known = self._known[inode]
                if known.paths:
                    known.searched = known.links if is_whole and not may_be_moving else known.searched
                elif is_whole or inode not in moved:  # it was deleted
                    del self._known[inode]
            if not is_whole and any(inode in self._known for inode in lost):
                found.complete = False
            self._add_to(found, roots)
            self._write_stored(roots)
        return True

    def follow(self, roots: Sequence[str], *, is_busy: Callable[[Sequence[str]], bool]) -> None:
        """Find what a command has moved, as the person may replace it there. Call it off the event loop."""
        self.complete(GuardedFiles(), roots, is_busy=is_busy, check=lambda: None)

    def describe(self, path: str) -> PathIdentity | None:
        """What stood at a path when it was last found to be guarded; None where that is not known."""
        return self._places.get(path)

    def _read_stored(self, roots: Sequence[str]) -> None:
        if self._store is None:
            return
        stored, is_readable = self._store.read_changed(roots)
        self._is_store_readable &= is_readable
        for inode, each in stored.items():
            known = self._known.get(inode)
            if known is not None and known.traits.is_of_same(each.traits):
                known.is_sensitive |= each.is_sensitive
                known.paths = each.paths | known.paths
            elif known is None or any(_stands_at(path, inode, each) for path in each.paths):
                self._known[inode] = each

    def _write_stored(self, roots: Sequence[str]) -> None:
        """Keep what lies in each root, where that is another than was kept before."""
        for root in roots if self._store is not None else ():
            files = self._select(root)
            if self._written.get(root) == (written := _copy(files)):
                continue

            def list_files(root: str = root) -> Mapping[Inode, KnownFile]:
                self._read_stored(roots)
                return self._select(root)

            assert self._store is not None
            try:
                self._store.write(root, list_files)
            except ConfigError as error:
                self._why_unwritten = str(error)
            else:
                self._why_unwritten = None
            self._written[root] = written

    def _select(self, root: str) -> dict[Inode, KnownFile]:
        """What has a name in a root, and what may still be there."""
        return {
            inode: known
            for inode, known in self._known.items()
            if not known.paths or any(is_below_any(path, (root,)) for path in known.paths)
        }

    def _note(self, path: str, *, is_sensitive: bool) -> bool:
        """Remember what stands at a path; False where nothing does any more."""
        now = look_at(path)
        if now.inode is None or now.folder is None or now.traits is None:
            return now.is_closed
        known = self._known.get(now.inode)
        if known is None or (path not in known.paths and not known.traits.is_of_same(now.traits)):
            known = self._known[now.inode] = KnownFile(is_sensitive, now.traits, {})
        known.is_sensitive |= is_sensitive
        known.traits, known.links = now.traits, now.links
        known.paths[path] = now.folder
        self._noted[path] = now.inode
        return True

    def _note_inner(self, found: GuardedFiles) -> bool:
        """Remember what lies in guarded folders: it may be moved out of them, or have other names elsewhere.

        In folders that must not be written only what has other names, as much of the rest is replaced all the
        time. False where there is more than can be looked at.
        """
        left = _MOST_INNER
        waiting = [(path, False) for path in found.protected] + [(path, True) for path in found.sensitive]
        while waiting:
            folder, is_sensitive = waiting.pop()
            for entry in _list_inner(folder):
                left -= 1
                if left < 0:
                    return False
                if entry.is_dir(follow_symlinks=False):
                    waiting += [(entry.path, is_sensitive)] if entry.name != _OBJECTS else []
                elif entry.is_file(follow_symlinks=False) and (is_sensitive or _has_other_names(entry)):
                    self._note(entry.path, is_sensitive=is_sensitive)
        return True

    def _find_lost(self) -> tuple[set[Inode], set[Inode]]:
        """What has names that are not known, and what of it a command may have moved."""
        lost: set[Inode] = set()
        moved: set[Inode] = set()
        for inode, known in tuple(self._known.items()):
            if not known.paths:  # the last search could not look everywhere
                moved.add(inode)
            for path, folder in tuple(known.paths.items()):
                if self._noted.get(path) == inode:
                    continue
                now = look_at(path)
                if now.inode == inode and now.traits is not None and known.traits.is_of_same(now.traits):
                    known.traits, known.links = now.traits, now.links
                elif not now.is_closed:
                    del known.paths[path]
                    # No command can remove it from its folder: where that is as it was, others did.
                    if now.folder != folder:
                        moved.add(inode)
                    elif now.inode is not None:
                        self._note(os.path.realpath(path), is_sensitive=known.is_sensitive)
            if known.has_unknown_names:
                lost.add(inode)
        return lost, moved & lost

    def _search(self, lost: Collection[Inode], roots: Sequence[str], check: Callable[[], None]) -> bool:
        """Go through everything for these, packages and repositories too; whether all could be looked at.

        What is moved meanwhile from where nobody looked yet to where somebody did changes that folder: changed
        folders are gone through again until there are none.
        """
        numbers = {inode.number for inode in lost}
        seen: dict[str, _Times | None] = {}
        left, is_whole, waiting = _MOST_ENTRIES, True, list(roots)
        deadline = time.monotonic() + _SETTLE_SECS
        while waiting:
            while waiting and left > 0:
                check()
                folder = waiting.pop()
                times = _Times.read(folder)
                if folder in seen and seen[folder] == times:
                    continue
                seen[folder] = times if times is None or times.is_settled else _UNSETTLED
                try:
                    entries = _list_entries(folder)
                except OSError:
                    is_whole &= not can_be_entered(folder)
                    continue
                left -= len(entries)
                for entry in entries:
                    if entry.inode() in numbers:
                        self._place(entry.path, lost)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
            if not any(self._known[inode].has_unknown_names for inode in lost):
                break
            if left <= 0 or time.monotonic() > deadline:
                return False
            waiting = [folder for folder, times in seen.items() if _Times.read(folder) != times]
            if any(seen[folder] == _UNSETTLED for folder in waiting):
                time.sleep(_PAUSE_SECS)
        return is_whole

    def _place(self, path: str, lost: Collection[Inode]) -> None:
        now = look_at(path)
        if now.inode is None or now.inode not in lost or now.folder is None or now.traits is None:
            return
        known = self._known[now.inode]
        if known.traits.is_of_same(now.traits):  # otherwise one that was deleted has left its inode to it
            known.paths[path] = now.folder
            known.traits, known.links = now.traits, now.links

    def _add_to(self, found: GuardedFiles, roots: Sequence[str]) -> None:
        listed = {*found.protected, *found.sensitive}
        masked = {
            *found.sensitive,
            *(p for known in self._known.values() if known.is_sensitive for p in known.paths),
        }
        locked = {*masked, *listed}
        places: dict[str, PathIdentity] = {}
        for inode, known in self._known.items():
            places |= {path: PathIdentity(inode, folder) for path, folder in known.paths.items()}
            around = masked if known.is_sensitive else locked
            for path in known.paths:
                if (
                    path not in listed
                    and is_below_any(path, roots)
                    and not lies_in(around, os.path.dirname(path))
                ):
                    _add(path, known, found)
        self._places = places
        if self._told is not None:
            self._told.replace(
                protected=(p for known in self._known.values() if not known.is_sensitive for p in known.paths),
                sensitive=(p for known in self._known.values() if known.is_sensitive for p in known.paths),
            )


def _add(path: str, known: KnownFile, found: GuardedFiles) -> None:
    if look_at(path).is_closed:  # nothing can be mounted there, and the folder may be opened again
        found.complete = False
        return
    (found.sensitive if known.is_sensitive else found.protected).append(path)
    if not known.is_sensitive and path not in found.places and (place := identify(path)) is not None:
        found.places[path] = place


def _list_entries(folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing where it is gone, or is none. Raises OSError where nobody can look."""
    try:
        with os.scandir(folder) as opened:
            return list(opened)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _list_inner(folder: str) -> list[os.DirEntry[str]]:
    try:
        return _list_entries(folder)
    except OSError:  # as it is for commands
        return []


def _has_other_names(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_nlink > 1
    except OSError:  # gone meanwhile
        return False


def _stands_at(path: str, inode: Inode, known: KnownFile) -> bool:
    now = look_at(path)
    return now.inode == inode and now.traits is not None and known.traits.is_of_same(now.traits)


def _copy(files: Mapping[Inode, KnownFile]) -> dict[Inode, object]:
    return {
        inode: (known.is_sensitive, known.traits, tuple(sorted(known.paths))) for inode, known in files.items()
    }

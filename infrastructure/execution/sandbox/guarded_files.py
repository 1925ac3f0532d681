"""Finds what must not be written, and what must not be read, in the workspace as it is now.

Links to folders of the workspace are followed: what stands behind one is found under the names by which
programs reach it. A folder whose times did not change since it was read has the same names in it, so it is not
read again: that costs one system call for each folder, instead of one judgement for each file. A `.git` folder
that commands may write to is compared before and after each command (`OpenedRepository`).
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct, field

from quorum.domain.review.path_policy import OwnCode, PathPolicy, extract_last_names, is_git_folder_name
from quorum.domain.text.paths import is_below_any, lies_in
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.blocking import walk_alone
from quorum.infrastructure.execution.sandbox.repository_places import find_marker, list_obeyed_places
from quorum.infrastructure.files.mounts import are_local

MOST_ENTRIES = 500_000
MOST_FOUND = 300
# Not looked into: installed packages, which hold thousands of files and the certificates of authorities, but no
# secret of the person. Of repositories in them, only those at the top of a package are found.
_PACKAGES = frozenset({"node_modules", "site-packages", "dist-packages", ".tox", ".nox", "__pycache__"})
# A folder that changed just before it was read may change again within the same tick of its clock, unnoticed.
_TICK_NS = 2_000_000_000
KERNEL_TICK_NS = 20_000_000
_PAUSE_SECS = 0.01
_CHECK_SECS = 0.05
_SETTLE_SECS = 1.0
_NAME = attrgetter("name")
_GLOB = r"[*?\[]"
# Of a .git folder: what makes git run something, or obey another repository.
GIT_SETTINGS = (
    *("config", "config.worktree", "hooks", "info", "modules", "commondir", "gitdir", "worktrees"),
    # steps of a rebase may be commands; the merge strategy of a pick and old remotes may name programs
    *("rebase-merge", "rebase-apply", "sequencer", "remotes", "branches"),
)
# What makes a folder of any other name a repository, as git sees it from inside or below.
HEAD = "HEAD"
_BARE = (frozenset({"head", "objects", "refs"}), frozenset({"head", "commondir"}))
_BARE_NAMES = frozenset[str]().union(*_BARE)


class GuardedFiles(Struct):
    """What was found: canonical paths. `complete` is False where there was more than could be looked at.

    `places` has each protected path as it is spelled, with what stood there, and `links` the links that lead to
    folders of the workspace.
    """

    protected: list[str] = field(default_factory=list)
    sensitive: list[str] = field(default_factory=list)
    places: dict[str, PathIdentity] = field(default_factory=dict)
    links: dict[str, PathIdentity] = field(default_factory=dict)
    complete: bool = True


class PathIdentity(NamedTuple):
    """What tells whether the same thing stands at a path as before.

    `itself` and `parent` are the device and inode of the entry and of its folder; `link` is the text of a
    symbolic link with what it leads to, and empty for anything else.
    """

    itself: tuple[int, int]
    parent: tuple[int, int]
    link: str = ""


def identify(path: str) -> PathIdentity | None:
    """What stands at a path now; None where nothing does, or where nobody can look."""
    try:
        status, above = os.lstat(path), os.lstat(os.path.dirname(path))
        link = _link(path) if stat.S_ISLNK(status.st_mode) else ""
    except OSError:
        return None
    return PathIdentity((status.st_dev, status.st_ino), (above.st_dev, above.st_ino), link)


def _link(path: str) -> str:
    text = os.readlink(path)
    try:
        target = os.stat(path)
    except OSError:  # it leads nowhere, yet
        return f"{text} ->"
    return f"{text} -> {target.st_dev}:{target.st_ino}"


class FolderCache:
    """What searches found in single folders, so that a folder is read again only once it has changed.

    It belongs to one policy. Searches in several threads share it, and come one after the other: what the first
    is still reading would otherwise be read by all.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, bool], tuple[_Stamp, _Findings]] = {}
        self._searching = threading.Lock()

    @contextmanager
    def hold(self, check: Callable[[], None]) -> Iterator[None]:
        """Search alone. `check` is called while another one does, and ends the waiting by raising."""
        while not self._searching.acquire(timeout=_CHECK_SECS):
            check()
        try:
            yield
        finally:
            self._searching.release()

    def get(self, folder: str, is_packages: bool, stamp: _Stamp) -> _Findings | None:
        """What was found in the folder when it had this stamp."""
        known = self._known.get((folder, is_packages))
        return known[1] if known is not None and known[0] == stamp else None

    def put(self, folder: str, is_packages: bool, stamp: _Stamp, findings: _Findings, at_ns: int) -> None:
        """Remember a folder that was read at this time, unless it had changed only just before."""
        if max(stamp.modified_ns, stamp.changed_ns) < at_ns - _TICK_NS:
            self._known[(folder, is_packages)] = (stamp, findings)

    def keep_only(self, folders: set[tuple[str, bool]]) -> None:
        """Forget folders that a whole search did not come to."""
        if len(self._known) > len(folders):
            self._known = {key: known for key, known in self._known.copy().items() if key in folders}


class _Stamp(NamedTuple):
    """What tells one state of a folder's list of names from another. Times are in nanoseconds."""

    device: int
    inode: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def read(cls, folder: str) -> _Stamp | None:
        """That of a folder now; None where it is gone, or nobody can reach it."""
        try:
            status = os.stat(folder)
        except OSError:
            return None
        return cls(status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)

    def is_settled(self, at_ns: int) -> bool:
        """Whether one more change after this time has another stamp."""
        return max(self.modified_ns, self.changed_ns) < at_ns - KERNEL_TICK_NS


_UNSETTLED = _Stamp(0, 0, 0, 0)


class _Findings(Struct, frozen=True):
    """What stands in one folder: how many entries, those that names of the policy may cover, and the folders to
    look into. In a folder of packages these are the packages. `links` may lead to folders. `is_repository`: git
    takes the folder for one without a working tree. `is_closed` tells that it could not be listed.
    """

    entries: int
    named: tuple[str, ...]
    folders: tuple[str, ...]
    links: tuple[str, ...] = ()
    is_repository: bool = False
    is_closed: bool = False


class _Waiting(NamedTuple):
    """A folder to look into. Behind a link to what is searched anyway only so many `levels` of folders matter
    as the names of a pattern reach up to the link's own.
    """

    path: str
    is_packages: bool
    levels: int | None = None


def find_guarded(
    folders: Iterable[str],
    policy: PathPolicy,
    *,
    entries: int = MOST_ENTRIES,
    most: int = MOST_FOUND,
    cache: FolderCache | None = None,
    check: Callable[[], None] = lambda: None,
) -> GuardedFiles:
    """Look through folders for paths of the policy, breadth first: what lies near the top comes first.

    `.git` is not looked into, and links are followed only where they stay in these folders. Bounded by the
    number of `entries` looked at and of paths found of either kind; what the policy names at the top of a
    folder is found whatever else there is. A `cache` is used where the file systems keep the times of folders.
    `check` is called for each folder, and ends the search by raising. Reads folders: not in the event loop.
    """
    tops = tuple(dict.fromkeys(folders))
    usable = cache if cache is not None and are_local(tops) else None
    with usable.hold(check) if usable is not None else nullcontext(), walk_alone():
        return _Search(policy, entries, most, usable, check).search(tops)


class _Search:
    def __init__(
        self,
        policy: PathPolicy,
        entries: int,
        most: int,
        cache: FolderCache | None,
        check: Callable[[], None],
    ) -> None:
        self._check = check
        self._policy = policy
        self._left = entries
        self._most = most
        self._cache = cache
        self._is_protected = extract_last_names(policy.protected)
        self._is_sensitive = extract_last_names(policy.sensitive, copies=True)
        self._is_either = extract_last_names((*policy.protected, *policy.sensitive), copies=True)
        self._found = GuardedFiles()
        self._met: set[str] = set()
        self._real_folders: dict[str, str] = {}
        # Sensitive folders and all below them, masked as a whole: looked into for protected paths only.
        self._masked: set[str] = set()
        # The same of protected folders, which are looked into as any other.
        self._locked: set[str] = set()
        self._visited: set[tuple[str, bool]] = set()
        self._tops: tuple[str, ...] = ()
        patterns = (*policy.protected, *policy.sensitive)
        self._longest = max((pattern.strip("/").count("/") for pattern in patterns), default=0)
        self._looked: dict[_Waiting, _Stamp | None] = {}
        self._has_read = False
        self._settle_by: float | None = None
        self._found_before = (0, 0, 0)
        self._linked: set[tuple[str, tuple[str, ...]]] = set()

    def search(self, tops: Sequence[str]) -> GuardedFiles:
        # Names that anybody could hide among thousands of others are asked for, not waited for.
        for top in tops:
            for path in _list_named(top, (*self._policy.protected, *self._policy.sensitive)):
                if os.path.lexists(path):
                    self._judge(path, os.path.basename(path), bound=False)
        for path in list_code(self._policy.code, tops):
            if (identity := identify(path)) is not None:
                self._found.places[path] = identity
        self._tops = tuple(tops)
        for marker in filter(None, map(find_marker, tops)):
            self._note_obeyed(list_obeyed_places(marker))
        waiting = deque(_Waiting(top, os.path.basename(top) in _PACKAGES) for top in tops)
        while self._found.complete and (waiting := waiting or self._list_changed()):
            self._check()
            here = waiting.popleft()
            if here not in self._looked:
                waiting += self._list_folders(here)
        if self._cache is not None and self._found.complete:
            self._cache.keep_only(self._visited)
        return self._found

    def _list_changed(self) -> deque[_Waiting]:
        """The folders to look into anew, as their names changed since: what another program moves meanwhile
        from where nobody looked yet to where somebody did would not be found.

        Where all was known, nothing can have been missed. Once a look brings nothing new, that was all: files
        may come and go all the time. Folders and guarded files that do leave the search incomplete.
        """
        found = (len(self._visited), len(self._met), len(self._found.places))
        if not self._has_read or found == self._found_before:
            return deque()
        self._found_before = found
        if self._settle_by is None:
            self._settle_by = time.monotonic() + _SETTLE_SECS
        elif time.monotonic() > self._settle_by:
            self._found.complete = False
            return deque()
        changed = deque(here for here, stamp in self._looked.items() if _Stamp.read(here.path) != stamp)
        if any(self._looked[here] == _UNSETTLED for here in changed):
            time.sleep(_PAUSE_SECS)
        for here in changed:
            del self._looked[here]
        return changed

    def _list_folders(self, here: _Waiting) -> Iterator[_Waiting]:
        """Judges all that is in a folder, and yields the folders that are to be looked into."""
        folder, is_packages, levels = here
        self._visited.add((folder, is_packages))
        findings = self._collect_findings(here)
        if findings.entries > self._left or findings.is_closed:
            self._found.complete = False
        self._left -= min(findings.entries, self._left)
        for path in findings.named:
            self._judge(path, os.path.basename(path))
        if findings.is_repository:
            self._note_obeyed(os.path.join(folder, name) for name in (HEAD, *GIT_SETTINGS))
        if folder in self._masked or folder in self._locked:
            self._note_linked(findings.links, is_sensitive=folder in self._masked)
        for path in findings.links if levels is None or levels > 0 else ():
            yield from self._follow(path, levels)
        for path in findings.folders if levels is None or levels > 0 else ():
            name = os.path.basename(path)
            if folder in self._masked or (self._is_sensitive.covers(name) and self._policy.is_sensitive(path)):
                self._masked.add(path)
            if folder in self._locked or (self._is_protected.covers(name) and self._policy.is_protected(path)):
                self._locked.add(path)
            if not is_packages:
                yield _Waiting(path, name in _PACKAGES, None if levels is None else levels - 1)
                continue
            repository = os.path.join(path, ".git")
            if os.path.lexists(repository):
                self._judge(repository, ".git")
            if name.startswith("@"):
                yield _Waiting(path, True)

    def _follow(self, link: str, levels: int | None) -> Iterator[_Waiting]:
        """The folder of the workspace behind a link, unless it was looked at under such names."""
        real = os.path.realpath(link)
        top = next((top for top in self._tops if is_below_any(real, (top,))), None)
        if top is None or not os.path.isdir(real):
            return
        if (identity := identify(link)) is not None:
            self._found.links[link] = identity
        is_searched = not any(name in _PACKAGES or name == ".git" for name in real[len(top) :].split("/"))
        left = self._longest - 1 if levels is None else levels - 1
        tail = tuple(link.split("/")[-max(self._longest, 1) :])
        if (real, tail) in self._linked or (is_searched and left < 0):
            return
        self._linked.add((real, tail))
        yield _Waiting(link, False, left if is_searched else None)

    def _collect_findings(self, here: _Waiting) -> _Findings:
        folder, is_packages, _ = here
        at_ns = time.time_ns()
        stamp = _Stamp.read(folder)
        self._looked[here] = stamp if stamp is None or stamp.is_settled(at_ns) else _UNSETTLED
        if stamp is None or self._cache is None:
            self._has_read = True
            return self._read(folder, is_packages)
        known = self._cache.get(folder, is_packages, stamp)
        if known is not None:
            return known
        self._has_read = True
        findings = self._read(folder, is_packages)
        if findings.entries <= self._left and not findings.is_closed:  # it was read whole
            self._cache.put(folder, is_packages, stamp, findings, at_ns)
        return findings

    def _read(self, folder: str, is_packages: bool) -> _Findings:
        """What is in a folder; of one with more entries than are left to look at, what is in the first ones."""
        try:
            listed = _list_entries(folder)
        except (FileNotFoundError, NotADirectoryError):  # gone meanwhile
            return _Findings(0, (), ())
        except OSError:
            return _Findings(0, (), (), is_closed=can_be_entered(folder))
        named: list[str] = []
        folders: list[str] = []
        links: list[str] = []
        names = {entry.name.casefold() for entry in listed if entry.name.casefold() in _BARE_NAMES}
        for entry in listed[: self._left]:
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_packages:
                if is_folder:
                    folders.append(entry.path)
                continue
            is_named = self._is_either.covers(entry.name)
            if is_named:
                named.append(entry.path)
            if is_folder and not self._is_closed(entry, is_named):
                folders.append(entry.path)
            elif entry.is_symlink():
                links.append(entry.path)
        return _Findings(
            len(listed),
            tuple(named),
            tuple(folders),
            tuple(links),
            is_repository=any(bare <= names for bare in _BARE),
        )

    def _is_closed(self, entry: os.DirEntry[str], is_named: bool) -> bool:
        """Whether there is nothing more to look for below a folder."""
        return entry.name == ".git" or (is_named and is_git_folder_name(entry.name))

    def _judge(self, path: str, name: str, *, bound: bool = True) -> None:
        """Takes note of a path that is guarded: of what is both, as sensitive."""
        is_protected = self._is_protected.covers(name) and self._policy.is_protected(path)
        if is_protected and (identity := identify(path)) is not None:
            self._found.places[path] = identity
        if self._is_sensitive.covers(name) and self._policy.is_sensitive(path):
            if os.path.dirname(path) not in self._masked:
                self._note(path, self._found.sensitive, bound=bound)
        elif is_protected:
            self._note(path, self._found.protected, bound=bound)
            if is_git_folder_name(name):
                self._note_obeyed(list_obeyed_places(path))
                self._note_inside(path)

    def _note_inside(self, repository: str) -> None:
        """Sensitive files at the top of a repository's own folder, where git is told to keep passwords."""
        with suppress(OSError), os.scandir(repository) as listing:
            for entry in listing:
                if self._is_sensitive.covers(entry.name) and not self._is_protected.covers(entry.name):
                    self._judge(entry.path, entry.name)

    def _note_linked(self, links: Iterable[str], *, is_sensitive: bool) -> None:
        """What links in a guarded folder lead to, as programs reach it by them."""
        found = self._found.sensitive if is_sensitive else self._found.protected
        for link in links:
            self._note_place(os.path.realpath(link), found)

    def _note_obeyed(self, places: Iterable[str]) -> None:
        for place in places:
            self._note_place(place, self._found.protected)

    def _note_place(self, place: str, found: list[str]) -> None:
        """Takes note of a place in the folders that is guarded whatever its name."""
        if place in self._tops or not is_below_any(place, self._tops) or lies_in(self._met, place):
            return
        is_known = os.path.basename(place) != HEAD and self._policy.is_protected(place)
        if not is_known and (identity := identify(place)) is not None:
            if found is self._found.protected:
                self._found.places[place] = identity
            self._note(place, found, bound=True)

    def _note(self, path: str, found: list[str], *, bound: bool) -> None:
        real = self._resolve(path)
        if real in self._met or not os.path.lexists(real):  # a link that leads nowhere has nothing to cover
            return
        if bound and len(found) >= self._most:
            self._found.complete = False
            return
        self._met.add(real)
        found.append(real)

    def _resolve(self, path: str) -> str:
        """The canonical path; folders are resolved once, as many files may lie in one."""
        if os.path.islink(path):
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        if (real := self._real_folders.get(folder)) is None:
            real = self._real_folders[folder] = os.path.realpath(folder)
        return os.path.join(real, name)


def _list_entries(folder: str) -> Sequence[os.DirEntry[str]]:
    with os.scandir(folder) as opened:
        return sorted(opened, key=_NAME)


def can_be_entered(folder: str) -> bool:
    """Whether a command could use names in a folder that cannot be listed, or make it listable: it is ours."""
    try:
        return os.access(folder, os.X_OK) or os.stat(folder).st_uid == os.geteuid()
    except OSError:
        return True


def _list_named(folder: str, patterns: Iterable[str]) -> Iterator[str]:
    """The paths in a folder that patterns name without wildcards."""
    plain = (pattern.strip("/") for pattern in patterns if not compile_once(_GLOB).search(pattern))
    return (os.path.join(folder, name) for name in plain if name)


_MOST_ENTRIES = 100_000
_LOOSE_OBJECTS = r"[0-9a-f]{2}"


class OpenedRepository:
    """Compares such a `folder` before and after a command. `closed` are names in it that stay as they are."""

    def __init__(self, folder: str, closed: Sequence[str]) -> None:
        self.folder = folder
        self._closed = tuple(os.path.join(folder, name) for name in closed)
        self._parts = self._read_identities()
        self._links, self._is_complete = self._find_links()

    def find_made(self) -> tuple[list[str], bool]:
        """Closed names that have come or changed and links that are new, and whether all were found."""
        changed = [
            path
            for path, now in self._read_identities().items()
            if (before := self._parts.get(path)) is None or (before.link and before != now)
        ]
        links, is_complete = self._find_links()
        changed += [path for path, text in links.items() if self._links.get(path) != text]
        return list(dict.fromkeys(changed)), is_complete and self._is_complete

    def _read_identities(self) -> dict[str, PathIdentity]:
        found = ((path, identify(path)) for path in self._closed)
        return {path: identity for path, identity in found if identity is not None}

    def _find_links(self) -> tuple[dict[str, str], bool]:
        """All links but those among loose objects, which git only reads; whether everything was looked at."""
        links: dict[str, str] = {}
        for number, entry in enumerate(self._list_entries(self.folder)):
            if number >= _MOST_ENTRIES:
                return links, False
            if entry.is_symlink():
                links[entry.path] = os.readlink(entry.path)
        return links, True

    def _list_entries(self, top: str) -> Iterator[os.DirEntry[str]]:
        waiting = [top]
        objects = os.path.join(top, "objects")
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(folder) as opened:
                    listed = list(opened)
            except OSError:  # gone meanwhile, or closed to us and so to git
                continue
            for entry in listed:
                yield entry
                is_loose = folder == objects and compile_once(_LOOSE_OBJECTS).fullmatch(entry.name)
                if entry.is_dir(follow_symlinks=False) and not is_loose and entry.path not in self._closed:
                    waiting.append(entry.path)


def list_code(code: OwnCode, folders: Sequence[str]) -> list[str]:
    """The code in these canonical folders that is there now, and the folders that lie in such code."""
    found = [folder for folder in folders if is_below_any(folder, code.places)]
    found += [place for place in code.places if is_below_any(place, folders) and os.path.lexists(place)]
    for folder in code.import_folders:
        if is_below_any(folder, folders):
            found += (path for path in _list_modules(folder) if code.covers(path))
    return list(dict.fromkeys(found))


def _list_modules(folder: str) -> Iterator[str]:
    """What a folder of the import path holds: files, and what makes its folders packages."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:  # gone meanwhile, or closed to us and so to the import
        return
    for entry in listed:
        yield entry.path
        if entry.is_dir() and os.path.lexists(init := os.path.join(entry.path, "__init__.py")):
            yield init


def lock_code(code: OwnCode, writable: Sequence[str], roots: Sequence[str]) -> list[str]:
    """What of the code in the writable folders and the roots is to be mounted read-only.

    What the person opened by its own name stays open, but not what lies in a folder that they opened.
    """
    found = (path for path in list_code(code, (*roots, *writable)) if not os.path.islink(path))
    return [path for path in found if os.path.exists(path) and path not in writable]


def list_folders_around(code: Iterable[str], folders: Collection[str]) -> list[str]:
    """The folders between these folders and the code in them, which could be renamed with the code in them."""
    found: list[str] = []
    for path in code:
        while path not in folders and is_below_any(path := os.path.dirname(path), folders):
            found += [path] if path not in folders else []
    return list(dict.fromkeys(found))

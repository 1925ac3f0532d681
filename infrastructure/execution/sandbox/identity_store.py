"""What was guarded in workspaces, by identity, kept on disk for later sessions and for others beside this one.

There is one file for each root of a workspace, and beside it a lock that is held while a command runs there.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from quorum.domain.text.paths import is_below_any
from quorum.infrastructure.files.file_metadata import read_birth_time
from quorum.infrastructure.files.private_file import OwnFile

_PLACE = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


class Inode(NamedTuple):
    """What stands somewhere, as long as it exists."""

    device: int
    number: int


class Traits(NamedTuple):
    """What is kept while something is moved, and another that gets its inode does not have.

    `born_ns` is None where the file system does not tell; the rest is None of a folder.
    """

    born_ns: int | None
    modified_ns: int | None
    size: int | None

    def is_of_same(self, other: Traits) -> bool:
        """A file may have been written since, or was born anew in an upper layer, but hardly both."""
        if self.born_ns == other.born_ns and (self.born_ns is not None or self.size is None):
            return True
        return self.size is not None and self[1:] == other[1:]


class LinkCount(NamedTuple):
    """How many names a file has, and when that last may have changed."""

    names: int
    changed_ns: int


class PathState(NamedTuple):
    """What stands at a path, and in which folder, both at one moment; None: nothing does.

    `is_closed` tells that nobody can look.
    """

    inode: Inode | None = None
    folder: Inode | None = None
    traits: Traits | None = None
    links: LinkCount = LinkCount(0, 0)
    is_closed: bool = False


class KnownFile(Struct):
    """All names of something guarded, each with the folder that it stands in.

    `searched` is what `links` were when its other names were last looked for.
    """

    is_sensitive: bool
    traits: Traits
    paths: dict[str, Inode]
    links: LinkCount = LinkCount(1, 0)
    searched: LinkCount | None = None

    @property
    def has_unknown_names(self) -> bool:
        """Whether it is to be looked for: a folder has one name, and a file as many as the system counts."""
        if not self.paths:
            return True
        is_folder = self.traits.size is None
        return not is_folder and self.links.names != len(self.paths) and self.links != self.searched


def look_at(path: str) -> PathState:
    """What stands at a path now. No link is followed at its end."""
    above, name = os.path.split(path)
    folder: Inode | None = None
    try:
        place = os.open(above, _PLACE)
        try:
            folder = get_inode(os.fstat(place))
            status = os.stat(name, dir_fd=place, follow_symlinks=False)
            born_ns = read_birth_time(name, place)
        finally:
            os.close(place)
    except (FileNotFoundError, NotADirectoryError):
        return PathState(folder=folder)
    except OSError:
        return PathState(folder=folder, is_closed=True)
    is_folder = stat.S_ISDIR(status.st_mode)
    traits = Traits(born_ns, *((None, None) if is_folder else (status.st_mtime_ns, status.st_size)))
    return PathState(get_inode(status), folder, traits, LinkCount(status.st_nlink, status.st_ctime_ns))


def get_inode(status: os.stat_result) -> Inode:
    """The identity of what a status tells of."""
    return Inode(status.st_dev, status.st_ino)


_SUFFIX, _LOCK_SUFFIX = ".json", ".running"
_TRIES = 3
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_BYTES = 4_000_000
_MOST_FILES = 10_000
_KEPT_SECS = 30 * 24 * 3600
_UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)


class _Signature(NamedTuple):
    inode: int
    modified_ns: int
    size: int


class _RootFolder(NamedTuple):
    """A root, by which it is known again under another name."""

    device: int
    number: int
    born_ns: int | None

    def is_same(self, other: _RootFolder) -> bool:
        return self.born_ns is not None and self[1:] == other[1:]


class _KeptIdentities(NamedTuple):
    root: str
    folder: _RootFolder
    files: dict[Inode, KnownFile]


class IdentityStore:
    """The files of all workspaces, in a `folder` of their own. Blocks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[str, _Signature | None] = {}

    def read_changed(self, roots: Sequence[str]) -> tuple[dict[Inode, KnownFile], bool]:
        """What is guarded in these roots, in folders above or below them, and in folders that were renamed to
        them, as far as it changed since it was read before; and whether what is kept of the roots is readable.
        """
        found: dict[Inode, KnownFile] = {}
        is_readable = True
        for path in self._list(_SUFFIX):
            signature = _sign(path)
            if signature == self._seen.get(path):
                continue
            self._seen[path] = signature
            try:
                found |= _select(_read(path), roots)
            except FileNotFoundError:
                continue
            except _UNREADABLE:
                is_readable &= path not in map(self._locate, roots)
        return found, is_readable

    def write(self, root: str, list_files: Callable[[], Mapping[Inode, KnownFile]]) -> None:
        """Replace what is kept of a root. `list_files` is called while no other session writes it, and can read
        what they wrote before. Raises ConfigError where it cannot be written.
        """
        path = self._locate(root)
        if not os.path.lexists(path) and not list_files():
            return
        OwnFile(Path(path)).change(lambda: _render(root, list_files()))
        self._seen[path] = _sign(path)

    def remove_abandoned(self) -> None:
        """Forget what is kept of roots that are gone for long, and marks of commands that no process holds.

        Raises OSError.
        """
        for path in self._list(_LOCK_SUFFIX):
            with suppress(OSError):
                lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if os.path.samestat(os.fstat(lock), os.stat(path)):
                        os.unlink(path)
                finally:
                    os.close(lock)
        for path in self._list(_SUFFIX):
            with suppress(*_UNREADABLE):
                is_old = os.stat(path).st_mtime < time.time() - _KEPT_SECS
                if is_old and not os.path.lexists(_read(path).root):
                    for suffix in (_SUFFIX, f"{_SUFFIX}.lock"):
                        Path(path.removesuffix(_SUFFIX) + suffix).unlink(missing_ok=True)

    @contextmanager
    def mark_running(self, roots: Iterable[str]) -> Iterator[None]:
        """Have other sessions know that a command runs in these roots, until the block or the process ends."""
        with ExitStack() as held:
            for root in roots:
                with suppress(OSError):  # the command runs also where the others cannot be told
                    held.callback(os.close, self._lock(root))
            yield

    def _lock(self, root: str) -> int:
        """Open and lock the mark of a root, which another process may remove in between. Raises OSError."""
        path = self._locate(root, _LOCK_SUFFIX)
        for _ in range(_TRIES):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(path, _LOCK, 0o600)
            try:
                if os.fstat(lock).st_size == 0:
                    os.pwrite(lock, os.fsencode(root), 0)
                fcntl.flock(lock, fcntl.LOCK_SH)
                if os.path.samestat(os.fstat(lock), os.stat(path)):
                    return lock
            except FileNotFoundError:
                pass
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)
        raise OSError(f"{path} is removed again and again")

    def is_running(self, roots: Sequence[str]) -> bool:
        """Whether a command of another session runs in these roots, or in folders above or below."""
        return any(_is_held(path) and _is_of_related(path, roots) for path in self._list(_LOCK_SUFFIX))

    def _locate(self, root: str, suffix: str = _SUFFIX) -> str:
        return str(self._folder / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}{suffix}")

    def _list(self, suffix: str) -> list[str]:
        try:
            with os.scandir(self._folder) as entries:
                return sorted(each.path for each in entries if each.name.endswith(suffix))
        except FileNotFoundError:
            return []


def _sign(path: str) -> _Signature | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return _Signature(status.st_ino, status.st_mtime_ns, status.st_size)


def _is_held(lock: str) -> bool:
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _is_of_related(lock: str, roots: Sequence[str]) -> bool:
    try:
        return _are_related(os.fsdecode(Path(lock).read_bytes()), roots)
    except OSError:
        return True


def _are_related(root: str, roots: Sequence[str]) -> bool:
    return is_below_any(root, roots) or any(is_below_any(each, (root,)) for each in roots)


def _identify_root(root: str) -> _RootFolder:
    standing = look_at(root)
    if standing.inode is None or standing.traits is None:
        return _RootFolder(0, 0, None)
    return _RootFolder(*standing.inode, standing.traits.born_ns)


def _select(kept: _KeptIdentities, roots: Sequence[str]) -> dict[Inode, KnownFile]:
    renamed = next((each for each in roots if kept.folder.is_same(_identify_root(each))), None)
    if renamed is None and not _are_related(kept.root, roots):
        return {}
    # The number of a device may be another once the machine was started anew.
    now = _identify_root(renamed or kept.root)
    if not kept.folder.is_same(now) or kept.folder.device == now.device:
        return kept.files
    was, device = kept.folder.device, now.device

    def translate(inode: Inode) -> Inode:
        return Inode(device, inode.number) if inode.device == was else inode

    for known in kept.files.values():
        known.paths = {path: translate(folder) for path, folder in known.paths.items()}
    return {translate(inode): known for inode, known in kept.files.items()}


def _read(path: str) -> _KeptIdentities:
    with open(path, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError("too long")
    kept = json.loads(content)
    files: dict[Inode, KnownFile] = {}
    for each in kept["files"]:
        traits = Traits(*(None if number is None else int(number) for number in each["traits"]))
        paths = {str(path): Inode(*map(int, folder)) for path, folder in each["paths"].items()}
        if not all(path.startswith("/") for path in paths):
            raise ValueError("a path that is not absolute")
        files[Inode(*map(int, each["inode"]))] = KnownFile(bool(each["is_sensitive"]), traits, paths)
    return _KeptIdentities(str(kept["root"]), _RootFolder(*kept["folder"]), files)


def _render(root: str, files: Mapping[Inode, KnownFile]) -> str:
    # What must not be read goes before what must not be written, where it is too much.
    first = sorted(files.items(), key=lambda each: not each[1].is_sensitive)[:_MOST_FILES]
    entries = [
        {"inode": inode, "is_sensitive": known.is_sensitive, "traits": known.traits, "paths": known.paths}
        for inode, known in first
    ]
    return json.dumps({"root": root, "folder": _identify_root(root), "files": entries})

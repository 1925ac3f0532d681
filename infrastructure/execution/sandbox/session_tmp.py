"""Temporary folders in the sandbox: the `/tmp` that the commands of a session share, and each command's home.

They lie in quorum's state folder, of which a command sees only what is mounted. What a command leaves in them
is never followed from outside: only what is no link is mounted, and removal opens no links.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock

from msgspec import Struct

from quorum.domain.text.paths import is_below_any
from quorum.domain.text.printable import make_printable

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK = "lock"
_TMP = "tmp"


class SharedTmp(Struct, frozen=True, kw_only=True):
    """What to mount as `/tmp`: the folder `source`, and over each of its folders `covered` an empty one.

    Other mounts lie in the covered folders: no command can put a link in their way.
    """

    source: str
    covered: tuple[str, ...] = ()


class SessionTmp:
    """The shared `/tmp` of one session, in a folder of its own in `parent`. Safe to use from any thread."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._folder: Path | None = None
        self._identity: tuple[int, int] | None = None
        self._lock: int | None = None
        self._covered: tuple[str, ...] | None = None
        self._alone = Lock()
        self._closed = False

    def prepare(self, below: Iterable[str]) -> SharedTmp | None:
        """What to mount as `/tmp` now. `below` are paths, relative to `/tmp`, that will be mounted in it.

        None where it cannot be shared: the session is over, other paths were mounted in it before, or something
        else stands in its place. The command then needs an empty `/tmp` of its own. Raises OSError.
        """
        names = tuple(sorted({path.split("/", 1)[0] for path in below}))
        with self._alone:
            if self._closed:
                return None
            if self._folder is None:
                self._make()
            if self._covered is None:
                self._covered = names
            if not set(names) <= set(self._covered) or (folder := self._open_folder()) is None:
                return None
            try:
                for name in self._covered:
                    _make_folder(name, folder)
            finally:
                os.close(folder)
            assert self._folder is not None
            return SharedTmp(source=str(self._folder / _TMP), covered=self._covered)

    def make_folder(self) -> str | None:
        """A new empty folder beside it, which goes with it at the latest; None once the session is over.

        Raises OSError.
        """
        with self._alone:
            if self._closed:
                return None
            if self._folder is None:
                self._make()
            assert self._folder is not None
            folder = self._folder / f"home-{secrets.token_hex(8)}"
            folder.mkdir(mode=0o700)
            return str(folder)

    def close(self) -> None:
        """Remove it, with all that is in it. It is made no more."""
        with self._alone:
            self._closed = True
            if self._folder is not None:
                with suppress(OSError):  # somebody else removed it, or all of the state
                    remove_folder(self._folder)
                self._folder = None
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    def _make(self) -> None:
        self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        parent = Path(os.path.realpath(self._parent))
        with _AloneIn(parent):
            folder = parent / secrets.token_hex(8)
            folder.mkdir(mode=0o700)
            self._lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (folder / _TMP).mkdir(mode=0o700)
        self._identity = _read_identity(os.lstat(folder / _TMP))
        self._folder = folder

    def _open_folder(self) -> int | None:
        """A descriptor of the folder, if it is still the one that was made."""
        assert self._folder is not None
        try:
            descriptor = os.open(self._folder / _TMP, _FOLDER)
        except OSError:  # gone, or a link
            return None
        if _read_identity(os.fstat(descriptor)) != self._identity:
            os.close(descriptor)
            return None
        return descriptor


def remove_abandoned(parent: Path) -> None:
    """Remove the folders of sessions whose process is gone. Raises OSError."""
    try:
        names = os.listdir(parent)
    except FileNotFoundError:
        return
    real = Path(os.path.realpath(parent))
    with _AloneIn(real):
        for name in names:
            folder = real / name
            if folder.is_dir() and not folder.is_symlink() and _is_abandoned(folder):
                remove_folder(folder)


def _is_abandoned(folder: Path) -> bool:
    """Whether nobody holds its lock. A folder without one was being made or removed when its process died."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


class _AloneIn:
    """Holds a lock on a folder: of two processes only one makes or removes something in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        self._descriptor = os.open(self._folder, _FOLDER)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def _make_folder(name: str, folder: int) -> None:
    """Have a real folder of that name in the folder; what else bears the name gives way."""
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            return
        os.unlink(name, dir_fd=folder)
    os.mkdir(name, mode=0o700, dir_fd=folder)


def remove_folder(folder: Path | str) -> None:
    """Remove a folder of ours. Links in it are not followed, and no depth or mode of folders holds it up.

    What cannot be removed, such as a file of another user, stays.
    """
    top = os.open(folder, _FOLDER)
    try:
        waiting = [name for name in os.listdir(top) if not _try_unlink(name, top)]
        brought_up = 0
        while waiting:
            name = waiting.pop()
            with suppress(OSError), _OpenFolder(name, top) as current:
                for inner in os.listdir(current):
                    if _try_unlink(inner, current):
                        continue
                    brought_up += 1
                    above = f"{_TMP}-{brought_up}"
                    with suppress(OSError):
                        _open_to_us(inner, current)
                        os.rename(inner, above, src_dir_fd=current, dst_dir_fd=top)
                        waiting.append(above)
            with suppress(OSError):
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    with suppress(OSError):
        os.rmdir(folder)


def _try_unlink(name: str, folder: int) -> bool:
    """Remove what is not a folder; whether there is nothing more to do."""
    try:
        os.unlink(name, dir_fd=folder)
    except IsADirectoryError:
        return False
    except OSError:
        return True
    return True


def _open_to_us(name: str, folder: int) -> None:
    """Make a folder readable and writable, whatever a command forbade; never what a link leads to."""
    place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.chmod(f"/proc/self/fd/{place}", 0o700)
    finally:
        os.close(place)


class _OpenFolder:
    """A folder that was opened, and not through a link. Raises OSError."""

    def __init__(self, name: str, folder: int) -> None:
        _open_to_us(name, folder)
        self._descriptor = os.open(name, _FOLDER, dir_fd=folder)

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def _read_identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


_MOST_NAMED = 3
# What programs make anew each time.
_UNIMPORTANT = frozenset({".cache", ".npm"})


class CommandHome:
    """`sources` are our folders by the homes in whose place they are mounted, of which the command calls `own`
    `~`; `mounted` is what else is mounted, which bubblewrap makes places for."""

    def __init__(self, sources: Mapping[str, str], mounted: Collection[str], own: str) -> None:
        self._own = own
        self._sources = dict(sources)
        self._mounted = frozenset(path for path in mounted if is_below_any(path, sources))

    def close(self) -> list[str]:
        """Remove it, and say what the command wrote there, in a sentence. The command must have ended."""
        sources, self._sources = self._sources, {}
        names: list[str] = []
        for home, source in sources.items():
            shown = "~" if home == self._own else home
            with suppress(OSError):
                found = self._find(home, source)
                names += [make_printable(f"{shown}/{each}", newlines=False) for each in found]
            with suppress(OSError):
                remove_folder(source)
        if not names:
            return []
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        was, is_ = ("was", "is") if len(names) == 1 else ("were", "are")
        return [
            f"{', '.join(names[:_MOST_NAMED])}{more} {was} written in the sandbox's own home and {is_} gone; "
            "write in the workspace, or the person can open a folder with tools.run_command.sandbox_writable"
        ]

    def _find(self, home: str, source: str) -> list[str]:
        around = {os.path.relpath(path, home) for path in self._mounted}
        for path in list(around):
            while path := os.path.dirname(path):
                around.add(path)
        folder = os.open(source, _FOLDER)
        try:
            return sorted(_list_written(folder, "", around))
        finally:
            os.close(folder)


def _list_written(folder: int, name: str, around: Collection[str]) -> Iterator[str]:
    """What is in a folder and neither a place of a mount nor around one; no link is followed."""
    for entry in os.listdir(folder):
        path = f"{name}{entry}"
        if path in _UNIMPORTANT:
            continue
        if path not in around:
            yield path
            continue
        with suppress(OSError):  # the place of a mounted file, or closed by the command
            inner = os.open(entry, _FOLDER, dir_fd=folder)
            try:
                yield from _list_written(inner, f"{path}/", around)
            finally:
                os.close(inner)

"""What is known of open files: where one lies by now, and which ones must not be opened a second time.

Names may have moved since a file was opened, so the kernel is asked. A file on which this process holds locks
must not be opened again.
"""

from __future__ import annotations

import errno
import os
import sys
import unicodedata
from pathlib import Path

from quorum.domain.errors import StaleSeal

_held: set[tuple[str, str]] = set()  # the real folder of a database, and its name


def hold(database: Path) -> None:
    """From now on nothing but the driver of this database opens it, or what stands beside it by its name."""
    path = os.path.realpath(database)
    _held.add((os.path.dirname(path), os.path.basename(path)))


def refuse_held(name: str | Path, folder: int | None = None) -> None:
    """Raises OSError where this file, of an open folder or a path, is one of them."""
    path = os.fspath(name)
    for held_folder, held_name in _held:
        if os.path.basename(path).startswith(held_name) and _is_folder(
            folder, os.path.dirname(path), held_folder
        ):
            raise OSError(errno.EBUSY, "it is quorum's own record; quorum sessions shows what is in it")


def _is_folder(folder: int | None, path: str, held: str) -> bool:
    try:
        return os.path.samestat(os.stat(path or "." if folder is None else folder), os.stat(held))
    except OSError:  # gone, or not to be looked into: then nothing in it is opened either
        return False


_GET_PATH = 50  # F_GETPATH of macOS
_LONGEST = 1024
_REMOVED = " (deleted)"


def read_opened_path(descriptor: int) -> str | None:
    """The canonical path of what is open, its last one where it was removed; None where that is not told."""
    try:
        if sys.platform == "darwin":
            return _read_on_macos(descriptor)
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if not path.startswith("/"):
            return None
        return path.removesuffix(_REMOVED) if os.fstat(descriptor).st_nlink == 0 else path
    except OSError:  # no /proc, or none that shows this process
        return None


def require_opened_at(descriptor: int, path: str, shown_path: str) -> None:
    """Raises StaleSeal where what is open lies elsewhere than at this canonical path.

    Where the system does not tell, what was opened without following a link is believed.
    """
    opened = read_opened_path(descriptor)
    if opened is not None and not _is_same(opened, path):
        raise StaleSeal(
            f"{shown_path} was moved or replaced while it was opened; it was not read or changed, call it again"
        )


def _is_same(opened: str, path: str) -> bool:
    if sys.platform == "darwin":  # its file systems keep letters and accents otherwise than they were given
        return _fold(opened) == _fold(path)
    return opened == path


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _read_on_macos(descriptor: int) -> str:
    import fcntl

    found = fcntl.fcntl(descriptor, _GET_PATH, bytes(_LONGEST))
    return os.fsdecode(found.partition(b"\0")[0])


class RealPaths:
    """Resolves paths as at one moment: each folder is looked up once."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def resolve(self, path: str) -> str:
        """What `os.path.realpath` makes of an absolute path without dots in it."""
        folder, name = os.path.split(path)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        place = os.path.join(self._folders[folder], name)
        return os.path.realpath(place) if os.path.islink(place) else place

"""Where the object lies that a descriptor is open on, as the kernel knows it: names may have moved since."""

from __future__ import annotations

import os
import sys
import unicodedata

from quorum.domain.errors import StaleSeal

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

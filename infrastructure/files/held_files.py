"""Files on which this process holds locks, and which it therefore must not open a second time.

The kernel drops all POSIX locks of a process on a file when any descriptor of that file is closed. A search
through the folder of the record would let another process write in the middle of a transaction.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

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

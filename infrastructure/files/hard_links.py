"""The other names of a file with several: whoever writes in it changes what all of them show."""

from __future__ import annotations

import os
import stat

from quorum.infrastructure.files.workspace import Location

_MOST_ENTRIES = 50_000


def find_other_names(location: Location) -> tuple[str, ...] | None:
    """The canonical paths of the other names of a file, none for one of a single name or no file.

    None where some are not known: they lie outside of the workspace's folder, or too deep among too many files.
    """
    try:
        status = os.lstat(location.path)
    except OSError:
        return ()
    if not stat.S_ISREG(status.st_mode) or status.st_nlink == 1:
        return ()
    if location.is_outside:
        return None
    names = _search(location.root, status)
    return tuple(name for name in names if name != location.path) if len(names) == status.st_nlink else None


def list_known_names(path: str, root: str) -> tuple[str, ...]:
    """The canonical paths below a folder by which a file can be read, itself among them, as far as a bounded
    search finds them; only `path` for one of a single name or no file."""
    try:
        status = os.lstat(path)
    except OSError:
        return (path,)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink == 1:
        return (path,)
    return tuple(dict.fromkeys((path, *_search(root, status))))


def _search(root: str, wanted: os.stat_result) -> list[str]:
    """The names below a folder that the file has, as many as a bounded search finds."""
    found: list[str] = []
    waiting, left = [root], _MOST_ENTRIES
    while waiting and len(found) < wanted.st_nlink:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return found
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.inode() == wanted.st_ino and _is_same(entry, wanted):
                        found.append(entry.path)
        except OSError:  # gone meanwhile, or not to be looked into
            continue
    return found


def _is_same(entry: os.DirEntry[str], wanted: os.stat_result) -> bool:
    return os.path.samestat(entry.stat(follow_symlinks=False), wanted)

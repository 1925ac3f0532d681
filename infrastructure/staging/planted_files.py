"""What a layer plants in files that have other programs start something, found without reading its effects."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator

from quorum.domain.staging.planted_programs import describe_planted, may_plant

_MOST_ENTRIES = 20_000
_MOST_BYTES = 256 * 1024
_MOST_NAMED = 8
_PASSED_BY = frozenset({"node_modules", ".venv", "venv", "__pycache__", "objects", "target", ".tox", ".nox"})
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def list_planted(upper: str, lower: str) -> tuple[str, ...]:
    """What the layer in `upper` over the folder `lower` plants, a clause each, with the path first. Blocks."""
    found: list[str] = []
    for path in _list_files(upper):
        if may_plant(path):
            after = _read(f"{upper}/{path}")
            if after is not None:
                planted = describe_planted(path, _read(f"{lower}/{path}") or b"", after)
                found += [f"{path} {words}" for words in planted]
    more = f"and {len(found) - _MOST_NAMED} more files have programs start something"
    return (*found[:_MOST_NAMED], *((more,) if found[_MOST_NAMED:] else ()))


def _list_files(top: str) -> Iterator[str]:
    """The files below a folder by their relative paths, those of outer folders first."""
    waiting, left = deque([""]), _MOST_ENTRIES
    while waiting:
        folder = waiting.popleft()
        try:
            with os.scandir(f"{top}/{folder}") as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listed:
            if (left := left - 1) < 0:
                return
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _PASSED_BY:
                    waiting.append(f"{folder}{entry.name}/")
            else:
                yield f"{folder}{entry.name}"


def _read(place: str) -> bytes | None:
    """What a file holds, or where a link leads; None where there is neither."""
    try:
        status = os.lstat(place)
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(os.readlink(place))
        if not stat.S_ISREG(status.st_mode):
            return None
        with open(os.open(place, _READ), "rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return None

"""Which file systems folders lie on, as Linux lists its mounts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
# They keep the times of folders, and every change to them goes through this machine's kernel.
_LOCAL = frozenset(
    {
        "bcachefs",
        "btrfs",
        "ext2",
        "ext3",
        "ext4",
        "f2fs",
        "jfs",
        "overlay",
        "ramfs",
        "reiserfs",
        "tmpfs",
        "xfs",
        "zfs",
    }
)


def are_local(folders: Sequence[str], mounts: Path = _MOUNTS) -> bool:
    """Whether canonical folders, with all that is mounted in them, lie on file systems of this machine that are
    known to keep the times of folders. False where that is not known, as on other systems than Linux.
    """
    try:
        lines = mounts.read_bytes().splitlines()
    except OSError:
        return False
    types: dict[str, str] = {}
    for line in lines:
        before, _, after = line.partition(b" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            return False
        types[os.fsdecode(_unescape(fields[4]))] = os.fsdecode(
            after.split()[0]
        )  # a later one covers earlier ones
    return all(
        _find_type(folder, types) in _LOCAL and _list_inner_types(folder, types) <= _LOCAL for folder in folders
    )


def _find_type(folder: str, types: dict[str, str]) -> str | None:
    while folder not in types:
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return types[folder]


def _list_inner_types(folder: str, types: dict[str, str]) -> frozenset[str]:
    prefix = folder.rstrip("/") + "/"
    return frozenset(each for point, each in types.items() if point.startswith(prefix))


def _unescape(name: bytes) -> bytes:
    """A name as it is: blanks, line ends and backslashes are listed as three octal digits."""
    for code in (b"040", b"011", b"012", b"134"):
        name = name.replace(b"\\" + code, bytes([int(code, 8)]))
    return name

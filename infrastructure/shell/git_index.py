"""What a git repository tracks, read from its index without running git."""

from __future__ import annotations

import os
import stat
import struct
from dataclasses import dataclass

_LARGEST = 64 << 20
_HEADER = struct.Struct(">4sII")
_FIXED = 40
_MODE = struct.Struct(">I")
_MODE_AT = 24
_KIND = 0o170000
_SUBMODULE = 0o160000
_PLAIN = frozenset({0o100000, 0o120000})
_EXTENDED = 0x4000
_HASH = 20


@dataclass(frozen=True, slots=True)
class IndexSummary:
    """Tracked files and submodules, by their paths from the top of the working tree."""

    files: tuple[str, ...]
    submodules: tuple[str, ...]


def read_index(path: str) -> IndexSummary:
    """Read an index of version 2, 3 or 4. Raises OSError, ValueError where it is of another kind."""
    try:
        return _entries(read_regular(path, _LARGEST))
    except (struct.error, IndexError) as error:
        raise ValueError("it is damaged") from error


def read_regular(path: str, largest: int) -> bytes:
    """All bytes of a regular file, links followed. Raises OSError, ValueError where there is no such file."""
    # A pipe put in its place must not block the opening.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is no regular file")
        data = file.read(largest + 1)
    if len(data) > largest:
        raise ValueError("it is too large to judge")
    return data


def _entries(data: bytes) -> IndexSummary:
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError(f"it is of the unknown version {version}")
    files: list[str] = []
    submodules: list[str] = []
    place = _HEADER.size
    name = b""
    for _ in range(count):
        start = place
        kind = _MODE.unpack_from(data, start + _MODE_AT)[0] & _KIND
        place += _FIXED + _HASH
        flags = int.from_bytes(data[place : place + 2], "big")
        place += 4 if version >= 3 and flags & _EXTENDED else 2
        kept = 0
        if version == 4:
            dropped, place = _varint(data, place)
            kept = len(name) - dropped
            if kept < 0:
                raise ValueError("it is damaged")
        end = data.index(b"\0", place)
        name = name[:kept] + data[place:end]
        place = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
        # Git itself would follow these out of the working tree.
        if {b"", b".", b".."} & set(name.split(b"/")):
            raise ValueError("it names a file in a way that no git does")
        if kind == _SUBMODULE:
            submodules.append(os.fsdecode(name))
        elif kind in _PLAIN:
            files.append(os.fsdecode(name))
        else:
            raise ValueError("it holds entries of an unknown kind")
    _require_complete(data, place)
    return IndexSummary(tuple(files), tuple(submodules))


def _varint(data: bytes, place: int) -> tuple[int, int]:
    byte = data[place]
    value = byte & 0x7F
    while byte & 0x80:
        place += 1
        byte = data[place]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, place + 1


def _require_complete(data: bytes, place: int) -> None:
    """What follows must be extensions that add no entries, up to the checksum."""
    end = len(data) - _HASH
    while place < end:
        signature = data[place : place + 4]
        # Lower case marks extensions without which an index cannot be understood, such as one split in two.
        if len(signature) < 4 or not signature[:1].isupper():
            raise ValueError("it is split, sparse or damaged")
        place += 8 + int.from_bytes(data[place + 4 : place + 8], "big")
    if place != end:
        raise ValueError("it is damaged")

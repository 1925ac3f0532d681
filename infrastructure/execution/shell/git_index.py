"""What a git repository tracks, read from its index without running git.

Git believes most of an index without checking it. So only what git itself would have written byte for byte is
accepted here: anything else could name other files to git than to this reader.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Iterator

from msgspec import Struct

from quorum.domain.review.path_policy import is_git_folder_name

_LARGEST = 64 << 20
_HEADER = struct.Struct(">4sII")
# Times, device, inode, owner and size come first; then the mode, the hash of the content, and the flags.
_MODE = struct.Struct(">I")
_MODE_AT = 24
_FLAGS = struct.Struct(">H")
_HASH = 20
_FLAGS_AT = 40 + _HASH
_NAME_LENGTH = 0x0FFF
_STAGE = 0x3000
_EXTENDED = 0x4000
# Of the flags of version 3, git knows two and dies of the others: an intent to add, and a sparse checkout.
_EXTENDED_KNOWN = 0x6000
_SUBMODULE = 0o160000
_FILES = frozenset({0o100644, 0o100755, 0o120000})
# Extensions that add no entries, as the gate has git read them: in order, and without monitor and caches.
_EXTENSIONS = frozenset({b"TREE", b"REUC", b"UNTR", b"FSMN", b"EOIE", b"IEOT"})


class IndexSummary(Struct, frozen=True):
    """Tracked files and submodules, by their paths from the top of the working tree."""

    files: tuple[str, ...]
    submodules: tuple[str, ...]


def read_index(path: str) -> IndexSummary:
    """Read an index of version 2, 3 or 4. Raises OSError, ValueError where git could read it otherwise."""
    try:
        return _summarise_index(read_regular(path, _LARGEST))
    except (struct.error, IndexError) as error:
        raise ValueError("it is damaged") from error


def read_regular(path: str, largest: int) -> bytes:
    """All bytes of a regular file, links followed. Raises OSError, ValueError where there is no such file."""
    # A pipe put in its place must not block the opening.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is not a regular file")
        data = file.read(largest + 1)
    if len(data) > largest:
        raise ValueError("it is too large to judge")
    return data


def _summarise_index(data: bytes) -> IndexSummary:
    body, checksum = data[:-_HASH], data[-_HASH:]
    # Zeros stand for a checksum that was left out (index.skipHash).
    if any(checksum) and hashlib.sha1(body, usedforsecurity=False).digest() != checksum:
        raise ValueError("its checksum does not match")
    files: list[str] = []
    submodules: list[str] = []
    for mode, name in _read_entries(body):
        if mode == _SUBMODULE:
            submodules.append(os.fsdecode(name))
        elif mode in _FILES:
            files.append(os.fsdecode(name))
        else:
            raise ValueError("it holds entries of an unknown kind")
    return IndexSummary(tuple(files), tuple(submodules))


def _read_entries(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Mode and name of each entry, in order."""
    signature, version, count = _HEADER.unpack_from(body)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError(f"it is of the unknown version {version}")
    place = _HEADER.size
    before = (b"", -1)
    for _ in range(count):
        start = place
        (mode,) = _MODE.unpack_from(body, start + _MODE_AT)
        flags, place = _read_flags(body, start + _FLAGS_AT, version)
        name, place = _unpack_name(body, place, before[0]) if version == 4 else _read_name(body, place, b"")
        if version != 4:
            place = _skip_padding(body, start, place)
        _require_canonical(name, flags)
        entry = (name, flags & _STAGE)
        if entry <= before:
            raise ValueError("its entries are not in order")
        before = entry
        yield mode, name
    _require_known_extensions(body, place)


def _read_flags(body: bytes, place: int, version: int) -> tuple[int, int]:
    """The flags of an entry, and where they end."""
    (flags,) = _FLAGS.unpack_from(body, place)
    place += _FLAGS.size
    if flags & _EXTENDED:
        (extended,) = _FLAGS.unpack_from(body, place)
        # Git looks for them in version 2 as well, where they must not be.
        if version == 2 or extended & ~_EXTENDED_KNOWN:
            raise ValueError("it has flags that no git writes")
        place += _FLAGS.size
    return flags, place


def _read_name(body: bytes, place: int, kept: bytes) -> tuple[bytes, int]:
    """A name that begins with what was kept of the last one, and the place of the zero behind it."""
    end = body.index(b"\0", place)
    return kept + body[place:end], end


def _unpack_name(body: bytes, place: int, last: bytes) -> tuple[bytes, int]:
    """A name of version 4, which repeats the beginning of the last one, and the place behind it."""
    dropped, place = _read_varint(body, place)
    if dropped > len(last):
        raise ValueError("it is damaged")
    name, end = _read_name(body, place, last[: len(last) - dropped])
    return name, end + 1


def _skip_padding(body: bytes, start: int, end: int) -> int:
    """Where the next entry begins: one to eight zeros fill this one up."""
    place = start + (end - start + 8) // 8 * 8
    if body[end:place] != bytes(place - end):
        raise ValueError("it is not padded with zeros")
    return place


def _require_canonical(name: bytes, flags: int) -> None:
    # Git goes by this length, wherever a name seems to end.
    if flags & _NAME_LENGTH != min(len(name), _NAME_LENGTH):
        raise ValueError("it gives names another length than they have")
    parts = name.split(b"/")
    # Git itself would follow these out of the working tree, or into a repository.
    if {b"", b".", b".."} & set(parts) or any(is_git_folder_name(os.fsdecode(part)) for part in parts):
        raise ValueError("it names a file in a way that no git does")


def _read_varint(body: bytes, place: int) -> tuple[int, int]:
    byte = body[place]
    value = byte & 0x7F
    while byte & 0x80:
        place += 1
        byte = body[place]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, place + 1


def _require_known_extensions(body: bytes, place: int) -> None:
    """What follows the entries must be extensions that add none, each once, up to the checksum."""
    met: set[bytes] = set()
    while place < len(body):
        signature = body[place : place + 4]
        # In lower case: those without which an index cannot be understood, such as one split in two.
        if signature not in _EXTENSIONS or signature in met:
            raise ValueError("it is split, sparse, damaged, or extended in a way that is not known")
        met.add(signature)
        place += 8 + int.from_bytes(body[place + 4 : place + 8], "big")
    if place != len(body):
        raise ValueError("it is damaged")

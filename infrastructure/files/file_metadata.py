"""What belongs to a file besides its content: owner, mode, access control list, attributes, birth time, names.

A file that takes the place of another gets what that has. Python does not tell birth times on Linux. Whoever
writes in a file of several names changes what all of them show.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Mapping
from functools import cache

from quorum.infrastructure.files.workspace import Location

_NOFOLLOW = 0x100
_BIRTH_TIME = 0x800
_ANSWER_BYTES = 256
_PLACE = 80  # of the time in the answer, which begins with a mask of what it holds
_SECOND_NS = 1_000_000_000


def read_birth_time(name: str, folder: int) -> int | None:
    """The birth time, in nanoseconds, of what stands in a folder, given by its descriptor. No link is followed.

    None where the system or the file system does not keep it, and where nothing stands there.
    """
    ask = _load()
    answer = ctypes.create_string_buffer(_ANSWER_BYTES)
    if ask is None or ask(folder, os.fsencode(name), _NOFOLLOW, _BIRTH_TIME, answer) != 0:
        return None
    (mask,) = struct.unpack_from("=I", answer)
    seconds, rest = struct.unpack_from("=qI", answer, _PLACE)
    return seconds * _SECOND_NS + rest if mask & _BIRTH_TIME else None


@cache
def _load() -> ctypes._NamedFuncPointer | None:
    """The function of the C library; older ones do not have it."""
    try:
        ask = ctypes.CDLL(None).statx
    except AttributeError:
        return None
    ask.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p)
    return ask


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


_ACCESS_LIST = "system.posix_acl_access"
# The kernel computes them from the content.
_OF_CONTENT = frozenset({"security.ima", "security.evm"})
_UNSUPPORTED = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


class MetadataNotKept(Exception):
    """A new file cannot have what the old one has: only writing in the old one keeps it."""


def copy_metadata(source: int, target: int) -> None:
    """Give a new file, which only its owner may read so far, all that another has. Both are descriptors.

    At no moment may anybody do more with it than with the other. Raises MetadataNotKept, OSError.
    """
    status, own = os.fstat(source), os.fstat(target)
    try:
        if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
            os.fchown(target, status.st_uid, status.st_gid)
        _copy_attributes(_read_attributes(source), target)
    except PermissionError as error:
        raise MetadataNotKept from error
    except OSError as error:
        if error.errno == errno.EINVAL:  # a user namespace does not know the other's user or group
            raise MetadataNotKept from error
        raise
    # The group's bits are the mask of an access control list: that has to be there before.
    os.fchmod(target, stat.S_IMODE(status.st_mode))


def _copy_attributes(wanted: Mapping[str, bytes], target: int) -> None:
    present = _read_attributes(target)
    if _ACCESS_LIST in present and _ACCESS_LIST not in wanted:  # from the folder's default
        os.removexattr(target, _ACCESS_LIST)
    for name, value in wanted.items():
        if present.get(name) == value:
            continue
        try:
            os.setxattr(target, name, value)
        except OSError as error:
            raise MetadataNotKept from error


def _read_attributes(descriptor: int) -> dict[str, bytes]:
    if not hasattr(os, "listxattr"):  # only Linux has it
        return {}
    try:
        names = os.listxattr(descriptor)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return {}
        raise
    return {name: os.getxattr(descriptor, name) for name in names if name not in _OF_CONTENT}

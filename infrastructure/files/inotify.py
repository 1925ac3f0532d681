"""The events of Linux that say which files of watched folders changed: a small part of inotify."""

from __future__ import annotations

import ctypes
import os
import struct
import weakref
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

MODIFY = 0x2
ATTRIB = 0x4
CLOSE_WRITE = 0x8
MOVED_FROM = 0x40
MOVED_TO = 0x80
CREATE = 0x100
DELETE = 0x200
DELETE_SELF = 0x400
MOVE_SELF = 0x800
UNMOUNT = 0x2000
QUEUE_OVERFLOW = 0x4000
IGNORED = 0x8000
IS_FOLDER = 0x40000000

_ONLY_FOLDERS = 0x1000000
_NO_LINKS = 0x2000000
# Also a file that is written through a mapping is reported: it is closed at the latest when the mapping goes.
_CHANGES = MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | DELETE_SELF | MOVE_SELF
_HEAD = struct.Struct("iIII")
_READ_BYTES = 256 * 1024
_MOST_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")


class FolderEvent(NamedTuple):
    """Something happened in the folder with this watch, or to itself, where `name` is empty.

    The events of one renaming have the same `cookie`.
    """

    watch: int
    mask: int
    cookie: int
    name: str


class Inotify:
    """A queue of events of single folders. Raises OSError where the system has none, or no more of them."""

    def __init__(self) -> None:
        self._descriptor = _load_function("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
        self._closing = weakref.finalize(self, os.close, self._descriptor)

    def add(self, folder: str) -> int:
        """Watch what changes in a folder, not below it. The same folder has the same watch. Raises OSError."""
        mask = _CHANGES | _ONLY_FOLDERS | _NO_LINKS
        return _load_function("inotify_add_watch", self._descriptor, os.fsencode(folder), mask)

    def remove(self, watch: int) -> None:
        """Watch a folder no longer. Does nothing where it is gone."""
        _load_library().inotify_rm_watch(self._descriptor, watch)

    def read(self) -> Iterator[FolderEvent]:
        """The events so far, in their order. Never waits."""
        while True:
            try:
                content = os.read(self._descriptor, _READ_BYTES)
            except BlockingIOError:
                return
            place = 0
            while place < len(content):
                watch, mask, cookie, length = _HEAD.unpack_from(content, place)
                place += _HEAD.size
                name = content[place : place + length].rstrip(b"\0")
                place += length
                yield FolderEvent(watch, mask, cookie, os.fsdecode(name))

    def close(self) -> None:
        """End all watches."""
        self._closing()


def read_watch_limit() -> int:
    """How many folders all programs of a person may watch; 0 where that is not known."""
    try:
        return int(_MOST_WATCHES.read_text())
    except (OSError, ValueError):
        return 0


@lru_cache(maxsize=1)
def _load_library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _load_function(name: str, *arguments: int | bytes) -> int:
    try:
        function = getattr(_load_library(), name)
    except AttributeError as error:
        raise OSError(f"{name} is not known here") from error
    result = int(function(*arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result

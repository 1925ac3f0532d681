"""Writing in the file that is there, where a new one in its place could not be the same file.

A file with several names, one that something is mounted on, one of another owner: these stay what they are only
so. Until the new content is on the disk, a copy of the former one is beside it, or in the folder for temporary
files: a process that is killed in between leaves that copy, and readers may see a part.
"""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from quorum.domain.errors import StaleSeal, ToolError
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.files.held_files import refuse_held
from quorum.infrastructure.files.workspace import require_regular

_FILE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_COPY = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1024 * 1024
_NOT_WRITABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def write_in_place(
    name: str, folder: int, content: bytes, *, expected: str | None, copy_name: str, shown_path: str, stop: Stop
) -> None:
    """Have a file of an open folder hold `content`. `copy_name` is that of the copy of its former content.

    `expected` is the SHA-256 of what it holds. Raises StaleSeal where it differs, ToolError, Stopped, OSError:
    it holds what it held then, unless the error says where that is.
    """
    refuse_held(name, folder)
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        require_regular(os.fstat(descriptor), shown_path)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            before = file.read()
        if hashlib.sha256(before).hexdigest() != expected:
            raise StaleSeal(f"{shown_path} changed while the call was under way; nothing was written")
        with _keep_copy(before, copy_name, folder) as place:
            stop.check()
            _overwrite_or_restore(descriptor, before, content, place, shown_path)
    finally:
        os.close(descriptor)


class _Lost(ToolError):
    """The former content is in the copy alone, which therefore stays."""


@contextmanager
def _keep_copy(content: bytes, name: str, folder: int) -> Iterator[str]:
    """A copy on the disk, and where it lies, while the body runs."""
    try:
        descriptor, place, within = os.open(name, _COPY, 0o600, dir_fd=folder), name, folder
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
        descriptor, place = tempfile.mkstemp(prefix=name)
        within = None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield place
    except _Lost:
        raise
    except BaseException:
        os.unlink(place, dir_fd=within)
        raise
    os.unlink(place, dir_fd=within)


def _overwrite_or_restore(
    descriptor: int, before: bytes, content: bytes, copy_place: str, shown_path: str
) -> None:
    try:
        _overwrite(descriptor, content)
    except BaseException as error:
        try:
            _overwrite(descriptor, before)
        except OSError as again:
            raise _Lost(
                f"{shown_path} is written in part ({error}) and cannot be restored ({again.strerror}): its "
                f"former content is in {copy_place}"
            ) from error
        raise


def _overwrite(descriptor: int, content: bytes) -> None:
    if len(content) > os.fstat(descriptor).st_size:
        _reserve(descriptor, len(content))
    view, place = memoryview(content), 0
    while place < len(view):
        place += os.pwrite(descriptor, view[place : place + _CHUNK], place)
    os.ftruncate(descriptor, len(content))
    os.fsync(descriptor)


def _reserve(descriptor: int, size: int) -> None:
    """Have a full disk show before anything is written over. Raises OSError where it is full."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise

"""Files that have their name once all of them is written: a process that is killed before leaves nothing.

Where the system has no files without a name (macOS, some network drives), they have it from the beginning.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

_UNNAMED: int = getattr(os, "O_TMPFILE", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Kernels and file systems answer so that know no such files, and those without hard links.
_NOT_KNOWN = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL})
# What is mounted in its place, and what is another's in a folder that all may write to, is not replaced.
_NOT_REPLACED = frozenset({errno.EBUSY, errno.EXDEV, errno.EPERM, errno.EACCES})
_CANNOT_SYNC = frozenset({errno.EINVAL, errno.EBADF, errno.ENOTSUP})
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV, errno.ENOSYS, errno.ENOENT})


def create_whole_file(name: str, folder: int, mode: int, write: Callable[[int], object]) -> None:
    """Make a file in an open folder, of what `write` gives the descriptor; it may be called again.

    Raises OSError, FileExistsError where something has that name, and what `write` raises.
    """
    if _UNNAMED and os.path.isdir("/proc/self/fd") and _create_unnamed(name, folder, mode, write):
        return
    descriptor = os.open(name, _NEW, mode, dir_fd=folder)
    try:
        write(descriptor)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)


def _create_unnamed(name: str, folder: int, mode: int, write: Callable[[int], object]) -> bool:
    """Whether the file could be made without a name, and then be given it."""
    try:
        descriptor = os.open(".", os.O_WRONLY | _UNNAMED | os.O_CLOEXEC, mode, dir_fd=folder)
    except OSError as error:
        if error.errno not in _NOT_KNOWN:
            raise
        return False
    try:
        write(descriptor)
        os.link(f"/proc/self/fd/{descriptor}", name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return False
    finally:
        os.close(descriptor)
    return True


def write_whole_file(path: Path, content: bytes, *, replaces: bool = False) -> None:
    """Write a new file that only the person can read. With `replaces` it is one as programs make them, or takes
    the place of another and keeps its mode; what cannot be replaced is written to. Raises OSError."""
    mode = None
    if replaces and os.path.lexists(path):
        named, path = path, Path(os.path.realpath(path))
        if named.exists():  # else it is a link to a file that is made now
            status = named.stat()  # what is open here may have no name but that of its link
            if not stat.S_ISREG(status.st_mode) or not _may_replace(path, status):
                named.write_bytes(content)
                return
            mode = stat.S_IMODE(status.st_mode)

    def write(descriptor: int) -> None:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        if mode is not None:
            os.fchmod(descriptor, mode)

    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not replaces:
            create_whole_file(path.name, folder, 0o600, write)
            return
        temporary = f".{path.name[:40]}.{secrets.token_hex(8)}.quorum-new"
        create_whole_file(temporary, folder, 0o666, write)
        try:
            os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException as error:
            os.unlink(temporary, dir_fd=folder)
            if not isinstance(error, OSError) or error.errno not in _NOT_REPLACED:
                raise
            path.write_bytes(content)
    finally:
        os.close(folder)


def write_synced_file(path: Path, content: bytes) -> None:
    """Have a file hold this. Whatever ends the machine meanwhile leaves what it held before, or all of this.
    Raises OSError."""
    unfinished = path.with_name(f"{path.name}.new")
    with open(unfinished, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)


def sync_folder(folder: int) -> None:
    """Have the names of an open folder on the disk. On a file system that cannot sync a folder, its files are
    there all the same. Raises OSError."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


def sync_names(path: Path) -> None:
    """The same for the folder at this path."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync_folder(folder)
    finally:
        os.close(folder)


def _may_replace(path: Path, status: os.stat_result) -> bool:
    """Whether the file has this name, which an open one may have lost, in a folder that may be written to."""
    return path.exists() and os.path.samestat(path.stat(), status) and os.access(path.parent, os.W_OK)

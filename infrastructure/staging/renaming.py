"""Names in a folder of the person's, changed without replacing anything unseen, and without following a
link."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_NO_REPLACE, _EXCHANGE = 1, 2
_ANY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def open_folder(root: int, path: str) -> Iterator[int]:
    """The descriptor of the folder `path` below an open one. No link is followed on the way. Raises OSError."""
    folder = os.dup(root)
    try:
        for name in filter(None, path.split("/")):
            if name == "..":
                raise ValueError(f"{path!r} leads out of its folder")
            below = os.open(name, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


@contextmanager
def open_root(path: str) -> Iterator[int]:
    """The descriptor of a folder; its path may be that of another descriptor, as /proc shows it."""
    folder = os.open(f"{path}/.", _FOLDER)
    try:
        yield folder
    finally:
        os.close(folder)


@contextmanager
def open_below(root: int, path: str) -> Iterator[int]:
    """The descriptor of a regular file or folder below an open folder. Raises OSError; FileNotFoundError where
    something else is, or nothing."""
    folder, _, name = path.rpartition("/")
    with open_folder(root, folder) as above:
        try:
            file = os.open(name, _ANY, dir_fd=above)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                raise FileNotFoundError(error.errno, error.strerror, path) from error
            raise
        try:
            if stat.S_IFMT(os.fstat(file).st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
                raise FileNotFoundError(errno.ENOENT, "neither a file nor a folder", path)
            yield file
        finally:
            os.close(file)


def move(name: str, folder: int, new_name: str, new_folder: int) -> None:
    """Rename where nothing has the new name. Raises OSError."""
    _rename(name, folder, new_name, new_folder, _NO_REPLACE)


def exchange(name: str, folder: int, other_name: str, other_folder: int) -> None:
    """Have each of two files take the place of the other, at one moment. Raises OSError."""
    _rename(name, folder, other_name, other_folder, _EXCHANGE)


def sync_file_system(path: str) -> None:
    """Have all that was written on the file system of a folder on the disk. Raises OSError."""
    with open_root(path) as folder:
        if _load().syncfs(folder) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), path)


def _rename(name: str, folder: int, new_name: str, new_folder: int, flags: int) -> None:
    if _load().renameat2(folder, os.fsencode(name), new_folder, os.fsencode(new_name), flags) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name, None, new_name)


@cache
def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.renameat2.argtypes = (
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_uint,
    )
    library.syncfs.argtypes = (ctypes.c_int,)
    return library

"""Temporary folders. A process that is killed leaves its own, and the next session or review removes it.

The folder for temporary files is everybody's. So each of ours is locked by itself, by the process that uses it,
and the kernel ends the lock with the process; folders of other users, others of the person's, and links are
left alone.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quorum.domain.text.pattern import compile_once

COPY_PREFIX = "quorum-review-"
DIFF_PREFIX = "quorum-diff-"
MEMBER_PREFIX = "quorum-member-"
UNRECORDED_PREFIX = "quorum-session-"
SERVE_PREFIX = "quorum-sockets-"
COPILOT_PREFIX = "quorum-cli-"
_PREFIXES = (
    *(COPY_PREFIX, DIFF_PREFIX, MEMBER_PREFIX),
    *(UNRECORDED_PREFIX, SERVE_PREFIX, COPILOT_PREFIX),
)
_NAME = f"(?:{'|'.join(_PREFIXES)})[a-z0-9_]{{8}}"  # as `mkdtemp` makes it
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def open_swept_folder(prefix: str) -> Iterator[Path]:
    """An empty folder that only this user reads, removed in the end. Raises OSError."""
    folder, lock = _make_locked(prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def remove_abandoned_folders() -> None:
    """Remove the folders whose process is gone. What cannot be removed stays for the next time."""
    parent = Path(tempfile.gettempdir())
    with suppress(OSError):
        for name in os.listdir(parent):
            if compile_once(_NAME).fullmatch(name):
                _remove_if_abandoned(parent / name)


def _make_locked(prefix: str) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        try:
            lock = os.open(folder, _FOLDER)
        except FileNotFoundError:
            continue  # swept before it was ours
        with suppress(OSError):  # where nothing can be locked, nothing is swept either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_same(folder, lock):
            return folder, lock
        os.close(lock)


def _remove_if_abandoned(folder: Path) -> None:
    try:
        lock = os.open(folder, _FOLDER)
    except OSError:  # gone, a link, no folder, or of somebody who lets nobody in
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(lock)
        is_ours = status.st_uid == os.geteuid() and status.st_mode & 0o777 == 0o700
        if is_ours and _is_same(folder, lock):
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # its process is alive
        return
    finally:
        os.close(lock)


def _is_same(folder: Path, descriptor: int) -> bool:
    """Whether the folder of that name is still the one that was opened."""
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(status.st_mode) and os.path.samestat(status, os.fstat(descriptor))

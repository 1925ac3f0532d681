"""The place of the socket: a path of the person's own, taken for as long as quorum listens there."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quorum.domain.errors import ConfigError
from quorum.infrastructure.remote.peer import identify_peer

LONGEST_PATH = 107 if sys.platform == "linux" else 103
"""In bytes: what the kernel's address of a Unix socket has room for."""

_BACKLOG = 64


class SocketPath:
    """A socket that listens at a path, mode 0600. Nobody is answered before `socket` is served.

    Raises ConfigError, one sentence with the remedy, where the path cannot be had.
    """

    def __init__(self, path: Path) -> None:
        self.path = resolve_own_path(path)
        with _lock_folder(self.path.parent):
            _clear(self.path)
            self.socket = _open_listening(self.path)
            status = os.lstat(self.path)
        self._identity = (status.st_dev, status.st_ino)

    def leave(self) -> None:
        """Stop listening and take the socket's file away, if it is still the one that was made here."""
        self.socket.close()
        with suppress(OSError):
            status = os.lstat(self.path)
            if (status.st_dev, status.st_ino) == self._identity:
                os.unlink(self.path)


def resolve_own_path(path: Path) -> Path:
    """The path with its folder spelled out, which is the person's own. The file itself is not looked at.

    Raises ConfigError where a socket cannot be there, or where others could put one in its place.
    """
    try:
        folder = Path(path).expanduser().parent.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(
            f"cannot listen at {path}: its folder cannot be reached ({why}); make it first"
        ) from error
    whole = folder / path.name
    length = len(os.fsencode(whole))
    if not path.name or length > LONGEST_PATH:
        raise ConfigError(
            f"cannot listen at {whole}: the path has {length} bytes, and a socket's at most {LONGEST_PATH}; "
            "choose a shorter one"
        )
    for each in (folder, *folder.parents):
        if problem := _find_folder_problem(each, is_own=each == folder):
            raise ConfigError(f"cannot listen at {whole}: {problem}; name a socket in a folder of your own")
    return whole


def _find_folder_problem(folder: Path, *, is_own: bool) -> str:
    """Why somebody else could put another file in this folder, or another folder in its place; else empty."""
    try:
        status = os.stat(folder)
    except OSError as error:
        return f"{folder} cannot be looked at ({error.strerror})"
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is not a folder"
    if status.st_uid != os.geteuid() and (is_own or status.st_uid != 0):
        return f"{folder} belongs to another user"
    open_to_all = status.st_mode & 0o022
    if open_to_all and (is_own or not status.st_mode & stat.S_ISVTX):
        return f"others may write in {folder}"
    return ""


def remove_dead_sockets(folder: Path) -> int:
    """Take away what dead processes left of their sockets in a folder of our own; how many are alive.

    Raises OSError.
    """
    alive = 0
    with _lock_folder(folder):
        for entry in sorted(folder.iterdir()):
            if not stat.S_ISSOCK(entry.lstat().st_mode):
                continue
            if _describe_holder(entry):
                alive += 1
            else:
                entry.unlink(missing_ok=True)
    return alive


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Hold a lock on the folder, so that of two that find a dead socket only one takes its place."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _clear(path: Path) -> None:
    """Take away a socket that a dead process left behind. Nothing else is ever removed."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError(f"cannot listen at {path}: {error.strerror}") from error
    if not stat.S_ISSOCK(status.st_mode):
        raise ConfigError(
            f"cannot listen at {path}: there is something there that is not a socket, and it is left alone; "
            "choose another path"
        )
    if status.st_uid != os.geteuid():
        raise ConfigError(f"cannot listen at {path}: the socket there belongs to another user")
    if holder := _describe_holder(path):
        raise ConfigError(f"cannot listen at {path}: {holder} listens there already; choose another path")
    os.unlink(path)


def _describe_holder(path: Path) -> str:
    """Who listens at a path, in words; empty where nobody does any more."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(os.fspath(path))
        except OSError as error:
            # A full queue is one that somebody listens on, as is a socket of another kind.
            return "" if error.errno in (errno.ECONNREFUSED, errno.ENOENT) else "another program"
        with suppress(OSError):
            if pid := identify_peer(probe).pid:
                return f"process {pid}"
    return "another process"


def _open_listening(path: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)  # close-on-exec, as all that Python opens
    try:
        server.bind(os.fspath(path))
        os.chmod(path, 0o600)  # nobody can connect before it listens
        server.listen(_BACKLOG)
        server.setblocking(False)
    except OSError as error:
        server.close()
        raise ConfigError(f"cannot listen at {path}: {error.strerror}") from error
    return server

"""Writing a file as a whole: the old content or the new one is there at every moment, never a part."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from typing import Literal

from domain.errors import StaleSeal, ToolError
from infrastructure.blocking import Stop
from infrastructure.files.workspace import Location, Workspace, open_regular, translate_os_errors

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1024 * 1024
_SPECIAL_BITS = stat.S_ISUID | stat.S_ISGID


def replace_file(
    workspace: Workspace,
    location: Location,
    content: bytes,
    *,
    expected: str | None,
    create_folders: bool,
    stop: Stop,
) -> None:
    """Put `content` at the location, keeping mode and, where permitted, owner of the file that was there.

    `expected` is the SHA-256 of what is to be replaced, None where nothing may be; it is compared on the open
    descriptor just before the rename. Raises StaleSeal if it differs, ToolError, Stopped: nothing was changed.
    """
    name, shown_path = location.names[-1], workspace.format_path(location.path)
    with (
        workspace.open_folder(location.parent, create=create_folders) as folder,
        translate_os_errors(shown_path),
    ):
        before = read_file_status(name, folder)
        if before is not None and not os.access(name, os.W_OK, dir_fd=folder):
            raise ToolError(f"{shown_path} is write-protected: change its mode first if that is meant")
        temporary = name_temporary(name)
        try:
            write_new_file(temporary, folder, content, before, stop)
            require_unchanged(name, folder, expected, shown_path)
            stop.check()
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            remove_if_there(temporary, folder)
            raise
        sync_folder(folder, shown_path)


def name_temporary(name: str, kind: Literal["new", "old"] = "new") -> str:
    """A name beside the file of this name, for its next content or its former one. A process that is killed may
    leave such a file: the name says whose it is, and of what."""
    return f".{name[:40]}.{secrets.token_hex(8)}.quorum-{kind}"


def read_file_status(name: str, folder: int) -> os.stat_result | None:
    """The status of a file of an open folder, of a link its own; None where there is none."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def write_new_file(name: str, folder: int, content: bytes, model: os.stat_result | None, stop: Stop) -> None:
    """Make a file in an open folder, with the mode and, where permitted, the owner of `model`.

    Raises OSError and Stopped; a part of it may be there then.
    """
    descriptor = os.open(name, _NEW, 0o666 if model is None else 0o600, dir_fd=folder)
    try:
        view = memoryview(content)
        while view:
            stop.check()
            view = view[os.write(descriptor, view[:_CHUNK]) :]
        if model is not None:
            os.fchmod(descriptor, _adopt_owner(descriptor, model))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _adopt_owner(descriptor: int, model: os.stat_result) -> int:
    """Give the file the owner of `model` and say which mode it may then have."""
    mode, own = stat.S_IMODE(model.st_mode), os.fstat(descriptor)
    if (own.st_uid, own.st_gid) == (model.st_uid, model.st_gid):
        return mode
    try:
        os.fchown(descriptor, model.st_uid, model.st_gid)
    except PermissionError:
        # Only root may give files away. Under another owner the set-id bits would mean something else.
        return mode & ~_SPECIAL_BITS
    return mode


def require_unchanged(name: str, folder: int, expected: str | None, shown_path: str) -> None:
    """Raises StaleSeal unless a file of an open folder has this SHA-256; None: unless there is none."""
    try:
        descriptor = open_regular(name, folder, shown_path)
    except FileNotFoundError:
        found = None
    else:
        with os.fdopen(descriptor, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise StaleSeal(f"{shown_path} changed while the call was under way ({change(expected, found)})")


def change(expected: str | None, found: str | None) -> str:
    """In words, how a file differs from the expected one; both are SHA-256, None for no file."""
    if found is None:
        return "it is no longer there; nothing was written"
    if expected is None:
        return f"there is a file now, SHA-256 {found}; nothing was written"
    return f"SHA-256 was {expected}, is now {found}; nothing was written"


def remove_if_there(name: str, folder: int) -> None:
    """Remove a file of an open folder."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        # It was never made, or already bears its final name.
        return


def sync_folder(folder: int, shown_path: str) -> None:
    """Have the names of an open folder on the disk. Raises ToolError where that fails."""
    try:
        os.fsync(folder)
    except OSError as error:
        # Some file systems cannot sync a folder; the content is there all the same.
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP):
            raise ToolError(f"{shown_path} is written, but a crash may undo it: {error.strerror}") from error

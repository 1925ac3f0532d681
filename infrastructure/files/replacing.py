"""Writes a file as a whole, and several of them all or none.

A new one takes its place, so that no moment shows a part of it, unless that would lose something of the old
one: then its content is written over.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from hashlib import sha256
from typing import Literal

from msgspec import Struct

from quorum.application.calls.batch_state import is_decided_path
from quorum.application.whole_file import create_whole_file, sync_folder
from quorum.domain.errors import StaleSeal, ToolError
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.files.file_metadata import MetadataNotKept, copy_metadata, find_other_names
from quorum.infrastructure.files.opened_path import refuse_held
from quorum.infrastructure.files.workspace import (
    Location,
    Workspace,
    escape_path,
    open_regular,
    require_regular,
    translate_os_errors,
)

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


# A folder in which nothing may be made, and what something is mounted on.
_BOUND = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV})


def replace_file(
    workspace: Workspace,
    location: Location,
    content: bytes,
    *,
    expected: str | None,
    create_folders: bool,
    stop: Stop,
) -> str:
    """Put `content` at the location, keeping owner, mode, access control list, extended attributes and other
    names of the file that was there; a note for who asked, empty where there is nothing to say.

    `expected` is the SHA-256 of what is to be replaced, None where nothing may be; it is compared on the open
    descriptor just before the change. Raises StaleSeal if it differs, ToolError, Stopped: nothing was changed.
    """
    name, shown_path = location.names[-1], workspace.format_path(location.path)
    with (
        workspace.open_folder(location.parent, create=create_folders) as folder,
        translate_os_errors(shown_path),
    ):
        others = require_writable(location, folder, shown_path)
        if others or not _replace_by_rename(name, folder, content, expected, shown_path, stop):
            write_in_place(
                name,
                folder,
                content,
                expected=expected,
                copy_name=name_temporary(name, "old"),
                shown_path=shown_path,
                stop=stop,
            )
        sync_written(folder, shown_path)
    return describe_names(others)


def require_writable(location: Location, folder: int, shown_path: str) -> tuple[str, ...] | None:
    """The other names of a file that is to be changed, which must be known to the decision about the call; None
    where some of them are not. Raises ToolError where it may not be written."""
    name = location.names[-1]
    if read_file_status(name, folder) is None:
        return ()
    if not os.access(name, os.W_OK, dir_fd=folder):
        raise ToolError(f"{shown_path} is write-protected: change its mode first if that is meant")
    others = find_other_names(location)
    return others if others and all(map(is_decided_path, others)) else None if others else others


def describe_names(others: tuple[str, ...] | None) -> str:
    """What became of the other names of a file that was changed."""
    if others is None:
        return "it had other names that are not known, which keep the former content"
    return f"changed under its other names as well: {', '.join(map(escape_path, others))}" if others else ""


def _replace_by_rename(
    name: str, folder: int, content: bytes, expected: str | None, shown_path: str, stop: Stop
) -> bool:
    """Put a new file in the place of the old; whether that could be, with all that the old one has."""
    temporary = name_temporary(name)
    try:
        with open_model(name, folder, shown_path) as model:
            write_new_file(temporary, folder, content, model, stop)
        require_unchanged(name, folder, expected, shown_path)
        stop.check()
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException as error:
        remove_if_there(temporary, folder)
        if expected is not None and is_bound_to_place(error):
            return False
        raise
    return True


def is_bound_to_place(error: BaseException) -> bool:
    """Whether an error says that no other file can take the place of one, which may be written itself."""
    return isinstance(error, MetadataNotKept) or (isinstance(error, OSError) and error.errno in _BOUND)


@contextmanager
def open_model(name: str, folder: int, shown_path: str) -> Iterator[int | None]:
    """A descriptor of a file of an open folder that a new one is modelled on; None where there is none."""
    try:
        descriptor = open_regular(name, folder, shown_path)
    except FileNotFoundError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


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


def write_new_file(name: str, folder: int, content: bytes, model: int | None, stop: Stop) -> None:
    """Make a file in an open folder, with all that the file of the descriptor `model` has but its content.

    Raises OSError, Stopped and MetadataNotKept.
    """

    def write(descriptor: int) -> None:
        view = memoryview(content)
        while view:
            stop.check()
            view = view[os.write(descriptor, view[:_CHUNK]) :]
        if model is not None:
            copy_metadata(model, descriptor)
        os.fsync(descriptor)

    create_whole_file(name, folder, 0o666 if model is None else 0o600, write)


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


def sync_written(folder: int, shown_path: str) -> None:
    """Have the names of an open folder on the disk. Raises ToolError where that fails."""
    try:
        sync_folder(folder)
    except OSError as error:
        raise ToolError(f"{shown_path} is written, but a crash may undo it: {error.strerror}") from error


# File systems without hard links answer so; then the former content is copied.
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV, errno.ENOSYS})


class FileStep(Struct, frozen=True, kw_only=True):
    """What becomes of one file: `before` to `after`, None for no file. `like`: where it had its mode from."""

    location: Location
    before: bytes | None
    after: bytes | None
    like: Location | None = None


def change_together(workspace: Workspace, steps: Sequence[FileStep], *, stop: Stop) -> None:
    """Carry out all steps, or none: new contents and backups are on the disk before the first name changes.

    Files are written before others go, so that a process that is killed in between loses no content. Every file
    is compared with its `before` on the open descriptor just before its name changes. Raises StaleSeal where it
    differs, ToolError, Stopped: nothing is changed then, but for files that the error names.
    """
    with ExitStack() as stack:
        made: list[Location] = []
        stack.callback(_remove_folders, workspace, made)
        staged: list[_StagedStep] = []
        for step in steps:
            stop.check()
            if step.after is not None:
                made += _list_missing_folders(step.location)
            folder = stack.enter_context(
                workspace.open_folder(step.location.parent, create=step.after is not None)
            )
            each = _StagedStep(workspace, step, folder, stop)
            stack.callback(each.clean)
            each.stage()
            staged.append(each)
        staged.sort(key=lambda each: each.step.after is None)
        for each in staged:
            stop.check()
            each.require_unchanged()
        _change_names(staged)
        made.clear()
        for each in staged:
            each.sync()


def _change_names(staged: Sequence[_StagedStep]) -> None:
    changed: list[_StagedStep] = []
    try:
        for each in staged:
            each.require_unchanged()
            each.change()
            changed.append(each)
    except BaseException as error:
        lost = [each.shown for each in reversed(changed) if not each.restore()]
        if lost:
            raise ToolError(
                f"{error}; what was changed before that was restored, but not {', '.join(lost)}"
            ) from error
        raise


class _StagedStep:
    """A step of which everything but the change of the name is done."""

    def __init__(self, workspace: Workspace, step: FileStep, folder: int, stop: Stop) -> None:
        self.step = step
        self.shown = workspace.format_path(step.location.path)
        self._workspace = workspace
        self._folder = folder
        self._stop = stop
        self._is_in_place = False
        self._name = step.location.names[-1]
        self._new, self._backup = name_temporary(self._name), name_temporary(self._name, "old")

    def stage(self) -> None:
        step = self.step
        with translate_os_errors(self.shown):
            others = require_writable(step.location, self._folder, self.shown)
            self._is_in_place = bool(others and step.after is not None)
            if step.after is not None and not self._is_in_place:
                self._stage_new(step.after)
            if step.before is not None and not self._is_in_place:
                self._back_up(step.before)

    def _stage_new(self, content: bytes) -> None:
        try:
            with self._open_model() as model:
                write_new_file(self._new, self._folder, content, model, self._stop)
        except (MetadataNotKept, OSError) as error:
            if isinstance(error, MetadataNotKept) and self.step.before is None:
                raise ToolError(
                    f"{self.shown} cannot get the owner and the attributes of the file that is moved there"
                ) from error
            if self.step.before is None or not is_bound_to_place(error):
                raise
            remove_if_there(self._new, self._folder)
            self._is_in_place = True

    def _open_model(self) -> AbstractContextManager[int | None]:
        like = self.step.like
        if like is None:
            return open_model(self._name, self._folder, self.shown)
        return _open_elsewhere(self._workspace, like)

    def _back_up(self, content: bytes) -> None:
        try:
            os.link(
                self._name,
                self._backup,
                src_dir_fd=self._folder,
                dst_dir_fd=self._folder,
                follow_symlinks=False,
            )
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            with open_model(self._name, self._folder, self.shown) as model:
                write_new_file(self._backup, self._folder, content, model, self._stop)

    def require_unchanged(self) -> None:
        with translate_os_errors(self.shown):
            require_unchanged(self._name, self._folder, _hash(self.step.before), self.shown)

    def change(self) -> None:
        with translate_os_errors(self.shown):
            if self.step.after is None:
                os.unlink(self._name, dir_fd=self._folder)
                return
            if not self._is_in_place:
                try:
                    os.replace(self._new, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
                except OSError as error:
                    if self.step.before is None or not is_bound_to_place(error):
                        raise
                    self._is_in_place = True
            if self._is_in_place:
                self._write_in_place(self.step.after, self.step.before)

    def restore(self) -> bool:
        """Put the former content back; False where that failed, or the file is not as we left it."""
        try:
            if self._is_in_place and self.step.before is not None:
                self._write_in_place(self.step.before, self.step.after)
                return True
            require_unchanged(self._name, self._folder, _hash(self.step.after), self.shown)
            if self.step.before is None:
                os.unlink(self._name, dir_fd=self._folder)
            else:
                os.replace(self._backup, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except (OSError, ToolError):
            return False
        return True

    def _write_in_place(self, content: bytes, present: bytes | None) -> None:
        write_in_place(
            self._name,
            self._folder,
            content,
            expected=_hash(present),
            copy_name=name_temporary(self._name, "old"),
            shown_path=self.shown,
            stop=self._stop,
        )

    def sync(self) -> None:
        sync_written(self._folder, self.shown)

    def clean(self) -> None:
        for name in (self._new, self._backup):
            remove_if_there(name, self._folder)


def _hash(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()


@contextmanager
def _open_elsewhere(workspace: Workspace, location: Location) -> Iterator[int]:
    with workspace.open_file(location) as file:
        yield file.fileno()


def _list_missing_folders(location: Location) -> Iterator[Location]:
    """The folders above a place that do not exist, from the top."""
    missing: list[Location] = []
    folder = location.parent
    while folder.names and not os.path.lexists(folder.path):
        missing.append(folder)
        folder = folder.parent
    yield from reversed(missing)


def _remove_folders(workspace: Workspace, made: Sequence[Location]) -> None:
    """Remove folders that were made for nothing, if they are empty."""
    for location in reversed(made):
        with suppress(OSError, ToolError), workspace.open_folder(location.parent) as folder:
            os.rmdir(location.names[-1], dir_fd=folder)

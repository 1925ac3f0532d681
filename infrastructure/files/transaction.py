"""Changing several files together: all of them, or none."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from hashlib import sha256

from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.files.file_metadata import MetadataNotKept
from quorum.infrastructure.files.replacing import (
    is_bound_to_place,
    name_temporary,
    open_model,
    remove_if_there,
    require_unchanged,
    require_writable,
    sync_written,
    write_in_place,
    write_new_file,
)
from quorum.infrastructure.files.workspace import Location, Workspace, translate_os_errors

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

"""Changing several files together: all of them, or none."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from hashlib import sha256

from domain.errors import ToolError
from domain.lazy_dataclass import dataclass
from infrastructure.blocking import Stop
from infrastructure.files.replacing import (
    name_temporary,
    read_file_status,
    remove_if_there,
    require_unchanged,
    sync_folder,
    write_new_file,
)
from infrastructure.files.workspace import Location, Workspace, translate_os_errors

# File systems without hard links answer so; then the former content is copied.
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV, errno.ENOSYS})


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStep:
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
            each = _StagedStep(workspace, step, folder)
            stack.callback(each.clean)
            each.stage(stop)
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

    def __init__(self, workspace: Workspace, step: FileStep, folder: int) -> None:
        self.step = step
        self.shown = workspace.format_path(step.location.path)
        self._workspace = workspace
        self._folder = folder
        self._name = step.location.names[-1]
        self._new, self._backup = name_temporary(self._name), name_temporary(self._name, "old")

    def stage(self, stop: Stop) -> None:
        with translate_os_errors(self.shown):
            status = read_file_status(self._name, self._folder)
            if status is not None and not os.access(self._name, os.W_OK, dir_fd=self._folder):
                raise ToolError(f"{self.shown} is write-protected: change its mode first if that is meant")
            if self.step.after is not None:
                model = status if self.step.like is None else os.stat(self.step.like.path)
                write_new_file(self._new, self._folder, self.step.after, model, stop)
            if self.step.before is not None and status is not None:
                self._back_up(self.step.before, status, stop)

    def _back_up(self, content: bytes, status: os.stat_result, stop: Stop) -> None:
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
            write_new_file(self._backup, self._folder, content, status, stop)

    def require_unchanged(self) -> None:
        before = self.step.before
        expected = None if before is None else sha256(before).hexdigest()
        with translate_os_errors(self.shown):
            require_unchanged(self._name, self._folder, expected, self.shown)

    def change(self) -> None:
        with translate_os_errors(self.shown):
            if self.step.after is None:
                os.unlink(self._name, dir_fd=self._folder)
            else:
                os.replace(self._new, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def restore(self) -> bool:
        """Put the former content back; False where that failed, or the file is not as we left it."""
        after = self.step.after
        try:
            left = None if after is None else sha256(after).hexdigest()
            require_unchanged(self._name, self._folder, left, self.shown)
            if self.step.before is None:
                os.unlink(self._name, dir_fd=self._folder)
            else:
                os.replace(self._backup, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except (OSError, ToolError):
            return False
        return True

    def sync(self) -> None:
        sync_folder(self._folder, self.shown)

    def clean(self) -> None:
        for name in (self._new, self._backup):
            remove_if_there(name, self._folder)


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

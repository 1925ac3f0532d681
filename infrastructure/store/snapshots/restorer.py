"""Gives single files back: whole or not at all, inside the workspace only, through no link.

What that would change is shown to a person before.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from quorum.domain.calls.effects import OUTSIDE, FileKind, FileState, is_like
from quorum.domain.errors import RestoreError, ToolError
from quorum.domain.replacing import replace
from quorum.domain.sessions.restoration import RestoreStep
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.files.diff import render_unified_diff
from quorum.infrastructure.files.file_metadata import MetadataNotKept, copy_metadata
from quorum.infrastructure.files.replacing import name_temporary, read_file_status
from quorum.infrastructure.files.workspace import Location, escape_path, translate_os_errors
from quorum.infrastructure.store.snapshots.reading import FileReader, OpenFolders, locate_path

MOST_LINES = 2_000
MOST_CHARS = 200_000
_KINDS = {FileKind.FILE: "a file", FileKind.LINK: "a link", FileKind.OTHER: "neither file nor link"}


def render_step_diff(step: RestoreStep, name: str, now: bytes | None, wanted: bytes | None) -> str:
    """The step in words, and the diff of the contents as far as they are known."""
    lines = []
    if step.trouble is not None:
        lines.append(f"cannot be given back: {step.trouble}")
    if step.is_final and step.now is not None and step.trouble is None:
        lines.append(f"what is there now cannot be brought back afterwards: {step.now.unkept}")
    lines += _list_words(step.now, step.wanted)
    text = "".join(f"{line}\n" for line in lines)
    if step.trouble is None and (now is not None or wanted is not None):
        text += _render_content_diff(name, now, wanted)
    return cut_long_text(text)


def cut_long_text(text: str) -> str:
    """The beginning of a long text, and how many lines are left out."""
    lines = text.splitlines(keepends=True)
    cut = "".join(lines[:MOST_LINES])[:MOST_CHARS]
    if len(cut) == len(text):
        return text
    left = len(lines) - cut.count("\n")
    return f"{cut.rstrip(chr(10))}\n… {left} more lines\n"


def _list_words(now: FileState | None, wanted: FileState | None) -> list[str]:
    if now is None or wanted is None:
        state = now or wanted
        assert state is not None
        verb = "makes" if now is None else "deletes"
        detail = f" to {escape_path(state.target)}" if state.target is not None else ""
        size = f", {state.size:,} bytes" if state.kind is FileKind.FILE else ""
        return [f"{verb} {_KINDS[state.kind]}{detail}{size}"]
    lines = []
    if now.kind is not wanted.kind:
        lines.append(f"makes {_KINDS[now.kind]} {_KINDS[wanted.kind]}")
    if now.target != wanted.target:
        lines.append(f"leads to: {_read_target(now)} → {_read_target(wanted)}")
    if now.kind is wanted.kind and now.mode != wanted.mode:
        lines.append(f"mode: {now.mode:04o} → {wanted.mode:04o}")
    return lines


def _read_target(state: FileState) -> str:
    return escape_path(state.target) if state.target is not None else "nowhere"


def _render_content_diff(name: str, now: bytes | None, wanted: bytes | None) -> str:
    diff = render_unified_diff(now, wanted if wanted is not None else b"", name)
    return diff if wanted is not None else diff.replace(f"\n+++ b/{name}\n", "\n+++ /dev/null\n", 1)


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SPECIAL_BITS = stat.S_ISUID | stat.S_ISGID


class WorkspaceRestorer:
    """Implements `FileRestorer`. `reader` tells whether a file is still as a step saw it."""

    def __init__(self, reader: FileReader) -> None:
        self._workspace = reader.workspace
        self._reader = reader

    async def restore(self, step: RestoreStep, content: bytes | None) -> FileState | None:
        """Make the file what the step wants; the state it has then. Raises RestoreError, nothing changed."""
        return await run_in_thread(lambda stop: self._restore(step, content, stop))

    async def sweep(self, deleted: Sequence[str]) -> None:
        await run_in_thread(lambda _stop: self._sweep(deleted))

    async def diff(self, step: RestoreStep, now: bytes | None, wanted: bytes | None) -> str:
        """What the step would change."""
        name = self._workspace.format_path(step.path)

        return await run_in_thread(lambda _stop: render_step_diff(step, name, now, wanted))

    def _restore(self, step: RestoreStep, content: bytes | None, stop: Stop) -> FileState | None:
        place = locate_path(step.path, self._workspace)
        if place is None:
            raise RestoreError(OUTSIDE)
        stop.check()
        self._require_as_seen(step)
        with self._translate_errors(place):
            if step.wanted is None:
                self._remove(step, place)
                return None
            parent = Location(place.root, place.names[:-1], "")
            with self._workspace.open_folder(parent, create=True) as folder:
                return self._put(step, step.wanted, content, place.names[-1], folder)

    @contextmanager
    def _translate_errors(self, place: Location) -> Iterator[None]:
        name = self._workspace.format_path(place.path)
        try:
            with translate_os_errors(name):
                yield
        except ToolError as error:
            raise RestoreError(str(error).removeprefix(f"{name}: ")) from error

    def _require_as_seen(self, step: RestoreStep) -> None:
        with OpenFolders(self._workspace) as folders:
            found = self._reader.read(step.path, folders).state
        if not is_like(found, step.now):
            raise RestoreError("it was changed just now, after what would be given back was shown")

    def _remove(self, step: RestoreStep, place: Location) -> None:
        with self._workspace.open_folder(Location(place.root, place.names[:-1], "")) as folder:
            os.unlink(place.names[-1], dir_fd=folder)
            _sync(folder)

    def _put(
        self, step: RestoreStep, wanted: FileState, content: bytes | None, name: str, folder: int
    ) -> FileState:
        if _differs_in_mode_only(step) and (mode := _change_mode(name, folder, wanted.mode)) is not None:
            return replace(wanted, mode=mode)
        temporary = name_temporary(name)
        try:
            with _open_model(name, folder) as model:
                state = _make(temporary, folder, wanted, content, model)
            self._require_as_seen(step)
            _clear_folder(name, folder)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise
        _sync(folder)
        return state

    def _sweep(self, deleted: Sequence[str]) -> None:
        folders: set[Location] = set()
        for path in deleted:
            place = locate_path(path, self._workspace)
            for depth in range(1, len(place.names) if place else 0):
                assert place is not None
                folders.add(Location(place.root, place.names[:depth], ""))
        for folder in sorted(folders, key=lambda folder: len(folder.names), reverse=True):
            # One that holds something, or is gone, stays as it is.
            with (
                suppress(OSError, ToolError),
                self._workspace.open_folder(Location(folder.root, folder.names[:-1], "")) as above,
            ):
                os.rmdir(folder.names[-1], dir_fd=above)


def _differs_in_mode_only(step: RestoreStep) -> bool:
    now, wanted = step.now, step.wanted
    if now is None or wanted is None or now.kind is not FileKind.FILE or wanted.kind is not FileKind.FILE:
        return False
    return now.sha256 is not None and now.sha256 == wanted.sha256


def _change_mode(name: str, folder: int, mode: int) -> int | None:
    """Give a file another mode where it is; None where it cannot be opened, and must be written anew."""
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except PermissionError:
        return None
    try:
        os.fchmod(descriptor, mode)
        return stat.S_IMODE(os.fstat(descriptor).st_mode)
    finally:
        os.close(descriptor)


def _make(name: str, folder: int, wanted: FileState, content: bytes | None, model: int | None) -> FileState:
    """Make a file or link that is to take another's place.

    `model` is a descriptor of the file that is there now, of which it has all but content and mode.
    """
    if wanted.kind is FileKind.LINK:
        if wanted.target is None:
            raise RestoreError("where it led was not kept")
        os.symlink(wanted.target, name, dir_fd=folder)
        return wanted
    if content is None:
        raise RestoreError("its former content was not kept")
    descriptor = os.open(name, _NEW, 0o600, dir_fd=folder)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fchmod(descriptor, _adopt_metadata(descriptor, wanted.mode, model))
        os.fsync(descriptor)
        return replace(wanted, mode=stat.S_IMODE(os.fstat(descriptor).st_mode))
    finally:
        os.close(descriptor)


def _adopt_metadata(descriptor: int, mode: int, model: int | None) -> int:
    """Give the file what the one that is there has, and say which mode it may then have.

    Where that cannot be, the set-id bits would mean something else.
    """
    if model is None:
        return mode & ~_SPECIAL_BITS
    try:
        copy_metadata(model, descriptor)
    except MetadataNotKept:
        return mode & ~_SPECIAL_BITS
    return mode


@contextmanager
def _open_model(name: str, folder: int) -> Iterator[int | None]:
    """A descriptor of the regular file that is there; None where there is none that can be opened."""
    status = read_file_status(name, folder)
    if status is None or not stat.S_ISREG(status.st_mode):
        yield None
        return
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except PermissionError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _clear_folder(name: str, folder: int) -> None:
    """Remove a folder that stands in a file's place, with the folders in it, if there is no file in any."""
    status = read_file_status(name, folder)
    if status is None or not stat.S_ISDIR(status.st_mode):
        return
    if any(files for _path, _folders, files, _open in os.fwalk(name, dir_fd=folder)):
        raise RestoreError("a folder with files in it stands in its place")
    _remove_folders(name, folder)


def _remove_folders(name: str, folder: int) -> None:
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        for inside in os.listdir(inner):
            _remove_folders(inside, inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=folder)


def _sync(folder: int) -> None:
    # Some file systems cannot sync a folder; the file is there all the same.
    with suppress(OSError):
        os.fsync(folder)

"""Reads files of a workspace whole and unchanged meanwhile, but for those whose content must not be kept.

Files are reached from the roots of the workspace without following any link.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import lru_cache
from types import TracebackType

from msgspec import Struct

from quorum.domain.calls.effects import OUTSIDE, FileKind, FileMark, FileState
from quorum.domain.errors import ToolError
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.files.opened_path import refuse_held
from quorum.infrastructure.files.workspace import Location, Workspace, find_root


def locate_path(path: str, workspace: Workspace) -> Location | None:
    """The place of a path, taken literally; None where it lies outside the workspace, or is a root."""
    root = find_root(path, workspace.folders)
    if root is None or root == path or os.path.normpath(path) != path:
        return None
    return Location(root, tuple(path.removeprefix(root.rstrip("/") + "/").split("/")), path)


def keep_unlinked_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """Those of the paths that no link in a folder's place leads elsewhere, in order.

    A declared resource that is no path, such as a part of the run's state, is none of them.
    """
    listed = [path for path in paths if path.startswith("/")]
    folders = {folder: os.path.realpath(folder) for folder in map(os.path.dirname, listed)}
    return tuple(sorted({path for path in listed if folders[os.path.dirname(path)] == os.path.dirname(path)}))


class OpenFolders(AbstractContextManager["OpenFolders"]):
    """Opens the folders of files, and keeps the last one open for its neighbours."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._open = ExitStack()
        self._last: tuple[Location, int] | None = None

    def open_parent(self, place: Location) -> int:
        """A descriptor of the folder that holds a place, valid until the next. Raises ToolError."""
        folder = Location(place.root, place.names[:-1], "")
        if self._last is None or self._last[0] != folder:
            self._close()
            self._last = (folder, self._open.enter_context(self._workspace.open_folder(folder)))
        return self._last[1]

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        self._last = None
        self._open.close()


LARGEST_BYTES = 10 * 1024 * 1024
# A pipe put in a file's place must not block the opening, hence O_NONBLOCK.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TRIES = 3
_WINDOW_BYTES = 64 * 1024
# No secret is longer, not even a private key in its text form.
_OVERLAP_BYTES = 8 * 1024


class FileContent(Struct, frozen=True, kw_only=True):
    """A file as it was read. `mark` and `state` are None where there is none; `content` is what may be stored.

    `at_ns` is the time just before it, nanoseconds since 1970.
    """

    path: str
    at_ns: int
    mark: FileMark | None = None
    state: FileState | None = None
    content: bytes | None = None


class FileReader:
    """Reads single files of a workspace. `holds_secret` tells contents that must never be stored.

    `on_sensitive` is called with each sensitive file that it meets, in the thread of the reading.
    """

    def __init__(
        self,
        workspace: Workspace,
        policy: PathPolicy,
        holds_secret: Callable[[bytes], bool],
        *,
        on_sensitive: Callable[[str], object] = lambda _path: None,
        largest_bytes: int = LARGEST_BYTES,
    ) -> None:
        self.workspace = workspace
        self.policy = policy
        self.holds_secret = holds_secret
        self._on_sensitive = on_sensitive
        self._largest = largest_bytes

    def is_guarded(self, path: str) -> bool:
        """Whether a person has to see what becomes of the file: it is sensitive, or programs obey it."""
        return self.policy.is_sensitive(path) or self.policy.is_protected(path)

    def read(self, path: str, folders: OpenFolders) -> FileContent:
        """The file as it is. Never raises for what it finds."""
        at_ns = time.time_ns()
        place = locate_path(path, self.workspace)
        try:
            if place is None:
                status = os.lstat(path)
                return _build_unread(path, at_ns, status, OUTSIDE)
            folder, name = folders.open_parent(place), place.names[-1]
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except (OSError, ToolError):  # no such file, or none that could be reached
            return FileContent(path=path, at_ns=at_ns)
        if stat.S_ISDIR(status.st_mode):
            return FileContent(path=path, at_ns=at_ns)
        if stat.S_ISLNK(status.st_mode):
            state = self._link(name, folder, status)
            return FileContent(path=path, at_ns=at_ns, mark=build_mark(status), state=state)
        if (why := self._explain_never_read(path, status)) is not None:
            return _build_unread(path, at_ns, status, why)
        for _ in range(_TRIES):
            try:
                before, content, after = _read(name, folder, self._largest)
            except OSError:
                return _build_unread(path, at_ns, status, "it could not be read")
            mark = build_mark(after)
            if mark == build_mark(before) and len(content) == after.st_size:
                if any(map(self.holds_secret, _read_windows(content))):
                    return _build_unread(path, at_ns, after, "it holds a secret")
                state = FileState(
                    kind=FileKind.FILE,
                    mode=stat.S_IMODE(after.st_mode),
                    size=len(content),
                    sha256=hashlib.sha256(content).hexdigest(),
                )
                return FileContent(path=path, at_ns=at_ns, mark=mark, state=state, content=content)
        return _build_unread(path, at_ns, status, "it kept changing")

    def _explain_never_read(self, path: str, status: os.stat_result) -> str | None:
        if not stat.S_ISREG(status.st_mode):
            return "it is no regular file"
        if self.policy.is_sensitive(path):
            self._on_sensitive(path)
            return "it is sensitive"
        return "it is too large" if status.st_size > self._largest else None

    def _link(self, name: str, folder: int, status: os.stat_result) -> FileState:
        try:
            target = os.readlink(name, dir_fd=folder)
        except OSError:
            return _build_unkept(status, "it could not be read")
        if self.holds_secret(os.fsencode(target)):
            return _build_unkept(status, "it holds a secret")
        return FileState(kind=FileKind.LINK, mode=0, target=target)


def _read_windows(content: bytes) -> Iterator[bytes]:
    """The content piece by piece, each beginning in the one before: the search of a long one stops all else."""
    for start in range(0, max(len(content), 1), _WINDOW_BYTES):
        yield content[max(start - _OVERLAP_BYTES, 0) : start + _WINDOW_BYTES]


_KIND_AND_MODE = 0o177777


def build_mark(status: os.stat_result) -> FileMark:
    """What tells this state of a file from another."""
    return FileMark(
        status.st_mode & _KIND_AND_MODE, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
    )


def build_unread_state(mark: FileMark, why: str) -> FileState:
    """The state of a file of which no more is known than its mark."""
    return _share_unread_state(mark.kind, mark.size, why)


@lru_cache(maxsize=1 << 16)  # a call in a large workspace makes hundreds of thousands, of few sizes
def _share_unread_state(mark_kind: int, size: int, why: str) -> FileState:
    mode = stat.S_IMODE(mark_kind)
    if stat.S_ISREG(mark_kind):
        return FileState(kind=FileKind.FILE, mode=mode, size=size, unkept=why)
    kind = FileKind.LINK if stat.S_ISLNK(mark_kind) else FileKind.OTHER
    return FileState(kind=kind, mode=0 if kind is FileKind.LINK else mode, unkept=why)


def _build_unkept(status: os.stat_result, why: str) -> FileState:
    return build_unread_state(build_mark(status), why)


def _build_unread(path: str, at_ns: int, status: os.stat_result, why: str) -> FileContent:
    mark = build_mark(status)
    return FileContent(path=path, at_ns=at_ns, mark=mark, state=build_unread_state(mark, why))


def _read(name: str, folder: int, most: int) -> tuple[os.stat_result, bytes, os.stat_result]:
    refuse_held(name, folder)
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        before = os.fstat(descriptor)
        content, wanted = b"", min(before.st_size, most) + 1
        while piece := os.read(descriptor, wanted - len(content)):
            content = content + piece if content else piece
        return before, content, os.fstat(descriptor)
    finally:
        os.close(descriptor)

"""What the kernel keeps of a layer, read as changes of single paths: it costs by the changes, not by the
workspace.

The upper folder of an overlay holds new and changed files as they are, a character device 0/0 for each name
that is gone, and marks in attributes for folders that hide the one below them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

OVERLAY_ATTRIBUTES = "user.overlay."
_OPAQUE, _ORIGIN = OVERLAY_ATTRIBUTES + "opaque", OVERLAY_ATTRIBUTES + "origin"
# The kernel computes them from the content and the place.
_NOT_COMPARED = frozenset({"security.ima", "security.evm", "security.selinux"})
_NO_ATTRIBUTES = frozenset({errno.ENOTSUP, errno.ENODATA, errno.EACCES, errno.EPERM})


class UpperChange(NamedTuple):
    """A path that the layer has otherwise than the workspace; that of a folder ends in `/`.

    `before` and `after` are what stands there, None for nothing. `had_origin`: the kernel copied it from a file
    of the workspace, perhaps under another name. `lost_folder`: it lies in a folder of the workspace that is no
    longer there.
    """

    path: str
    before: os.stat_result | None
    after: os.stat_result | None
    had_origin: bool = False
    lost_folder: bool = False

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")


class FolderChanges(NamedTuple):
    """The changes of all folders: `made` are to be there before files are put into them, `gone` are to be
    removed once they are empty. Paths end in `/`, and stand above before below."""

    made: tuple[str, ...]
    gone: tuple[str, ...]


class UpperFolder:
    """Reads `upper`, over the folder `lower`. Both are paths of real folders, none of the mounted layer."""

    def __init__(self, upper: str, lower: str) -> None:
        self._upper = upper
        self._lower = lower
        self._made: list[str] = []
        self._gone: list[str] = []
        self._touched: list[str] = []

    def list_changes(self) -> tuple[list[UpperChange], FolderChanges]:
        """All changes, by path. Times alone are none. Raises OSError."""
        self._made, self._gone, self._touched = [], [], []
        changes = list(self._walk("", hidden=is_opaque(self._upper)))
        changes.sort(key=lambda change: change.path)
        return changes, FolderChanges(tuple(sorted(self._made)), tuple(sorted(self._gone)))

    def list_touched(self) -> tuple[str, ...]:
        """The files that are copies of those in the workspace, which they hide, and nothing else. Raises
        OSError."""
        self.list_changes()
        return tuple(self._touched)

    def holds_any(self) -> bool:
        """Whether there is a change. Raises OSError."""
        return next(self._walk("", hidden=is_opaque(self._upper)), None) is not None

    def _walk(self, folder: str, *, hidden: bool) -> Iterator[UpperChange]:
        """The changes in a folder of both; `hidden`: what only the workspace has is gone."""
        above, below = _list_statuses(self._upper + "/" + folder), {}
        if hidden:
            below = _list_statuses(self._lower + "/" + folder)
            for name in below.keys() - above.keys():
                yield from self._remove(folder + name, below[name])
        for name, after in above.items():
            path = folder + name
            before = below.get(name) if hidden else read_status(f"{self._lower}/{path}")
            if is_whiteout(after):
                if before is not None:
                    yield from self._remove(path, before)
            elif stat.S_ISDIR(after.st_mode):
                yield from self._compare_folder(path, before, after, hidden=hidden)
            else:
                changes = list(self._compare_file(path, before, after))
                if not changes and not hidden:
                    self._touched.append(path)
                yield from changes

    def _compare_folder(
        self, path: str, before: os.stat_result | None, after: os.stat_result, *, hidden: bool
    ) -> Iterator[UpperChange]:
        if before is None or not stat.S_ISDIR(before.st_mode):
            if before is not None:
                yield UpperChange(path, before, None)
            yield from self._add_folder(path + "/", after, lost=False)
            return
        if not has_same_metadata(f"{self._lower}/{path}", before, f"{self._upper}/{path}", after):
            yield UpperChange(path + "/", before, after)
        yield from self._walk(path + "/", hidden=hidden or is_opaque(f"{self._upper}/{path}"))

    def _add_folder(self, path: str, after: os.stat_result, *, lost: bool) -> Iterator[UpperChange]:
        """All of a folder that the workspace does not have."""
        # No program in the layer can rename a folder of the workspace, so one that came from there was there.
        lost = lost or _has_attribute(self._upper + "/" + path, _ORIGIN)
        self._made.append(path)
        is_empty = True
        for name, status in _list_statuses(self._upper + "/" + path).items():
            if is_whiteout(status):
                continue
            is_empty = False
            if stat.S_ISDIR(status.st_mode):
                yield from self._add_folder(f"{path}{name}/", status, lost=lost)
            else:
                yield UpperChange(path + name, None, status, self._has_origin(path + name), lost)
        if is_empty:
            yield UpperChange(path, None, after, lost_folder=lost)

    def _compare_file(
        self, path: str, before: os.stat_result | None, after: os.stat_result
    ) -> Iterator[UpperChange]:
        if before is not None and stat.S_ISDIR(before.st_mode):
            yield from self._remove(path, before)
            before = None
        if before is not None and self._is_same(path, before, after):
            return
        yield UpperChange(path, before, after, self._has_origin(path))

    def _remove(self, path: str, before: os.stat_result) -> Iterator[UpperChange]:
        """A file of the workspace, or all of a folder, is gone."""
        if not stat.S_ISDIR(before.st_mode):
            yield UpperChange(path, before, None)
            return
        self._gone.append(path + "/")
        entries = _list_statuses(f"{self._lower}/{path}")
        for name, status in entries.items():
            yield from self._remove(f"{path}/{name}", status)
        if not entries:
            yield UpperChange(path + "/", before, None)

    def _is_same(self, path: str, before: os.stat_result, after: os.stat_result) -> bool:
        lower, upper = f"{self._lower}/{path}", f"{self._upper}/{path}"
        if stat.S_IFMT(before.st_mode) != stat.S_IFMT(after.st_mode):
            return False
        if stat.S_ISLNK(before.st_mode):
            return os.readlink(lower) == os.readlink(upper)
        if not stat.S_ISREG(before.st_mode):
            return True
        return (
            before.st_size == after.st_size
            and has_same_content(lower, upper)
            and has_same_metadata(lower, before, upper, after)
        )

    def _has_origin(self, path: str) -> bool:
        return _has_attribute(f"{self._upper}/{path}", _ORIGIN)


def is_whiteout(status: os.stat_result) -> bool:
    """Whether it stands for a name that is gone."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def is_opaque(folder: str) -> bool:
    """Whether a folder of the upper one hides all that the workspace has in it."""
    return _read_attribute(folder, _OPAQUE) == b"y"


def show_through(folder: str) -> None:
    """Have a folder of the upper one hide nothing. Raises OSError."""
    with opened_to_us(folder):
        os.removexattr(folder, _OPAQUE)


def read_origin(path: str) -> bytes | None:
    """Which file of the workspace a file of the upper folder was copied from, as the kernel notes it."""
    return _read_attribute(path, _ORIGIN)


def read_status(path: str) -> os.stat_result | None:
    """What stands at a path, a link itself; None for nothing. Raises OSError where that is not known."""
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def has_same_metadata(one: str, status: os.stat_result, other: str, second: os.stat_result) -> bool:
    """Whether two files, none of them a link, have the same mode, owner, access lists and attributes."""
    return (
        stat.S_IMODE(status.st_mode) == stat.S_IMODE(second.st_mode)
        and (status.st_uid, status.st_gid) == (second.st_uid, second.st_gid)
        and read_attributes(one) == read_attributes(other)
    )


def has_same_content(one: str, other: str) -> bool:
    """Whether two regular files are known to hold the same. Raises OSError."""
    try:
        with open(one, "rb") as first, open(other, "rb") as second:
            while True:
                piece = first.read(1 << 20)
                if piece != second.read(1 << 20):
                    return False
                if not piece:
                    return True
    except PermissionError:
        return False


def is_same_file(one: str | Path, other: str | Path) -> bool:
    """Whether two places hold links of the same target, or regular files of the same content and mode. Raises
    OSError."""
    first, second = read_status(str(one)), read_status(str(other))
    if first is None or second is None or first.st_mode != second.st_mode:
        return False
    if stat.S_ISLNK(first.st_mode):
        return os.readlink(one) == os.readlink(other)
    return stat.S_ISREG(first.st_mode) and has_same_content(str(one), str(other))


def read_attributes(path: str) -> Mapping[str, bytes]:
    """The extended attributes of a file, access lists among them, but for those of the overlay; none where they
    may not be read. Raises OSError."""
    try:
        return {
            name: os.getxattr(path, name, follow_symlinks=False)
            for name in os.listxattr(path, follow_symlinks=False)
            if name not in _NOT_COMPARED and not name.startswith(OVERLAY_ATTRIBUTES)
        }
    except OSError as error:
        if error.errno in _NO_ATTRIBUTES:
            return {}
        raise


def strip_overlay_attributes(path: str) -> None:
    """Remove what the overlay noted in the attributes of a file. Raises OSError."""
    for name in os.listxattr(path, follow_symlinks=False):
        if name.startswith(OVERLAY_ATTRIBUTES):
            with opened_to_us(path):
                os.removexattr(path, name, follow_symlinks=False)


@contextmanager
def opened_to_us(path: str | Path) -> Iterator[None]:
    """Have a file or folder of ours be one that we may write, whatever its mode says, until the block ends.
    Raises OSError."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode) or os.access(path, os.W_OK):
        yield
        return
    os.chmod(path, stat.S_IMODE(status.st_mode) | stat.S_IRWXU)
    try:
        yield
    finally:
        os.chmod(path, stat.S_IMODE(status.st_mode))


def _list_statuses(folder: str) -> dict[str, os.stat_result]:
    with os.scandir(folder) as entries:
        return {entry.name: entry.stat(follow_symlinks=False) for entry in entries}


def _has_attribute(path: str, name: str) -> bool:
    return _read_attribute(path, name) is not None


def _read_attribute(path: str, name: str) -> bytes | None:
    try:
        return os.getxattr(path, name, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NO_ATTRIBUTES:
            return None
        raise

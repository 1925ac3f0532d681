"""The one path guard: what a model names is opened inside the workspace or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from quorum.application.calls.batch_state import is_decided_path, list_granted_paths
from quorum.application.whole_file import sync_folder
from quorum.domain.errors import ConfigError, StaleSeal, ToolError
from quorum.domain.review.path_policy import WorkspaceRoots
from quorum.domain.text.paths import is_below_any
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.files.opened_path import refuse_held, require_opened_at


def list_standing_roots(roots: Sequence[str]) -> tuple[str, ...]:
    """The roots of a workspace, links resolved, without added ones that are gone or lead elsewhere by now."""
    first, *added = roots
    standing = [folder for folder in added if os.path.isdir(folder) and os.path.realpath(folder) == folder]
    return tuple(dict.fromkeys((os.path.realpath(first), *standing)))


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe put in a file's place must not block the opening, hence O_NONBLOCK.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
SYSTEM_FOLDERS = ("/proc", "/sys", "/dev")
"""They show processes, this one too, and devices: nothing that anybody put there."""
_LONGEST_NAME = 255
_LONGEST_PATH = 4095
_REASONS = {
    errno.ENOENT: "no such file or folder",
    errno.EACCES: "permission denied",
    errno.EPERM: "the system does not permit it",
    errno.ENOTDIR: "a part of the path is not a folder, or became a symbolic link",
    errno.ELOOP: "a symbolic link was put in its place",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "the disk is full; nothing was changed",
    errno.EDQUOT: "the disk quota is used up; nothing was changed",
    errno.EFBIG: "the file would be larger than the system allows; nothing was changed",
}
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class Location(Struct, frozen=True):
    """A place, links resolved: `names` lead from `root` to it, a root of the workspace.

    `given` is the absolute path as it was named, before links were resolved. `is_outside`: it lies outside the
    workspace, and its root is that of the file system.
    """

    root: str
    names: tuple[str, ...]
    given: str
    is_outside: bool = False

    @property
    def path(self) -> str:
        """The canonical absolute path."""
        return os.path.join(self.root, *self.names)

    @property
    def resources(self) -> frozenset[str]:
        """What a call that touches this place declares: its canonical path, and its name where that differs."""
        return frozenset({self.path, self.given})

    @property
    def outside(self) -> frozenset[str]:
        """Its canonical path where it lies outside the workspace."""
        return frozenset({self.path} if self.is_outside else ())

    @property
    def parent(self) -> Location:
        """The folder that holds it."""
        return Location(self.root, self.names[:-1], os.path.dirname(self.given), self.is_outside)


class Workspace:
    """The folders in which file tools may act. The first root is the working directory.

    `folders` are the same roots as text; those that are added there count from then on.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        """Raises ConfigError where a root is not a folder, or none is given."""
        if not roots:
            raise ConfigError("a workspace needs at least one folder")
        self._named = tuple(os.path.abspath(root) for root in roots)
        self._given = tuple(os.path.realpath(root) for root in roots)
        self.folders = WorkspaceRoots(self._given)
        for root in self.folders:
            if not os.path.isdir(root):
                raise ConfigError(f"{escape_path(root)} is not a folder: name an existing one as the workspace")

    @property
    def cwd(self) -> Path:
        """The working directory, resolved."""
        return Path(self.folders[0])

    @property
    def roots(self) -> tuple[Path, ...]:
        """All roots, resolved."""
        return tuple(map(Path, self.folders))

    def locate(self, path: str) -> Location:
        """Where a path as a model writes it leads. It need not exist.

        Raises ToolError if it leads outside, unless the running call was approved to reach it there, and
        StaleSeal if it leads elsewhere than when the running call was decided about.
        """
        location = self.resolve(path)
        if not is_decided_path(location.path):
            raise StaleSeal(
                f"{escape_path(path)} leads to {self.format_path(location.path)} now, which is not what was "
                "decided about; it was not read or changed"
            )
        if location.is_outside and not is_below_any(location.path, list_granted_paths()):
            raise ToolError(self._explain_outside(path, location.path))
        return location

    def resolve(self, path: str) -> Location:
        """Where a path leads, be it outside the workspace: for what is decided before a call runs.

        Raises ToolError for what is no path, and for files of the system's own such as /proc.
        """
        _require_well_formed(path)
        joined = os.path.join(self.folders[0], path)
        canonical = os.path.realpath(joined)
        root = find_root(canonical, self.folders)
        if root is None and (canonical == "/" or is_below_any(canonical, SYSTEM_FOLDERS)):
            raise ToolError(
                f"{self._explain_outside(path, canonical)}; that place shows the system itself, "
                "and is opened to nobody"
            )
        _refuse_dead_links(joined, path)
        given = canonical if joined == canonical else self._locate_named(joined, canonical)
        if root is None:
            return Location("/", tuple(canonical.split("/")[1:]), given, is_outside=True)
        names = tuple(os.path.relpath(canonical, root).split("/")) if canonical != root else ()
        return Location(root, names, given)

    def format_path(self, path: str | Path) -> str:
        """The path for display: from the working directory if it lies there, control characters escaped."""
        text = os.fspath(path)
        cwd = self.folders[0]
        if text == cwd:
            return "."
        return escape_path(text.removeprefix(cwd.rstrip("/") + "/"))

    @contextmanager
    def open_folder(self, location: Location, *, create: bool = False) -> Iterator[int]:
        """A descriptor of the folder, reached from the root without following any link.

        `create` makes the folders that are missing. Raises ToolError, StaleSeal where it was moved meanwhile.
        """
        with translate_os_errors(self.format_path(location.path)):
            descriptor = _descend(location, create=create)
        try:
            require_opened_at(descriptor, location.path, self.format_path(location.path))
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def open_file(self, location: Location) -> Iterator[BinaryIO]:
        """The open file. Raises ToolError if there is none, or it is not a regular file, StaleSeal where it was
        moved meanwhile."""
        shown_path = self.format_path(location.path)
        if not location.names:
            raise ToolError(f"{shown_path} is a folder: use list_directory")
        with translate_os_errors(shown_path):
            folder = _descend(location.parent, create=False)
            try:
                descriptor = open_regular(location.names[-1], folder, shown_path)
            finally:
                os.close(folder)
        with os.fdopen(descriptor, "rb") as file, translate_os_errors(shown_path):
            require_opened_at(descriptor, location.path, shown_path)
            yield file

    def _explain_outside(self, path: str, canonical: str) -> str:
        roots = ", ".join(escape_path(root) for root in self.folders)
        leads = "" if canonical == path else f" (it leads to {escape_path(canonical)})"
        return f"{escape_path(path)} lies outside the workspace{leads}: only paths inside {roots} can be used"

    def _locate_named(self, joined: str, canonical: str) -> str:
        """The absolute path as named, under its resolved root; named from outside, the canonical one."""
        lexical = os.path.abspath(joined)
        for named, root in zip(self._named, self._given, strict=True):
            if find_root(lexical, (named,)):
                return os.path.normpath(os.path.join(root, os.path.relpath(lexical, named)))
        return lexical if find_root(lexical, self.folders) else canonical


def escape_path(path: str) -> str:
    """A path as text that is safe to print: what is not printable is escaped."""
    if path.isprintable():
        return path
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in path)


@contextmanager
def translate_os_errors(what: str) -> Iterator[None]:
    """Turns OSError into a ToolError that names `what` and the reason."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0) or error.strerror or str(error)
        hint = _suggest_path(what) if error.errno == errno.ENOENT else ""
        raise ToolError(f"{what}: {reason}{hint}") from error


_AROUND_PATH = (
    r"\A(?:\s|[`'\"<])+|(?:\s|\\[nrt]|[`'\">])+\Z"
    r"|(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)(?:\s|[`'\"])*\Z"
)


def _suggest_path(shown: str) -> str:
    """The path alone, where what is not there has marks around it, or lines behind it, as models write it."""
    alone = compile_once(r"\Afile:/+").sub("/", compile_once(_AROUND_PATH).sub("", shown))
    return f"; if {alone} is meant, write only that" if alone and alone != shown else ""


def open_regular(name: str, folder: int, shown_path: str) -> int:
    """Open a regular file of an open folder for reading. Raises ToolError for any other kind, OSError else."""
    require_regular(os.stat(name, dir_fd=folder, follow_symlinks=False), shown_path)
    refuse_held(name, folder)
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        require_regular(os.fstat(descriptor), shown_path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def require_regular(status: os.stat_result, shown_path: str) -> None:
    """Raises ToolError where a status is that of anything but a regular file."""
    for is_kind, kind in _KINDS:
        if is_kind(status.st_mode):
            hint = ": use list_directory to see what is in it" if kind == "a folder" else ", not a regular file"
            raise ToolError(f"{shown_path} is {kind}{hint}")


def _descend(location: Location, *, create: bool) -> int:
    descriptor = os.open(location.root, _FOLDER)
    try:
        for name in location.names:
            above, descriptor = descriptor, _enter(descriptor, name, create=create)
            os.close(above)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _enter(folder: int, name: str, *, create: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    try:
        os.mkdir(name, dir_fd=folder)
    except FileExistsError:
        # Another call made it in between; the opening below still refuses a link.
        return os.open(name, _FOLDER, dir_fd=folder)
    sync_folder(folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def _require_well_formed(path: str) -> None:
    if not path:
        raise ToolError('the path is empty: write "." for the working directory')
    if "\0" in path:
        raise ToolError(f"{escape_path(path)} holds a NUL character, which no path can")
    if path.split("/", 1)[0].startswith("~"):
        raise ToolError(
            f"{escape_path(path)}: ~ is not expanded; write the path in full, or ./~… for such a name"
        )
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise ToolError(f"{escape_path(path)} holds characters that no path can") from error
    if len(encoded) > _LONGEST_PATH or any(len(name) > _LONGEST_NAME for name in encoded.split(b"/")):
        raise ToolError(f"{escape_path(path[:80])}… is longer than a path can be")


def _refuse_dead_links(joined: str, path: str) -> None:
    if os.path.exists(joined):  # then every link on the way leads somewhere
        return
    reached = "/"
    for name in joined.split("/"):
        reached = os.path.join(reached, name)
        if not os.path.lexists(reached):
            return
        if os.path.islink(reached) and not os.path.exists(reached):
            raise ToolError(f"{escape_path(path)}: the symbolic link {escape_path(reached)} leads nowhere")


def find_root(path: str, roots: Sequence[str]) -> str | None:
    inside = [root for root in roots if is_below_any(path, (root,))]
    return max(inside, key=len, default=None)

"""The files that language servers are told of and may tell of: those that a search of the workspace shows."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum

from quorum.domain.errors import StaleSeal, ToolError
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.execution.shell.repository import is_secret_settings
from quorum.infrastructure.files.encoding import detect
from quorum.infrastructure.files.searching import SensitiveLinks, Walk
from quorum.infrastructure.files.workspace import Location, Workspace

_LARGEST = 4 << 20
_MOST_WATCHED = 30_000
_LINKS_SECS = 5.0  # to look for them takes long in a large workspace


class SourceFiles:
    """Reads files of the workspace as `read_file` does, but for those that a person is asked about first."""

    def __init__(self, workspace: Workspace, policy: PathPolicy) -> None:
        self._workspace = workspace
        self._policy = policy
        self._links, self._linked_at = SensitiveLinks(policy), -_LINKS_SECS

    @property
    def roots(self) -> tuple[str, ...]:
        """The folders of the workspace, the working directory first."""
        return tuple(self._workspace.folders)

    def find(self, path: str) -> Location | None:
        """Where a path leads, if that may be shown without a question."""
        try:
            location = self._workspace.resolve(path)
        except ToolError:
            return None
        return None if self._explain_closed(location) else location

    def is_outside(self, path: str) -> bool:
        """Whether a path leads out of the workspace, to no file of the system's own."""
        try:
            return self._workspace.resolve(path).is_outside
        except ToolError:
            return False

    def require(self, path: str) -> Location:
        """The same. Raises ToolError where it may not, or is no path."""
        location = self._workspace.resolve(path)
        if why := self._explain_closed(location):
            raise ToolError(f"{self.label(location.path)} {why}: no language server is asked about it")
        return location

    def label(self, path: str) -> str:
        """The path as results name it, from the working directory, safe to print."""
        return self._workspace.format_path(path)

    def read(self, location: Location) -> str:
        """The text of a file. Raises ToolError."""
        name = self.label(location.path)
        try:
            with self._workspace.open_file(location) as file:
                status = os.fstat(file.fileno())
                if self._find_links().find_name(status) is not None:
                    raise ToolError(f"{name} is a sensitive file by another of its names")
                content = file.read(_LARGEST + 1)
        except StaleSeal as error:
            raise ToolError(str(error)) from error
        if len(content) > _LARGEST:
            raise ToolError(f"{name} is larger than {_LARGEST >> 20} MB: too large for language servers")
        if (encoding := detect(content, complete=True)) is None:
            raise ToolError(f"{name} is a binary file")
        return content[len(encoding.mark) :].decode(encoding.codec, "replace")

    def _find_links(self) -> SensitiveLinks:
        """What is known of other names of sensitive files, which may be made at any time."""
        if time.monotonic() - self._linked_at > _LINKS_SECS:
            self._links, self._linked_at = SensitiveLinks(self._policy), time.monotonic()
        return self._links

    def list_states(self, is_wanted: Callable[[str], bool], stop: Stop) -> Mapping[str, tuple[int, int]] | None:
        """Time and size of each file that is wanted, by its path, which is asked about relative to its root;
        None where the workspace holds too many files to look for changes. Raises Stopped."""
        states: dict[str, tuple[int, int]] = {}
        left = _MOST_WATCHED
        for root in self.roots:
            try:
                for entry in Walk(self._workspace, Location(root, (), root), stop).list_entries():
                    left -= 1
                    if left < 0:
                        return None
                    if not entry.is_link and is_wanted("/".join(entry.names)):
                        with suppress(OSError):  # gone meanwhile
                            status = os.stat(entry.name, dir_fd=entry.folder, follow_symlinks=False)
                            states[os.path.join(root, *entry.names)] = (status.st_mtime_ns, status.st_size)
            except (OSError, ToolError):  # the folder is gone, with all that was in it
                continue
        return states

    def _explain_closed(self, location: Location) -> str:
        if location.is_outside:
            return "lies outside the workspace"
        names = {location.path, location.given}
        if any(self._policy.is_sensitive(name) or is_secret_settings(name) for name in names):
            return "is a sensitive file"
        return ""


class WatchedChange(IntEnum):
    """What became of a file, in the numbers of the protocol."""

    CREATED = 1
    CHANGED = 2
    DELETED = 3


def find_changes(
    before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]
) -> Iterator[tuple[str, WatchedChange]]:
    """The files that are there now and were not, or differ, and those that are gone."""
    for path, state in after.items():
        if path not in before:
            yield path, WatchedChange.CREATED
        elif before[path] != state:
            yield path, WatchedChange.CHANGED
    yield from ((path, WatchedChange.DELETED) for path in before if path not in after)


def select_below(paths: Sequence[str], root: str) -> Iterator[tuple[str, str]]:
    """Those of the absolute paths that lie below a folder, each with its relative path."""
    prefix = root.rstrip("/") + "/"
    yield from ((path, path.removeprefix(prefix)) for path in paths if path.startswith(prefix))

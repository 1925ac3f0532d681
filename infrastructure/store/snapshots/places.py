"""Paths of a workspace as places that are reached from its roots without following any link."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType

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

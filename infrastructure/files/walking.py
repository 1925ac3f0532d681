"""Going through a folder for a search: in path order, inside the workspace, without what is ignored."""

from __future__ import annotations

import os
from collections.abc import Iterator

from msgspec import Struct

from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.files.ignoring import IgnoreRules
from quorum.infrastructure.files.workspace import Location, Workspace

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Each level holds a descriptor open.
_DEEPEST = 100


class Entry(Struct, frozen=True):
    """A file or link met on the way. `folder` is the open folder that holds it, valid until the next entry."""

    names: tuple[str, ...]
    folder: int
    is_link: bool

    @property
    def name(self) -> str:
        return self.names[-1]


class Walk:
    """One pass over all files below a folder, which is searched even if it is itself ignored.

    Links are met but not followed; `.git` is never entered. `unreadable` counts the folders left out because
    they could not be opened or lie too deep.
    """

    def __init__(self, workspace: Workspace, base: Location, stop: Stop) -> None:
        self._workspace = workspace
        self._base = base
        self._stop = stop
        self.unreadable = 0

    def list_entries(self) -> Iterator[Entry]:
        """All of them; `names` count from the base. Raises Stopped, and ToolError if it is not a folder."""
        rules = self._read_rules_above()
        with self._workspace.open_folder(self._base) as folder:
            yield from self._walk_below(folder, (), rules)

    def _read_rules_above(self) -> IgnoreRules:
        rules, names = IgnoreRules(), self._base.names
        for depth in range(len(names)):
            above = Location(self._base.root, names[:depth], "")
            with self._workspace.open_folder(above) as folder:
                rules = rules.enter(folder, os.listdir(folder), depth)
            if rules.ignore(names[: depth + 1], is_folder=True):
                # Whoever names an ignored folder means what is in it.
                rules = IgnoreRules()
        return rules

    def _walk_below(self, folder: int, names: tuple[str, ...], rules: IgnoreRules) -> Iterator[Entry]:
        self._stop.check()
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            self.unreadable += 1
            return
        above = self._base.names + names
        rules = rules.enter(folder, (entry.name for entry in entries), len(above))
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" or rules.ignore((*above, entry.name), is_folder=is_folder):
                continue
            inner = (*names, entry.name)
            if is_folder:
                yield from self._enter(folder, inner, rules)
            elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                yield Entry(inner, folder, entry.is_symlink())

    def _enter(self, folder: int, names: tuple[str, ...], rules: IgnoreRules) -> Iterator[Entry]:
        try:
            if len(names) > _DEEPEST:
                raise OSError("too deep")
            inner = os.open(names[-1], _FOLDER, dir_fd=folder)
        except OSError:
            self.unreadable += 1
            return
        try:
            yield from self._walk_below(inner, names, rules)
        finally:
            os.close(inner)

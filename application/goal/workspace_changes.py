"""What differs in the workspace from an earlier moment, and the digest of all its files."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping

from msgspec import Struct

from quorum.application.ports.workspace import FileKeeper
from quorum.domain.calls.effects import (
    IN_IGNORED_FOLDER,
    FileKind,
    FileLook,
    FileMark,
    FileState,
    KeptFiles,
    is_like,
)
from quorum.domain.goal.goal import GoalFile

_MOST_KNOWN = 3
_NO_MARK = FileMark(kind=0, size=0, modified_ns=0, changed_ns=0, inode=0)


class WorkspaceState(Struct, frozen=True, kw_only=True):
    """The files at one moment: the name of their stored list, and the digest over paths and contents."""

    manifest: str
    tree: str
    is_complete: bool


class WorkspaceDifference(Struct, frozen=True, kw_only=True):
    """The files that differ, by path, without by-products such as caches; whether all were looked at."""

    files: tuple[GoalFile, ...]
    is_complete: bool


class WorkspaceChanges:
    """Compares the files below `root` with a stored list of them. Raises LedgerError where none can be stored
    or read.

    A file whose content was not read in time is told from a later one by its mark, which only the process has
    that saw it; where nothing tells, the comparison is not complete.
    """

    def __init__(self, keeper: FileKeeper, root: str) -> None:
        self._keeper = keeper
        self._root = root.rstrip("/") + "/"
        self._known: dict[str, KeptFiles] = {}

    def label(self, path: str) -> str:
        """The path from the workspace on, where it lies in it."""
        return path.removeprefix(self._root)

    async def capture(self) -> WorkspaceState:
        """Keep the files as they are now."""
        kept = await self._keeper.keep()
        tree = await asyncio.to_thread(_compute_tree, kept.states, self._root)
        self._remember(kept)
        is_read = not any(map(_is_unread, kept.states.values()))
        return WorkspaceState(manifest=kept.manifest, tree=tree, is_complete=kept.complete and is_read)

    async def find_since(self, manifest: str) -> WorkspaceDifference:
        """What differs now from that list."""
        then, now = await self._load(manifest), await self._keeper.keep()
        differing, unknown = await asyncio.to_thread(_compare, then, now)
        is_complete = then.complete and now.complete and not unknown
        if not differing:
            return WorkspaceDifference(files=(), is_complete=is_complete)
        states = {path: state for path, state in then.states.items() if path in differing}
        # Asked for by name, with marks that no file has, only these are read again, and by-products are told.
        look = FileLook(marks=dict.fromkeys(states, _NO_MARK))
        asked = KeptFiles(roots=tuple(sorted(differing)), states=states, complete=then.complete, look=look)
        effects = await self._keeper.find_changes(asked, frozenset())
        files = sorted(
            (
                GoalFile(
                    path=self.label(change.path),
                    kind=change.kind,
                    sha256=None if change.after is None else change.after.sha256,
                )
                for change in effects.changes
                if not change.is_by_product
            ),
            key=lambda file: file.path,
        )
        return WorkspaceDifference(files=tuple(files), is_complete=is_complete)

    async def _load(self, manifest: str) -> KeptFiles:
        if (kept := self._known.get(manifest)) is None:
            self._remember(kept := await self._keeper.load(manifest))
        return kept

    def _remember(self, kept: KeptFiles) -> None:
        """Keep the list at hand: that of the moment when the goal was set, and that of its receipt."""
        self._known.pop(kept.manifest, None)
        self._known[kept.manifest] = kept
        while len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]


def _compare(then: KeptFiles, now: KeptFiles) -> tuple[set[str], bool]:
    """The paths that are known to differ, and whether there are others of which nothing tells. There may be
    hundreds of thousands."""
    differing, is_unknown = set[str](), False
    for path in then.states.keys() | now.states.keys():
        before, after = then.states.get(path), now.states.get(path)
        if not is_like(before, after):
            differing.add(path)
        elif before is not after and (_is_unread(before) or _is_unread(after)):
            marks = then.look.marks.get(path), now.look.marks.get(path)
            if None in marks:
                is_unknown = True
            elif marks[0] != marks[1]:
                differing.add(path)
    return differing, is_unknown


def _is_unread(state: FileState | None) -> bool:
    return (
        state is not None
        and state.kind is FileKind.FILE
        and state.sha256 is None
        and state.unkept != IN_IGNORED_FOLDER
    )


def _compute_tree(states: Mapping[str, FileState], root: str) -> str:
    """SHA-256 over a line for each file whose content is known: mode, content or target, and path."""
    digest = hashlib.sha256()
    for path in sorted(states):
        state = states[path]
        if (content := state.sha256 or state.target) is not None:
            line = f"{state.mode:o} {content} {path.removeprefix(root)}\n"
            digest.update(line.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()

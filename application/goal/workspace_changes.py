"""What differs in the workspace from an earlier moment, and the digest of all its files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from msgspec import Struct

from quorum.application.cancellation import run_off_loop
from quorum.application.ports.workspace import FileKeeper
from quorum.domain.calls.effects import FileLook, FileMark, FileState, KeptFiles, is_like
from quorum.domain.goal.goal import GoalFile

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
    or read."""

    def __init__(self, keeper: FileKeeper, root: str) -> None:
        self._keeper = keeper
        self._root = root.rstrip("/") + "/"
        self._loaded: tuple[str, KeptFiles] | None = None

    def label(self, path: str) -> str:
        """The path from the workspace on, where it lies in it."""
        return path.removeprefix(self._root)

    async def capture(self) -> WorkspaceState:
        """Keep the files as they are now."""
        kept = await self._keeper.keep()
        tree = await run_off_loop(lambda: _compute_tree(kept.states, self._root), kept.states)
        return WorkspaceState(manifest=kept.manifest, tree=tree, is_complete=kept.complete)

    async def find_since(self, manifest: str) -> WorkspaceDifference:
        """What differs now from that list."""
        then, now = await self._load(manifest), await self._keeper.keep()
        paths = then.states.keys() | now.states.keys()
        differing = {path for path in paths if not is_like(then.states.get(path), now.states.get(path))}
        is_complete = then.complete and now.complete
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
        if self._loaded is None or self._loaded[0] != manifest:
            self._loaded = manifest, await self._keeper.load(manifest)
        return self._loaded[1]


def _compute_tree(states: Mapping[str, FileState], root: str) -> str:
    """SHA-256 over a line for each file whose content is known: mode, content or target, and path."""
    digest = hashlib.sha256()
    for path in sorted(states):
        state = states[path]
        if (content := state.sha256 or state.target) is not None:
            line = f"{state.mode:o} {content} {path.removeprefix(root)}\n"
            digest.update(line.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()

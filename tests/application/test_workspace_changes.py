"""What differs in a workspace since an earlier moment, also where files were not read in time."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

from quorum.application.goal_service import WorkspaceChanges
from quorum.domain.calls.effects import (
    IN_IGNORED_FOLDER,
    ChangeKind,
    Effects,
    FileChange,
    FileKind,
    FileLook,
    FileMark,
    FileState,
    KeptFiles,
)

UNREAD = "there was no time to read it"


def a_state(sha256: str | None, unkept: str | None = None) -> FileState:
    return FileState(kind=FileKind.FILE, mode=0o644, size=5, sha256=sha256, unkept=unkept)


def a_mark(modified_ns: int) -> FileMark:
    return FileMark(kind=1, size=5, modified_ns=modified_ns, changed_ns=modified_ns, inode=1)


def kept(manifest: str, states: Mapping[str, FileState], marks: Mapping[str, int] | None = None) -> KeptFiles:
    look = FileLook(marks={path: a_mark(at) for path, at in (marks or {}).items()})
    return KeptFiles(roots=("/w",), states=states, manifest=manifest, look=look)


class Keeper:
    """Answers with these lists, one for each time it keeps; all that it is asked about has changed."""

    def __init__(self, *lists: KeptFiles) -> None:
        self.lists = list(lists)
        self.stored = {each.manifest: KeptFiles(roots=("/w",), states=each.states) for each in lists}

    def keep_ahead(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def keep(self, paths: object = None, report: object = None) -> KeptFiles:
        return self.lists.pop(0)

    async def load(self, manifest: str) -> KeptFiles:
        return self.stored[manifest]

    async def find_changes(self, kept: KeptFiles, declared: frozenset[str]) -> Effects:
        changes = [
            FileChange(path=each, kind=ChangeKind.MODIFIED, declared=False, ignored="cache" in each)
            for each in kept.roots
        ]
        return Effects(changes=tuple(changes), complete=True)


async def test_by_products_are_left_out_and_paths_begin_at_the_workspace() -> None:
    before = kept("1", {"/w/a": a_state("a"), "/w/cache/x": a_state("c"), "/w/same": a_state("s")})
    after = kept("2", {"/w/a": a_state("b"), "/w/cache/x": a_state("d"), "/w/same": a_state("s")})
    changes = WorkspaceChanges(Keeper(before, after), "/w")
    await changes.capture()

    found = await changes.find_since("1")

    assert ([file.path for file in found.files], found.is_complete) == (["a"], True)


async def test_a_file_that_was_not_read_is_told_by_its_mark_and_by_nothing_in_another_process() -> None:
    before = kept("1", {"/w/a": a_state(None, UNREAD)}, {"/w/a": 1})
    touched = kept("2", {"/w/a": a_state("b")}, {"/w/a": 2})
    untouched = kept("3", {"/w/a": a_state("b")}, {"/w/a": 1})
    changes = WorkspaceChanges(Keeper(before, touched, untouched), "/w")
    state = await changes.capture()

    assert not state.is_complete
    assert [file.path for file in (await changes.find_since("1")).files] == ["a"]
    found = await changes.find_since("1")
    assert (found.files, found.is_complete) == ((), True)

    keeper = Keeper(before, touched)
    keeper.lists = [touched]
    found = await WorkspaceChanges(keeper, "/w").find_since("1")
    assert (found.files, found.is_complete) == ((), False)


async def test_files_in_ignored_folders_need_not_be_read() -> None:
    ignored = {"/w/node_modules/x": a_state(None, IN_IGNORED_FOLDER)}
    changes = WorkspaceChanges(Keeper(kept("1", ignored), kept("2", dict(ignored))), "/w")

    assert (await changes.capture()).is_complete
    assert (await changes.find_since("1")).is_complete

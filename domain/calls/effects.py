"""What a call really changed: two looks at the files, before and after, and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType, field

_GIT_DATA = ("refs", "logs", "objects")
IN_IGNORED_FOLDER = "it lies in an ignored folder"
"""Why the content of a file was not kept that nobody has to look at."""
OUTSIDE = "it lies outside the workspace"
"""Why the content of a file was not kept that nothing is given back to."""


class ChangeKind(StrEnum):
    """What happened to a file."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"


class FileKind(StrEnum):
    """What stands at a path. Folders are no files: they come and go with what is in them."""

    FILE = "file"
    LINK = "link"
    OTHER = "other"


class FileState(Struct, frozen=True, kw_only=True):
    """A file at one moment, so that it can be given back. `mode` holds the permission bits.

    `sha256` names the content of a regular file that was read, `target` is where a link leads. `unkept` says,
    in a few words, why the content was not stored; None: it was, under its hash.
    """

    kind: FileKind
    mode: int
    size: int = 0
    sha256: str | None = None
    target: str | None = None
    unkept: str | None = None


class FileMark(NamedTuple):
    """What tells one state of a file from another without reading it. Times are in nanoseconds.

    A tuple, because a hundred thousand of them are made and compared before and after a command.
    """

    kind: int
    size: int
    modified_ns: int
    changed_ns: int
    inode: int


class FileLook(Struct, frozen=True, kw_only=True):
    """The files at one moment, by canonical path. `complete`: none was left out for want of time.

    Where some were, `gone` are paths that were looked for by name, and nothing was there. `version` counts the
    looks of one watch that differ; 0 where it does not know what happened between them. `late` are paths at
    which something had happened before, nobody knows when, that was found out only now.
    """

    marks: Mapping[str, FileMark] = field(default_factory=dict)
    complete: bool = True
    gone: frozenset[str] = frozenset()
    version: int = 0
    late: frozenset[str] = frozenset()


class KeptFiles(Struct, frozen=True, kw_only=True):
    """Files as they were at one moment, with their contents stored.

    `roots` were looked at with all below them: what is not in `states` was not there, if the look was
    `complete`. `manifest` names the stored list of all this; `look` tells these files from later ones, and is
    empty where they come from such a list.
    """

    roots: tuple[str, ...]
    states: Mapping[str, FileState] = field(default_factory=dict)
    complete: bool = True
    manifest: str = ""
    look: FileLook = field(default_factory=FileLook)


class FileChange(Struct, frozen=True, kw_only=True):
    """One file that is not as it was. `declared`: the call had said that it would write there.

    `before` and `after` are its states; None where there was no file, or where nobody had looked. `late`: it
    was found out later than a change is, so that it may have been made before the call. `ignored`: git leaves
    it out of the repository, or a program makes it anew, and it is neither sensitive nor protected.
    """

    path: str
    kind: ChangeKind
    declared: bool
    before: FileState | None = None
    after: FileState | None = None
    late: bool = False
    ignored: bool | UnsetType = UNSET  # as earlier records have it

    @property
    def is_surprise(self) -> bool:
        """Whether a person should look at it: nobody said that it would change, and it is no by-product."""
        return not self.declared and not self.ignored

    @property
    def is_by_product(self) -> bool:
        """Whether nobody said that it would change, and nobody needs to look at it."""
        return bool(self.ignored) and not self.declared


class Effects(Struct, frozen=True, kw_only=True):
    """What changed while a call ran, undeclared changes first. `complete` says whether everything was seen."""

    changes: tuple[FileChange, ...]
    complete: bool


def is_same(one: FileState | None, other: FileState | None) -> bool:
    """Whether two states are known to be the same, so that nothing is lost if one takes the other's place."""
    if one is None or other is None:
        return one is other
    if one.kind is not other.kind:
        return False
    match one.kind:
        case FileKind.FILE:
            return one.mode == other.mode and one.sha256 is not None and one.sha256 == other.sha256
        case FileKind.LINK:
            return one.target is not None and one.target == other.target
        case FileKind.OTHER:
            return one.mode == other.mode


def is_like(one: FileState | None, other: FileState | None) -> bool:
    """Whether nothing that is known of two states tells them apart. A content that is not known may differ."""
    if one is None or other is None or is_same(one, other):
        return is_same(one, other)
    known = one.sha256 is not None and other.sha256 is not None
    linked = one.target is not None and other.target is not None
    alike = (one.kind, one.mode, one.size) == (other.kind, other.mode, other.size)
    return alike and not known and not linked


def find_renames(changes: Sequence[FileChange]) -> dict[str, str]:
    """The old path by the new one of each file that has what no other deleted or created one had."""
    gone, come = _group_by_content(changes, ChangeKind.DELETED), _group_by_content(changes, ChangeKind.CREATED)
    return {
        come[content][0]: paths[0]
        for content, paths in gone.items()
        if len(paths) == 1 and len(come.get(content, ())) == 1
    }


def pair_renames(changes: Sequence[FileChange]) -> Iterator[tuple[FileChange, str | None]]:
    """Each change, with the old path of a file that was renamed, whose going is no change of its own."""
    renames = find_renames(changes)
    gone = frozenset(renames.values())
    for change in changes:
        if change.kind is not ChangeKind.DELETED or change.path not in gone:
            yield change, renames.get(change.path) if change.kind is ChangeKind.CREATED else None


def _group_by_content(changes: Sequence[FileChange], kind: ChangeKind) -> dict[str, list[str]]:
    paths: dict[str, list[str]] = {}
    for change in changes:
        state = change.before if kind is ChangeKind.DELETED else change.after
        if change.kind is kind and state is not None and state.size and state.sha256 is not None:
            paths.setdefault(state.sha256, []).append(change.path)
    return paths


def compute_effects(before: FileLook, after: FileLook, declared: frozenset[str]) -> Effects:
    """Return the changes between two looks at the files. A declared path covers itself and everything below it.

    A file that only one of two incomplete looks has seen is not taken for created or deleted.
    """
    complete = before.complete and after.complete
    found: list[FileChange] = []
    differing = [path for path, mark in after.marks.items() if before.marks.get(path) != mark]
    for path in (*differing, *(before.marks.keys() - after.marks.keys())):
        old, new = before.marks.get(path), after.marks.get(path)
        if old is None and before.complete:
            kind = ChangeKind.CREATED
        elif new is None and (after.complete or path in after.gone):
            kind = ChangeKind.DELETED
        elif old is not None and new is not None:
            kind = ChangeKind.MODIFIED
        else:
            continue
        found.append(FileChange(path=path, kind=kind, declared=is_declared(declared, path)))
    return Effects(changes=tuple(sorted(found, key=lambda c: (c.declared, c.path))), complete=complete)


def compare_kept(before: KeptFiles, after: KeptFiles, declared: frozenset[str]) -> Effects:
    """Return the changes between two lists of files of the same roots, by their states alone."""
    found = []
    for path in sorted(before.states.keys() | after.states.keys()):
        old, new = before.states.get(path), after.states.get(path)
        if is_same(old, new) or (old is None and not before.complete) or (new is None and not after.complete):
            continue
        kind = ChangeKind.CREATED if old is None else ChangeKind.DELETED if new is None else ChangeKind.MODIFIED
        declares = is_declared(declared, path)
        found.append(FileChange(path=path, kind=kind, declared=declares, before=old, after=new))
    found.sort(key=lambda change: (change.declared, change.path))
    return Effects(changes=tuple(found), complete=before.complete and after.complete)


def is_declared(declared: frozenset[str], path: str) -> bool:
    """Whether a path is one of those declared, or lies below one.

    What makes git run programs is not declared by its folder: whoever commits does not say that.
    """
    return path in declared or any(
        not (is_git_folder(root) and makes_git_run(path[len(root) :].lstrip("/")))
        for root in declared
        if path.startswith(root.rstrip("/") + "/")
    )


def is_git_folder(path: str) -> bool:
    """Whether git keeps a repository there, or what a linked working tree has of its own."""
    return ".git" in path.rstrip("/").split("/")


def makes_git_run(name: str) -> bool:
    """Whether a file, named from the folder of a repository, can make git run programs: a hook or settings."""
    parts = name.split("/")
    return parts[0] not in _GIT_DATA and ("hooks" in parts or parts[-1] in ("config", "config.worktree"))

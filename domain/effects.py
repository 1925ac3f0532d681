"""What a call really changed: two looks at the files, before and after, and what differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class ChangeKind(StrEnum):
    """What happened to a file."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class FileMark:
    """What tells one state of a file from another without reading it. Times are in nanoseconds."""

    kind: int
    size: int
    modified_ns: int
    changed_ns: int
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLook:
    """The files at one moment, by canonical path. `complete`: none was left out for want of time."""

    marks: Mapping[str, FileMark] = field(default_factory=dict)
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file that is not as it was. `declared`: the call had said that it would write there."""

    path: str
    kind: ChangeKind
    declared: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What changed while a call ran, undeclared changes first. `complete` says whether everything was seen."""

    changes: tuple[FileChange, ...]
    complete: bool


def effects_between(before: FileLook, after: FileLook, declared: frozenset[str]) -> Effects:
    """What differs between two looks. A declared path stands for itself and all below it.

    A file that only one of two incomplete looks has seen is not taken for created or deleted.
    """
    complete = before.complete and after.complete
    found: list[FileChange] = []
    for path in before.marks.keys() | after.marks.keys():
        old, new = before.marks.get(path), after.marks.get(path)
        if old == new:
            continue
        if old is None and before.complete:
            kind = ChangeKind.CREATED
        elif new is None and after.complete:
            kind = ChangeKind.DELETED
        elif old is not None and new is not None:
            kind = ChangeKind.MODIFIED
        else:
            continue
        found.append(FileChange(path=path, kind=kind, declared=_covers(declared, path)))
    return Effects(changes=tuple(sorted(found, key=lambda c: (c.declared, c.path))), complete=complete)


def _covers(declared: frozenset[str], path: str) -> bool:
    return path in declared or any(path.startswith(root.rstrip("/") + "/") for root in declared)

"""The difference between two states of a repository, made of their contents alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from quorum.domain.code_review.change import FileDiff, FileStatus
from quorum.domain.code_review.parts import leave_out_generated
from quorum.domain.code_review.unified_diff import parse_diff
from quorum.domain.errors import ToolError
from quorum.domain.replacing import replace
from quorum.domain.text.amounts import format_size
from quorum.domain.text.late_pattern import compile_late
from quorum.infrastructure.changes.git_reader import GitReader
from quorum.infrastructure.changes.shown_content import SENSITIVE, FileContents, ShownContent
from quorum.infrastructure.changes.swept_folder import DIFF_PREFIX, open_swept_folder
from quorum.infrastructure.changes.worktree_changes import (
    LINK,
    MOST_FILE_BYTES,
    SUBMODULE,
    ChangedPath,
    FileSide,
    find_worktree_changes,
)

MOST_FILES = 5_000
_LINES_AROUND = 5
_RAW = compile_late(rb":(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])(\d*)")


class TreeDifference(Struct, frozen=True, kw_only=True):
    """The changed files, and the contents after the change of those that no commit has: None where such a file
    is gone."""

    files: tuple[FileDiff, ...]
    worktree: Mapping[str, bytes | None]


def compare_commits(git: GitReader, old: str, new: str, shown: ShownContent) -> TreeDifference:
    """What differs between two commits, as reviewers see it. Blocks. Raises ToolError."""
    raw = git.run("diff-tree", "-r", "-z", "--raw", "-M", "--no-abbrev", "--full-index", old, new)
    return _compare(git, tuple(_parse_raw(raw)), shown)


def compare_worktree(git: GitReader, commit: str, shown: ShownContent) -> TreeDifference:
    """What of the working tree is not in this commit, files that git does not know yet included; what it
    ignores is left out. As reviewers see it. Blocks. Raises ToolError."""
    return _compare(git, find_worktree_changes(git, commit), shown)


def _parse_raw(raw: bytes) -> Iterator[ChangedPath]:
    fields = iter(raw.split(b"\0"))
    for head in fields:
        found = _RAW.fullmatch(head)
        if found is None:
            continue
        old_mode, new_mode, old_oid, new_oid, letter = (part.decode("ascii") for part in found.groups()[:5])
        path = os.fsdecode(next(fields, b""))
        old_path = ""
        if letter in ("R", "C"):
            old_path, path = path, os.fsdecode(next(fields, b""))
        yield ChangedPath(
            old_mode=old_mode,
            new_mode=new_mode,
            old_oid=old_oid,
            new_oid=new_oid,
            letter=letter,
            path=path,
            old_path=old_path,
        )


def _compare(git: GitReader, changes: Sequence[ChangedPath], shown: ShownContent) -> TreeDifference:
    if len(changes) > MOST_FILES:
        raise ToolError(f"{len(changes):,} files are changed, and at most {MOST_FILES:,} are reviewed at once")
    oids = [
        oid
        for change in changes
        for oid, mode in ((change.old_oid, change.old_mode), (change.new_oid, change.new_mode))
        if oid.strip("0") and mode != SUBMODULE
    ]
    blobs = dict(git.read_blobs(oids, MOST_FILE_BYTES))
    worktree: dict[str, bytes | None] = {}
    files: list[FileContents] = []
    with open_swept_folder(DIFF_PREFIX) as folder:
        for side in ("old", "new"):
            (folder / side).mkdir()
        for number, change in enumerate(changes):
            files.append(_write_sides(folder, f"{number:06}", change, blobs, worktree, shown))
        parsed_files = {
            parsed.path.rpartition("/")[2]: parsed
            for parsed in parse_diff(git.diff_folders(folder, _LINES_AROUND))
        }
    done = []
    for number, contents in enumerate(files):
        file, parsed = contents.file, parsed_files.get(f"{number:06}")
        if parsed is not None:
            file = replace(file, hunks=parsed.hunks, left_out=file.left_out or parsed.left_out)
        elif not file.left_out and not file.notes and file.status is FileStatus.MODIFIED:
            continue  # only its time is another
        done.append(replace(contents, file=leave_out_generated(file)))
    return TreeDifference(files=shown.hide(done), worktree=worktree)


def _write_sides(
    folder: Path,
    number: str,
    change: ChangedPath,
    blobs: Mapping[str, bytes | None],
    worktree: dict[str, bytes | None],
    shown: ShownContent,
) -> FileContents:
    """Write the content before and after under a number: no name of the repository can mean anything there.
    That of a sensitive file is written nowhere."""
    letter = change.letter
    if SUBMODULE in (change.old_mode, change.new_mode):
        moved = f"it is a submodule, from {change.old_oid[:12]} to {change.new_oid[:12]}"
        return FileContents(
            FileDiff(
                path=_decode_path(change.path),
                status=_STATUS.get(letter, FileStatus.MODIFIED),
                left_out=moved,
            )
        )
    before = FileSide(None) if letter == "A" else _find_blob(change.old_oid, blobs)
    if change.after is not None:
        after = change.after
        worktree[change.path] = after.content
    else:
        after = FileSide(None) if letter == "D" else _find_blob(change.new_oid, blobs)
    path, old_path = _decode_path(change.path), _decode_path(change.old_path) if letter == "R" else ""
    is_sensitive = any(shown.is_sensitive(each) for each in (path, old_path) if each)
    left_out = SENSITIVE if is_sensitive else before.problem or after.problem
    for side, one in (("old", before), ("new", after)):
        if one.content is not None and not left_out:
            (folder / side / number).write_bytes(one.content)
    file = FileDiff(
        path=path,
        status=_STATUS.get(letter, FileStatus.MODIFIED),
        old_path=old_path,
        left_out=left_out,
        notes=_list_notes(change),
    )
    return FileContents(file, before.content, after.content)


def _list_notes(change: ChangedPath) -> tuple[str, ...]:
    notes = []
    modes = (change.old_mode, change.new_mode)
    if change.old_mode != change.new_mode and "000000" not in modes:
        notes.append(f"its mode changes from {change.old_mode} to {change.new_mode}")
    if LINK in modes:
        notes.append("it is a symbolic link; the content is where it leads")
    return tuple(notes)


def _find_blob(oid: str, blobs: Mapping[str, bytes | None]) -> FileSide:
    if (content := blobs.get(oid)) is None:
        return FileSide(None, f"it is larger than {format_size(MOST_FILE_BYTES)}, or missing")
    return FileSide(content)


_STATUS = {"A": FileStatus.ADDED, "C": FileStatus.ADDED, "D": FileStatus.DELETED, "R": FileStatus.RENAMED}


def _decode_path(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")

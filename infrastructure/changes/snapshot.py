"""A copy of a commit's files in a folder of its own, for reviewers to look at.

There are only folders and regular files in it: a symbolic link becomes a file that says where it led, nothing
can be executed, and no name leads out of it. Sensitive files are there without their content, and secrets are
masked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.changes.git_reader import GitReader
from quorum.infrastructure.changes.shown_content import ShownContent

_MOST_FILES = 50_000
_MOST_FILE_BYTES = 2_000_000
_MOST_BYTES = 400_000_000
_MOST_FOLDERS = 200


def write_snapshot(
    git: GitReader,
    commit: str,
    folder: Path,
    worktree: Mapping[str, bytes | None],
    shown: ShownContent,
    stop: Stop,
) -> None:
    """Write the files of a commit, with those of `worktree` in the place of its own; None: without that file.
    Of each is written what `shown` shows of it.

    What is too large or lies too deep is left out, and what would be too much. Blocks. Raises ToolError.
    """
    places: dict[str, list[str]] = {}
    total = 0
    for entry in git.list_tree(commit)[:_MOST_FILES]:
        if entry.size > _MOST_FILE_BYTES or entry.path in worktree or not _is_plain(entry.path):
            continue
        total += entry.size
        if total > _MOST_BYTES:
            break
        places.setdefault(entry.oid, []).append(entry.path)
    for oid, content in git.read_blobs(list(places), _MOST_FILE_BYTES):
        stop.check()
        for path in places[oid]:
            _write(folder, path, content, shown)
    for path, content in worktree.items():
        stop.check()
        if _is_plain(path):
            _write(folder, path, content, shown)


def _is_plain(path: str) -> bool:
    parts = path.split("/")
    return 0 < len(parts) <= _MOST_FOLDERS and not any(
        part in ("", ".", "..") or part.lower() == ".git" for part in parts
    )


def _write(folder: Path, path: str, content: bytes | None, shown: ShownContent) -> None:
    if content is None:
        return
    place = folder / path
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        number = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return  # two names that this file system holds for one, or a name that it cannot have
    with os.fdopen(number, "wb") as file:
        file.write(shown.hide_content(path, content))

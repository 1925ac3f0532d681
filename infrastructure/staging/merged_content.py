"""Contents made of what the layer and the person did to a file, or of some hunks of what the layer did."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from quorum.domain.errors import ToolError
from quorum.infrastructure.files.diff import render_unified_diff
from quorum.infrastructure.git_worktrees import GitWriter
from quorum.infrastructure.staging.layer_folder import locate_git_lock
from quorum.infrastructure.staging.layer_repository import make_empty_repository

_HUNK = re.compile(r"@@ -(?P<old>\d+)(?:,(?P<old_count>\d+))? \+(?P<new>\d+)(?:,(?P<new_count>\d+))? @@")


class NotMerged(Exception):
    """There is no such content; the text says why."""


def merge_texts(mine: bytes, base: bytes, theirs: bytes, scratch: Path, environ: Mapping[str, str]) -> bytes:
    """What two sides made of one base, where they changed different lines; `scratch` is the layer's
    folder. Raises NotMerged, OSError."""
    with tempfile.TemporaryDirectory(dir=scratch, prefix="merge-") as made:
        folder = Path(made)
        make_empty_repository(folder)
        for name, content in (("mine", mine), ("base", base), ("theirs", theirs)):
            (folder / name).write_bytes(content)
        try:
            return GitWriter(folder, environ, locate_git_lock(scratch)).run(
                "merge-file", "-p", "-q", "mine", "base", "theirs"
            )
        except ToolError as error:
            raise NotMerged("you and the layer changed the same lines") from error


def leave_hunks_out(before: bytes, after: bytes, left_out: Collection[int]) -> bytes:
    """`after` with what `before` has in place of these hunks of the diff, counted from 0. Raises NotMerged."""
    try:
        before.decode("utf-8"), after.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotMerged("hunks can be left out of UTF-8 text only") from error
    old, new = _split(before), _split(after)
    hunks = list(_find_hunks(render_unified_diff(before, after, "file")))
    if unknown := sorted(set(left_out) - set(range(len(hunks)))):
        raise NotMerged(f"it has {len(hunks)} hunks, and none of the number {unknown[0]}")
    made, place = [], 0
    for number, (old_part, new_part) in enumerate(hunks):
        made += new[place : new_part.start]
        made += (
            old[old_part.start : old_part.stop] if number in left_out else new[new_part.start : new_part.stop]
        )
        place = new_part.stop
    return b"".join((*made, *new[place:]))


def _find_hunks(diff: str) -> Iterator[tuple[range, range]]:
    """The lines of each hunk on both sides, counted from 0."""
    left_old = left_new = 0
    for line in diff.split("\n"):
        if left_old <= 0 and left_new <= 0:
            if (found := _HUNK.match(line)) is not None:
                old = _make_range(found["old"], found["old_count"])
                new = _make_range(found["new"], found["new_count"])
                left_old, left_new = len(old), len(new)
                yield old, new
            continue
        left_old -= line[:1] in (" ", "-")
        left_new -= line[:1] in (" ", "+")


def _make_range(first: str, count: str | None) -> range:
    """An empty range stands after the line that it names."""
    length = 1 if count is None else int(count)
    start = int(first) - 1 if length else int(first)
    return range(start, start + length)


def _split(content: bytes) -> list[bytes]:
    """Lines with their ends; only a line feed ends one."""
    lines = [line + b"\n" for line in content.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines

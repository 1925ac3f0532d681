"""What of a working tree differs from a commit, found without git looking at the files.

Git compares a file with the index through the filters that the repository names for it, which are programs. It
does so wherever the time of a file does not prove that it is the same. So its index is only listed here, and
files are compared by us.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from quorum.domain.text.amounts import format_size
from quorum.infrastructure.changes.git_reader import GitReader, TreeEntry

MOST_FILE_BYTES = 5_000_000
SUBMODULE, LINK = "160000", "120000"
_REGULAR, _EXECUTABLE, _NOTHING = "100644", "100755", "000000"
_OWNER_EXECUTES = 0o100
_ENTRY = re.compile(
    rb"(?P<tag>\S) (?P<mode>\d{6}) (?P<oid>[0-9a-f]+) (?P<stage>\d)\t(?P<path>[^\0]*)\0"
    rb"(?:  ctime: \d+:\d+\n  mtime: (?P<secs>\d+):(?P<nanos>\d+)\n  dev: [^\n]*\n  uid: [^\n]*\n"
    rb"  size: (?P<size>\d+)\tflags: [0-9a-f]+\n)?"
)


class FileSide(Struct, frozen=True):
    """A file before or after a change: its content, None where there is none, and why it is not shown."""

    content: bytes | None
    problem: str = ""


class ChangedPath(Struct, frozen=True, kw_only=True):
    """A changed path. Modes are git's; an id that is empty is that of no object. `after` is the side after the
    change where no commit has it."""

    old_mode: str
    new_mode: str
    old_oid: str
    new_oid: str
    letter: str
    path: str
    old_path: str = ""
    after: FileSide | None = None


class _IndexEntry(Struct, frozen=True):
    oid: str
    is_left_out: bool
    mtime_ns: int | None
    size: int


def find_worktree_changes(git: GitReader, commit: str) -> tuple[ChangedPath, ...]:
    """The files that differ from the commit, by their paths, those that git does not know yet included; what
    git ignores is left out. Blocks. Raises ToolError."""
    before = {entry.path: entry for entry in git.list_tree(commit)}
    index, written_ns = _read_index(git)
    listed = git.run("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
    unknown = {os.fsdecode(path) for path in listed if path and not path.endswith(b"/")}
    found = []
    for path in sorted({*before, *index, *unknown}):
        known, entry = before.get(path), index.get(path)
        if entry is None and path not in unknown:
            found.append(_delete(known)) if known is not None else None
        elif change := _compare(git.top, path, known, entry, written_ns):
            found.append(change)
    return tuple(found)


def _compare(
    top: Path, path: str, known: TreeEntry | None, entry: _IndexEntry | None, written_ns: int
) -> ChangedPath | None:
    place = top / path
    try:
        status = os.lstat(place)
    except OSError:
        is_left_out = entry is not None and entry.is_left_out
        return None if known is None or is_left_out else _delete(known)
    if known is not None and entry is not None and known.oid == entry.oid and known.mode == _read_mode(status):
        is_same = (status.st_mtime_ns, status.st_size) == (entry.mtime_ns, entry.size)
        if is_same and status.st_mtime_ns < written_ns:
            return None  # it was not written since git saw it
    after = read_worktree_file(top, path)
    if after == FileSide(None):
        return None if known is None else _delete(known)
    if known is not None and known.mode == _read_mode(status) and _has_id(after, known.oid):
        return None
    return ChangedPath(
        old_mode=known.mode if known is not None else _NOTHING,
        new_mode=_read_mode(status),
        old_oid=known.oid if known is not None else "",
        new_oid="",
        letter="M" if known is not None else "A",
        path=path,
        after=after,
    )


def _delete(known: TreeEntry) -> ChangedPath:
    return ChangedPath(
        old_mode=known.mode,
        new_mode=_NOTHING,
        old_oid=known.oid,
        new_oid="",
        letter="D",
        path=known.path,
        after=FileSide(None),
    )


def _read_index(git: GitReader) -> tuple[Mapping[str, _IndexEntry], int]:
    """The files that git follows, and when that was written; of unmerged ones the last side."""
    listing = git.run("ls-files", "-z", "-s", "-v", "--debug")
    name = os.fsdecode(git.run("rev-parse", "--git-path", "index").removesuffix(b"\n"))
    try:
        written_ns = os.stat(git.top / name).st_mtime_ns
    except OSError:
        written_ns = 0
    return dict(_parse_index(listing)), written_ns


def _parse_index(listing: bytes) -> Iterator[tuple[str, _IndexEntry]]:
    for found in _ENTRY.finditer(listing):
        if found["mode"].decode("ascii") == SUBMODULE:
            continue
        times = None
        if found["secs"] is not None:
            times = int(found["secs"]) * 1_000_000_000 + int(found["nanos"])
        yield (
            os.fsdecode(found["path"]),
            _IndexEntry(
                oid=found["oid"].decode("ascii"),
                is_left_out=found["tag"] in (b"S", b"s"),
                mtime_ns=times,
                size=int(found["size"] or 0),
            ),
        )


def _has_id(side: FileSide, oid: str) -> bool:
    """Whether the content is that of the object."""
    if side.content is None:
        return False
    whole = b"blob %d\0" % len(side.content) + side.content
    made = hashlib.sha256(whole) if len(oid) == 64 else hashlib.sha1(whole, usedforsecurity=False)
    return made.hexdigest() == oid


def _read_mode(status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return LINK
    return _EXECUTABLE if status.st_mode & _OWNER_EXECUTES else _REGULAR


def read_worktree_file(top: Path, path: str) -> FileSide:
    """A file of the working tree. Links are not followed, neither at its end nor on the way."""
    place = top / path
    folder = os.path.realpath(top)
    try:
        status = os.lstat(place)
        if os.path.realpath(place.parent) != os.path.join(folder, os.path.dirname(path)).rstrip("/"):
            return FileSide(None, "a link leads to its folder")
        if stat.S_ISLNK(status.st_mode):
            return FileSide(os.fsencode(os.readlink(place)))
        if not stat.S_ISREG(status.st_mode):
            return FileSide(None, "it is no regular file")
        if status.st_size > MOST_FILE_BYTES:
            return FileSide(None, f"it is larger than {format_size(MOST_FILE_BYTES)}")
        number = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(number, "rb") as file:
            return FileSide(file.read(MOST_FILE_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return FileSide(None)
    except OSError as error:
        return FileSide(None, f"it cannot be read: {error.strerror or error}")

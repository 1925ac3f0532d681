"""A change to review: its files with their hunks, and what of it cannot be shown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct, field


class FileStatus(StrEnum):
    """What a change does to a file."""

    ADDED = "added"
    DELETED = "deleted"
    MODIFIED = "modified"
    RENAMED = "renamed"


class ChangeHunk(Struct, frozen=True, kw_only=True):
    """Lines that belong together. Each begins with a space, a plus or a minus, and has no line end.

    `old_start` and `new_start` are the numbers of its first line before and after the change, from 1.
    """

    old_start: int
    new_start: int
    lines: tuple[str, ...]

    def number_lines(self) -> Iterator[tuple[int | None, str]]:
        """Each line with its number after the change, None for one that is removed."""
        number = self.new_start
        for line in self.lines:
            if line.startswith("-"):
                yield None, line
            else:
                yield number, line
                number += 1


class FileDiff(Struct, frozen=True, kw_only=True):
    """What happens to one file. `old_path` is set where it had another name.

    `left_out` says why its content is not shown, and is empty where it is; `notes` are facts a reviewer
    should know, such as a new mode. `is_sensitive`: it is left out because the settings call it sensitive.
    """

    path: str
    status: FileStatus
    old_path: str = ""
    hunks: tuple[ChangeHunk, ...] = ()
    left_out: str = ""
    notes: tuple[str, ...] = ()
    is_sensitive: bool = False

    @property
    def changed_lines(self) -> int:
        """How many lines are added and removed."""
        return sum(not line.startswith(" ") for hunk in self.hunks for line in hunk.lines)

    def find_line(self, number: int) -> str | None:
        """The text of the line with this number after the change, None where no hunk shows it."""
        for hunk in self.hunks:
            if hunk.new_start <= number < hunk.new_start + len(hunk.lines):
                for place, line in hunk.number_lines():
                    if place == number:
                        return line[1:]
        return None


class ChangeBase(Struct, frozen=True, kw_only=True):
    """A repository before a piece of work. `commit` is the one checked out, empty where there is none yet.

    `uncommitted` are the files that differed from it, from the repository's root, with the SHA-256 of their
    contents, empty for one that was gone.
    """

    commit: str
    uncommitted: Mapping[str, str] = field(default_factory=dict)


class Change(Struct, frozen=True, kw_only=True):
    """A change as reviewers get it. `description` says what it is, in words of ours.

    `repository` and `branch` name where it belongs, `base` and `commit` what it is between; empty where that
    is not known. `notices` are for the person and the reviewers.
    """

    description: str
    files: tuple[FileDiff, ...]
    repository: str = ""
    branch: str = ""
    base: str = ""
    commit: str = ""
    notices: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the files, in hexadecimal."""
        found = hashlib.sha256()
        for file in self.files:
            head = (file.path, file.old_path, file.status.value, file.left_out, *file.notes)
            found.update(repr(head).encode("utf-8", "surrogatepass"))
            for hunk in file.hunks:
                found.update(f"{hunk.old_start} {hunk.new_start}\n".encode())
                found.update("\n".join(hunk.lines).encode("utf-8", "surrogatepass"))
        return found.hexdigest()

    def find_file(self, path: str) -> FileDiff | None:
        """What happens to the file of that name, None where nothing does."""
        return next((file for file in self.files if file.path == path), None)

"""A unified diff as the protocol words one: for each hunk the lines before and after."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from acp.schema import FileEditToolCallContent

from quorum.acp_agent.shown_text import show_text
from quorum.domain.text.unified_diff import DiffLine, parse_diff

_FILE = re.compile(r"(?:---|\+\+\+) (?:[ab]/)?(?P<name>[^\t]+)")
_NOWHERE = "/dev/null"


class ChangedStretch(NamedTuple):
    """A hunk: its file as the diff names it, its first line in the new file, and its text before and after.

    `old` is None where the file is new.
    """

    file: str
    line: int
    old: str | None
    new: str


class _Hunk:
    """The lines of one hunk, as far as they were read."""

    def __init__(self) -> None:
        self.sides: dict[str, list[str]] = {"-": [], "+": []}
        self.line = 0
        self._written: tuple[list[str], ...] = ()

    def add(self, line: DiffLine) -> None:
        self._written = tuple(self.sides[sign] for sign in ("-", "+") if line.sign in (sign, " "))
        for side in self._written:
            side.append(f"{line.text}\n")
        self.line = self.line or line.new or 0

    def end_without_newline(self) -> None:
        for side in self._written:
            side[-1] = side[-1].removesuffix("\n")

    def close(self, names: Mapping[str, str]) -> ChangedStretch:
        file = names["+"] if names["+"] not in ("", _NOWHERE) else names["-"]
        before = None if names["-"] == _NOWHERE else "".join(self.sides["-"])
        return ChangedStretch(file, self.line, before, "".join(self.sides["+"]))


def split_hunks(diff: str) -> Iterator[ChangedStretch]:
    """Each hunk of a diff, in order."""
    names = {"-": "", "+": ""}
    hunk: _Hunk | None = None
    for line in parse_diff(diff):
        if hunk is not None and line.sign in ("-", "+", " "):
            hunk.add(line)
        elif hunk is not None and line.text.startswith("\\"):
            hunk.end_without_newline()
        else:
            if hunk is not None:
                yield hunk.close(names)
            hunk = _Hunk() if line.sign == "@" else None
            if (found := _FILE.match(line.text)) is not None:
                names[line.text[0]] = found["name"]
    if hunk is not None:
        yield hunk.close(names)


def render_diff(diff: str, cwd: str) -> list[FileEditToolCallContent]:
    """What an editor draws as a diff; what could hide in it is visible."""
    return [
        FileEditToolCallContent(
            type="diff",
            path=str(PurePosixPath(cwd) / hunk.file),
            old_text=None if hunk.old is None else show_text(hunk.old),
            new_text=show_text(hunk.new),
        )
        for hunk in split_hunks(diff)
    ]

"""The patch format that GPT models are trained on, taken apart: which files, and which hunks in each.

*** Begin Patch
*** Update File: src/a.py
*** Move to: src/b.py
@@ class Queue:
 unchanged
-removed
+added
*** Add File: notes.txt
+a line
*** Delete File: old.txt
*** End Patch
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

_BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_ADD = "*** Add File:"
_DELETE = "*** Delete File:"
_UPDATE = "*** Update File:"
_MOVE = "*** Move to:"
_END_OF_FILE = "*** End of File"
_NUMBERS = re.compile(r"-\d+(?:,\d+)? \+\d+(?:,\d+)? @@ ?")
_LONGEST_SHOWN = 80


class BadPatch(ValueError):
    """The text is no patch; the message names the line, says what is wrong, and what belongs there."""


class PatchHunk(Struct, frozen=True, kw_only=True):
    """One place of a file. `headers` are lines above it, outermost first; `lines` each a sign (" ", "-" or "+")
    and a text. `at_end`: it is at the end of the file. `number` is its first line in the patch, from 1."""

    headers: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    at_end: bool
    number: int


class AddFile(Struct, frozen=True, kw_only=True):
    """A new file with these lines."""

    path: str
    lines: tuple[str, ...]


class DeleteFile(Struct, frozen=True, kw_only=True):
    """A file that goes."""

    path: str


class UpdateFile(Struct, frozen=True, kw_only=True):
    """A file that changes in these hunks, in their order, or moves, or both."""

    path: str
    move_to: str | None
    hunks: tuple[PatchHunk, ...]


PatchOperation: TypeAlias = AddFile | DeleteFile | UpdateFile


def parse_patch(patch: str) -> tuple[PatchOperation, ...]:
    """What a patch asks for, in its order: at least one operation. Raises BadPatch for what is no patch."""
    lines = [line.removesuffix("\r") for line in patch.split("\n")]
    first = next((place for place, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise BadPatch(f"the patch is empty: it begins with {_BEGIN} and ends with {_END}")
    if lines[first].strip() != _BEGIN:
        raise BadPatch(f"line {first + 1}: a patch begins with {_BEGIN}, not with {_show_line(lines[first])}")
    operations = tuple(_PatchReader(lines, first + 1).read_operations())
    if not operations:
        raise BadPatch(f"the patch names no file: put {_UPDATE}, {_ADD} or {_DELETE} with a path into it")
    return operations


class _PatchReader:
    """Reads the lines after the first, from `place` on."""

    def __init__(self, lines: list[str], place: int) -> None:
        self._lines = lines
        self._place = place

    def read_operations(self) -> Iterator[PatchOperation]:
        while True:
            self._skip_blank()
            line = self._need(_END)
            self._place += 1
            if line.strip() == _END:
                self._end()
                return
            if (path := self._read_path_after(line, _ADD)) is not None:
                yield AddFile(path=path, lines=tuple(self._read_added(path)))
            elif (path := self._read_path_after(line, _DELETE)) is not None:
                yield DeleteFile(path=path)
            elif (path := self._read_path_after(line, _UPDATE)) is not None:
                yield self._update(path)
            else:
                raise BadPatch(
                    f"line {self._place}: {_show_line(line)} is no part of a patch: here begins a file with "
                    f"{_UPDATE}, {_ADD} or {_DELETE}, or the patch ends with {_END}"
                )

    def _end(self) -> None:
        self._skip_blank()
        if self._place < len(self._lines):
            raise BadPatch(f"line {self._place + 1}: nothing may follow {_END}")

    def _read_added(self, path: str) -> Iterator[str]:
        while (line := self._need(_END)).startswith("+"):
            self._place += 1
            yield line[1:]
        self._skip_blank()
        if not (line := self._need(_END)).startswith("*** "):
            raise BadPatch(
                f"line {self._place + 1}: every line of the new file {_show_line(path)} begins with +, this "
                f"does not: {_show_line(line)}"
            )

    def _update(self, path: str) -> UpdateFile:
        number, move_to = self._place, None
        if (target := self._read_path_after(self._need(_END), _MOVE)) is not None:
            self._place += 1
            move_to = target
        hunks: list[PatchHunk] = []
        while True:
            self._skip_blank()
            line = self._need(_END)
            if line.startswith("*** ") and line.strip() != _END_OF_FILE:
                break
            hunks.append(self._read_hunk(first=not hunks))
        if not hunks and move_to is None:
            raise BadPatch(
                f"line {number}: {_UPDATE} {_show_line(path)} has no hunks: put what changes below it"
            )
        return UpdateFile(path=path, move_to=move_to, hunks=tuple(hunks))

    def _read_hunk(self, *, first: bool) -> PatchHunk:
        number, headers = self._place + 1, tuple(self._read_headers())
        if not first and self._place + 1 == number:
            raise BadPatch(
                f"line {number}: a hunk begins with @@, not with {_show_line(self._lines[number - 1])}"
            )
        lines: list[tuple[str, str]] = []
        blank = 0
        while (line := self._need(_END))[:1] in ("", " ", "-", "+"):
            self._place += 1
            # An empty line may be an empty line of the file, or one between two hunks.
            blank = 0 if line else blank + 1
            lines.append((line[:1] or " ", line[1:]))
        del lines[len(lines) - blank :]
        at_end = line.strip() == _END_OF_FILE
        if at_end:
            self._place += 1
        elif not line.startswith(("@@", "*** ")):
            raise BadPatch(
                f"line {self._place + 1}: every line of a hunk begins with a space, - or +, this does not: "
                f"{_show_line(line)}"
            )
        if all(sign == " " for sign, _ in lines):
            raise BadPatch(f"line {number}: the hunk changes nothing: it has no line that begins with - or +")
        return PatchHunk(headers=headers, lines=tuple(lines), at_end=at_end, number=number)

    def _read_headers(self) -> Iterator[str]:
        while (line := self._need(_END)).startswith("@@"):
            self._place += 1
            if header := _NUMBERS.sub("", line[2:].strip(), count=1).removesuffix("@@").strip():
                yield header

    def _read_path_after(self, line: str, marker: str) -> str | None:
        if not line.startswith(marker):
            return None
        path = line.removeprefix(marker).strip()
        if not path:
            raise BadPatch(f"line {self._place}: {marker} names no file")
        return path

    def _need(self, missing: str) -> str:
        if self._place >= len(self._lines):
            raise BadPatch(f"the patch breaks off after line {len(self._lines)}: it ends with {missing}")
        return self._lines[self._place]

    def _skip_blank(self) -> None:
        while self._place < len(self._lines) and not self._lines[self._place].strip():
            self._place += 1


def list_paths(operations: tuple[PatchOperation, ...]) -> tuple[str, ...]:
    """Every path that a patch names, as it names it, in its order."""
    named: list[str] = []
    for operation in operations:
        named.append(operation.path)
        if isinstance(operation, UpdateFile) and operation.move_to is not None:
            named.append(operation.move_to)
    return tuple(named)


def _show_line(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…")

"""Instruction files: what a project and a person tell the agent, and how much of it a request carries."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from quorum.domain.replacing import replace


class InstructionScope(StrEnum):
    """For whom an instruction file speaks: the person in every project, or one project."""

    USER = "user"
    PROJECT = "project"


class Instruction(Struct, frozen=True, kw_only=True):
    """The text of one file. `file` is its absolute path, `label` the short name that is shown.

    `imported_by` is the label of the file that imports it, None for an instruction file itself. `left_out` is
    how many bytes of UTF-8 the limit cut from its end.
    """

    file: str
    label: str
    text: str
    imported_by: str | None = None
    left_out: int = 0


class InstructionFile(Struct, frozen=True, kw_only=True):
    """An instruction file as it was read, followed by the files it imports. `folder` is what it holds for."""

    folder: str
    scope: InstructionScope
    parts: tuple[Instruction, ...]

    @property
    def file(self) -> str:
        """Its absolute path."""
        return self.parts[0].file

    @property
    def label(self) -> str:
        """Its short name."""
        return self.parts[0].label

    @property
    def digest(self) -> str:
        """The SHA-256, in hexadecimal, over the texts of it and of all that it imports, and their paths from
        its folder: a copy of the folder has the same."""
        folder, whole = posixpath.dirname(self.file), hashlib.sha256()
        for part in self.parts:
            for each in (posixpath.relpath(part.file, folder), part.text):
                whole.update(hashlib.sha256(each.encode("utf-8", "surrogateescape")).digest())
        return whole.hexdigest()


def fit_instructions(files: Sequence[InstructionFile], max_bytes: int) -> tuple[InstructionFile, ...]:
    """The files with as much of their texts as the limit allows; each says how much of it is left out.

    `files` are ordered from the outermost to the nearest. The nearest gets room first, because it is the most
    specific; a text is cut at the end of a line where there is one.
    """
    room = max_bytes
    fitted: list[InstructionFile] = []
    for file in reversed(files):
        parts: list[Instruction] = []
        for part in file.parts:
            kept = _cut_to_beginning(part.text, room)
            room -= len(kept.encode("utf-8", "replace"))
            parts.append(replace(part, text=kept, left_out=_measure_size(part.text) - _measure_size(kept)))
        fitted.append(replace(file, parts=tuple(parts)))
    return tuple(reversed(fitted))


def _cut_to_beginning(text: str, room: int) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= room:
        return text
    kept = data[:room].decode("utf-8", "ignore")
    return kept[: kept.rfind("\n") + 1] or kept


def _measure_size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))

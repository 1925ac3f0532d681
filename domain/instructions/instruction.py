"""Instruction files: what they tell the agent, how much of it a request carries, and lines added to them."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from quorum.domain.errors import MemoryRefused
from quorum.domain.replacing import replace
from quorum.domain.text.pattern import compile_once


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


MOST_CHARACTERS = 2_000
"""How long a line may be. Instructions are part of each request."""

_BULLET = r"(?P<marker>[-*+]) \S"
_FENCE = r" {0,3}(?P<fence>`{3,}|~{3,})(?P<rest>.*)"


class MemoryDraft(Struct, frozen=True, kw_only=True):
    """A change of one instruction file, as it is put to the person. Their approval holds for exactly this.

    `file` is the absolute path by which the file is found, `target` the canonical one that is written; they
    differ where the file is a link. `label` is the short name that is shown. `before` is the present content,
    None where there is no file; `diff` is the complete unified diff of it and `after`.
    """

    scope: InstructionScope
    file: str
    target: str
    label: str
    line: str
    before: bytes | None
    after: bytes
    diff: str

    @property
    def former_sha256(self) -> str | None:
        """The SHA-256 of the present content, in hexadecimal; None where there is no file."""
        return None if self.before is None else hashlib.sha256(self.before).hexdigest()

    @property
    def sha256(self) -> str:
        """The SHA-256 of the new content, in hexadecimal."""
        return hashlib.sha256(self.after).hexdigest()


class MemoryProposal(Struct, frozen=True, kw_only=True):
    """The files that a line can be added to, the project's first, and why it cannot be added to the others."""

    drafts: tuple[MemoryDraft, ...]
    refusals: tuple[str, ...] = ()


def require_memory_line(text: str) -> str:
    """The line without the blanks around it. Raises MemoryRefused where it is none that can be kept."""
    line = text.strip()
    if not line:
        raise MemoryRefused("type what to remember after the #")
    if len(line.splitlines()) > 1:
        raise MemoryRefused("only a single line can be added to an instruction file")
    if len(line) > MOST_CHARACTERS:
        raise MemoryRefused(
            f"a line to remember has at most {MOST_CHARACTERS:,} characters, and this one has {len(line):,}; "
            "put a longer text into the file itself"
        )
    return line


def append_bullet(text: str, line: str) -> str:
    """The text with the line as the last item of a list at its end.

    A list that the text ends with continues, with its own marker; otherwise a new one begins. What the text
    contains stays as it is, line ends included. Raises MemoryRefused where the text has this item already, or
    ends within a code block, in which the line would not be read as an instruction.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    if _is_in_code(lines):
        raise MemoryRefused("it ends within a code block that is not closed; close it first")
    if any(each in lines for each in (f"{marker} {line}" for marker in "-*+")):
        raise MemoryRefused("it has this line already")
    last = lines[-1] if lines else ""
    bullet = compile_once(_BULLET).match(last)
    gap = "" if not last.strip() or bullet is not None else newline
    ending = "" if not text or text.endswith("\n") else newline
    return f"{text}{ending}{gap}{bullet['marker'] if bullet else '-'} {line}{newline}"


def _is_in_code(lines: list[str]) -> bool:
    """Whether a block of code between fences is open at the end."""
    opened = ""
    for line in lines:
        if (found := compile_once(_FENCE).fullmatch(line)) is None:
            continue
        fence = found["fence"]
        if not opened:
            opened = "" if fence[0] == "`" and "`" in found["rest"] else fence
        elif fence.startswith(opened) and not found["rest"].strip():
            opened = ""
    return bool(opened)

"""A line that the person adds to an instruction file, as a change that is shown before it is made."""

from __future__ import annotations

import hashlib
import re

from msgspec import Struct

from quorum.domain.errors import MemoryRefused
from quorum.domain.instructions.instruction import InstructionScope

MOST_CHARACTERS = 2_000
"""How long a line may be. Instructions are part of each request."""

_BULLET = re.compile(r"(?P<marker>[-*+]) \S")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<rest>.*)")


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
    bullet = _BULLET.match(last)
    gap = "" if not last.strip() or bullet is not None else newline
    ending = "" if not text or text.endswith("\n") else newline
    return f"{text}{ending}{gap}{bullet['marker'] if bullet else '-'} {line}{newline}"


def _is_in_code(lines: list[str]) -> bool:
    """Whether a block of code between fences is open at the end."""
    opened = ""
    for line in lines:
        if (found := _FENCE.fullmatch(line)) is None:
            continue
        fence = found["fence"]
        if not opened:
            opened = "" if fence[0] == "`" and "`" in found["rest"] else fence
        elif fence.startswith(opened) and not found["rest"].strip():
            opened = ""
    return bool(opened)

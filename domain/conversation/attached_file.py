"""A file or folder that a prompt mentions: what of it the model reads below the prompt, or why nothing."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.calls.seen_file import SeenFile
from quorum.domain.replacing import replace
from quorum.domain.text.amounts import format_amount, format_size

_NO_LONGER_SHOWN = "no longer shown, to make room; read_file shows it again"


class AttachedFile(Struct, frozen=True, kw_only=True):
    """One mention of a prompt. `name` is printable, on one line.

    `content` is lines with their numbers, or the listing of a folder; it is empty where nothing is attached.
    Lines count from 1 and are 0 where there are none. `size_bytes` is that of the whole file. `note` says what
    was left out and how to read it, or why nothing is attached. `seen` is what the model knows of a file by it.
    """

    name: str
    content: str = ""
    first_line: int = 0
    last_line: int = 0
    total_lines: int = 0
    size_bytes: int = 0
    is_folder: bool = False
    note: str = ""
    seen: SeenFile | None = None

    @property
    def is_attached(self) -> bool:
        """Whether the model reads anything of it with the prompt."""
        return bool(self.content)

    @property
    def label(self) -> str:
        """What of it is attached, in one line: `src/a.py · lines 10-40 of 200 · 5.2 kB`."""
        if not self.is_attached:
            return f"{self.name} · not attached: {self.note}"
        return " · ".join([self.name, *self._facts])

    @property
    def sent(self) -> str:
        """What the model reads."""
        if not self.is_attached:
            return f"[{self.name} is not attached: {self.note}]"
        note = f"\n[{self.note}]" if self.note else ""
        return f"[attached: {', '.join([self.name, *self._facts])}]\n{self.content}{note}\n[end of {self.name}]"

    def without_content(self) -> AttachedFile:
        """The file given way to its name."""
        return replace(self, content="", note=_NO_LONGER_SHOWN, seen=None) if self.is_attached else self

    @property
    def _facts(self) -> tuple[str, ...]:
        if self.is_folder:
            return (format_amount(self.total_lines, "entry").replace("entrys", "entries"),)
        if (self.first_line, self.last_line) == (1, self.total_lines):
            return format_amount(self.total_lines, "line"), format_size(self.size_bytes)
        return f"lines {self.first_line}-{self.last_line} of {self.total_lines}", format_size(self.size_bytes)

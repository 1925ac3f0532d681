"""What diagnostics commands said about the files that a turn edited."""

from __future__ import annotations

from typing import ClassVar

from domain.lazy_dataclass import dataclass
from domain.text.amounts import format_amount


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticsReported:
    """A diagnostics command ran over the edited files before a turn ended.

    `lines` are the first of its `new` lines, which it did not print before the edits; it printed `old` others.
    Lines are counted only where it exited with another code than 0. `failure` says in a sentence why it could
    not tell; then there are no lines.
    """

    type: ClassVar = "diagnostics_reported"
    durable: ClassVar = True
    name: str
    files: tuple[str, ...]
    lines: tuple[str, ...] = ()
    new: int = 0
    old: int = 0
    duration_secs: float = 0.0
    failure: str | None = None

    @property
    def sentence(self) -> str:
        """What came of it, on one line without the lines themselves."""
        if self.failure is not None:
            return f"diagnostics {self.name}: {self.failure}"
        found = f"{format_amount(self.new, 'new line')}" if self.new else "nothing new"
        old = f", {format_amount(self.old, 'line')} as before" if self.old else ""
        return f"diagnostics {self.name}: {found} about {format_amount(len(self.files), 'edited file')}{old}"

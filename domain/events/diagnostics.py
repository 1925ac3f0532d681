"""What diagnostics commands said about the files that a turn edited."""

from __future__ import annotations

from quorum.domain.fact import Fact
from quorum.domain.text.amounts import format_amount


class DiagnosticsReported(Fact, frozen=True, kw_only=True, tag="diagnostics_reported"):
    """A diagnostics command ran over the edited files before a turn ended.

    `lines` are the first of its `new` lines, which it did not print before the edits; it printed `old` others.
    Lines are counted only where it exited with another code than 0. `failure` says in a sentence why it could
    not tell; then there are no lines.
    """

    name: str
    files: tuple[str, ...]
    lines: tuple[str, ...] = ()
    new: int = 0
    old: int = 0
    duration_secs: float = 0.0
    failure: str | None = None

    @property
    def details(self) -> str:
        """The lines."""
        return "\n".join(self.lines)

    @property
    def sentence(self) -> str:
        """What came of it, on one line without the lines themselves."""
        if self.failure is not None:
            return f"diagnostics {self.name}: {self.failure}"
        found = f"{format_amount(self.new, 'new line')}" if self.new else "nothing new"
        old = f", {format_amount(self.old, 'line')} as before" if self.old else ""
        return f"diagnostics {self.name}: {found} about {format_amount(len(self.files), 'edited file')}{old}"

"""What checking commands found, in words."""

from __future__ import annotations

from quorum.application.view.entries import NoticeKind
from quorum.domain.events import event as ev


def describe_diagnostics(event: ev.DiagnosticsReported) -> tuple[NoticeKind, str]:
    """How loud the report is, and its text with the first of its lines."""
    if event.failure is not None:
        return NoticeKind.ERROR, event.sentence
    if not event.new:
        return NoticeKind.INFO, event.sentence
    first = f": {event.lines[0].strip()}" if event.lines else ""
    return NoticeKind.WARNING, f"{event.sentence}{first}"

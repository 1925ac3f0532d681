"""Files that changed: those of a risky call, and those that were given back as they had been."""

from __future__ import annotations

from textual.strip import Strip

from quorum.application.view.entries import Restoration
from quorum.domain.calls.effects import ChangeKind, Effects, FileChange
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.lines import build_strip, fit_text
from quorum.tui.transcript.cells.palette import Palette

_SIGNS = {ChangeKind.CREATED: "+", ChangeKind.MODIFIED: "~", ChangeKind.DELETED: "−"}
_INCOMPLETE = "the workspace is too large to see every change"


def draw_receipt_line(effects: Effects, cwd: str, width: int, palette: Palette) -> list[Strip]:
    """What was not declared, in one line, and what is ignored in another; nothing where all was declared."""
    surprises = [change for change in effects.changes if change.is_surprise]
    strips = []
    if surprises:
        names = ", ".join(_name_file(change, cwd) for change in surprises)
        text = f"{format_amount(len(surprises), 'file')} changed, not declared: {names}"
        strips.append(build_strip((fit_text(make_printable(text, newlines=False), width), palette.warning)))
    if ignored := sum(change.ignored and not change.declared for change in effects.changes):
        strips.append(build_strip((fit_text(f"+{ignored:,} ignored", width), palette.muted)))
    return strips if effects.complete else [*strips, _render_incomplete(width, palette)]


def draw_receipt(effects: Effects, cwd: str, width: int, palette: Palette) -> list[Strip]:
    """Every file that changed, one line each."""
    strips = [
        build_strip(
            (
                fit_text(make_printable(_describe_change(change, cwd), newlines=False), width),
                palette.warning if change.is_surprise else palette.muted,
            )
        )
        for change in effects.changes
    ]
    return strips if effects.complete else [*strips, _render_incomplete(width, palette)]


def draw_restored(entry: Restoration, width: int, palette: Palette) -> list[Strip]:
    """The files that were given back: in one line while folded, else one line each; ignored ones last."""
    sources = [_name_file(change, entry.cwd) for change in entry.changes if not change.ignored]
    ignored = [_name_file(change, entry.cwd) for change in entry.changes if change.ignored]
    more = f"+{len(ignored):,} ignored" if ignored else ""
    head = f"gave back {format_amount(len(sources), 'file') if sources else more}"
    if not entry.expanded:
        text = f"{head}: {', '.join([*sources, *filter(None, [more])])}" if sources else head
        shown = fit_text(make_printable(text, newlines=False), width - 2)
        return [build_strip(("▸ ", palette.muted), (shown, palette.accent))]
    lines = [
        build_strip(("  " + fit_text(make_printable(name, newlines=False), width - 2), palette.muted))
        for name in (*sources, *ignored)
    ]
    head = f"{head}, {more}" if sources and more else head
    return [build_strip(("▾ ", palette.muted), (fit_text(head, width - 2), palette.accent)), *lines]


def _describe_change(change: FileChange, cwd: str) -> str:
    declared = "declared" if change.declared else "ignored" if change.ignored else "not declared"
    late = ", found late: perhaps before this call" if change.late else ""
    return f"{_name_file(change, cwd)} · {change.kind}, {declared}{late}"


def _name_file(change: FileChange, cwd: str) -> str:
    root = cwd.rstrip("/") + "/"
    return f"{_SIGNS[change.kind]} {change.path.removeprefix(root)}"


def _render_incomplete(width: int, palette: Palette) -> Strip:
    return build_strip((fit_text(_INCOMPLETE, width), palette.muted))

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
    """What was not declared, in one line; nothing where all went as declared."""
    surprises = [change for change in effects.changes if not change.declared]
    if not surprises:
        return [_render_incomplete(width, palette)] if not effects.complete else []
    names = ", ".join(_name_file(change, cwd) for change in surprises)
    count = f"{format_amount(len(surprises), 'file')} changed, not declared: "
    return [build_strip((fit_text(make_printable(count + names, newlines=False), width), palette.warning))]


def draw_receipt(effects: Effects, cwd: str, width: int, palette: Palette) -> list[Strip]:
    """Every file that changed, one line each."""
    strips = [
        build_strip(
            (
                fit_text(make_printable(_describe_change(change, cwd), newlines=False), width),
                palette.muted if change.declared else palette.warning,
            )
        )
        for change in effects.changes
    ]
    return strips if effects.complete else [*strips, _render_incomplete(width, palette)]


def draw_restored(entry: Restoration, width: int, palette: Palette) -> list[Strip]:
    """The files that were given back: in one line while folded, else one line each."""
    names = [make_printable(_name_file(change, entry.cwd), newlines=False) for change in entry.changes]
    head = f"gave back {format_amount(len(names), 'file')}"
    if not entry.expanded:
        return [
            build_strip(
                ("▸ ", palette.muted), (fit_text(f"{head}: {', '.join(names)}", width - 2), palette.accent)
            )
        ]
    lines = [build_strip(("  " + fit_text(name, width - 2), palette.muted)) for name in names]
    return [build_strip(("▾ ", palette.muted), (fit_text(head, width - 2), palette.accent)), *lines]


def _describe_change(change: FileChange, cwd: str) -> str:
    declared = "declared" if change.declared else "not declared"
    late = ", found late: perhaps before this call" if change.late else ""
    return f"{_name_file(change, cwd)} · {change.kind}, {declared}{late}"


def _name_file(change: FileChange, cwd: str) -> str:
    root = cwd.rstrip("/") + "/"
    return f"{_SIGNS[change.kind]} {change.path.removeprefix(root)}"


def _render_incomplete(width: int, palette: Palette) -> Strip:
    return build_strip((fit_text(_INCOMPLETE, width), palette.muted))

"""A plan: its steps, as the model keeps them."""

from __future__ import annotations

from quorum.application.view.entries import Call, Kept
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.lines import build_strip, fit_text
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.kinds import plain
from quorum.tui.transcript.kinds.plain import Part, draw_folded_more

TELLS = frozenset({"items"})

_FOLDED = 8


def summarise(call: Call, output: Kept) -> str:
    """How many steps there are."""
    return format_amount(output.lines, "step")


def draw_folded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """The steps that changed since the plan before, or the first ones where there was none."""
    part = Part()
    if call.plan_changes is None:
        lines = plain.select_last_lines(output, output.lines)
    else:
        lines = [make_printable(line, newlines=False) for line in call.plan_changes or ("no step changed",)]
    shown = lines if len(lines) <= _FOLDED + 1 else lines[:_FOLDED]
    part.add(build_strip((fit_text(line, width), palette.muted)) for line in shown)
    if len(shown) < len(lines):
        part.add([draw_folded_more(len(lines) - len(shown), "more", palette)])
    return part


def draw_unfolded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    return plain.draw_unfolded(call, output, width, palette)

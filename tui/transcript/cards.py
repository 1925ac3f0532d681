"""A batch of calls as lines: a row with a lane for each call, and under it what is worth seeing."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from domain.execution import Outcome
from domain.tool import RiskLevel
from tui.transcript.ballots import awaited_lines, decided, decision_line, vote_lines
from tui.transcript.diffs import diff_lines
from tui.transcript.entries import Batch, Call, Kept, Phase, StoredOutput
from tui.transcript.lanes import lane, lane_width, span_of
from tui.transcript.lines import amount, fitted, program_text, size, strip_of, wrapped
from tui.transcript.palette import Palette
from tui.transcript.printable import printable
from tui.transcript.receipts import receipt, receipt_line
from tui.transcript.remarks import remark_lines
from tui.transcript.status import arguments_in_short, batch_in_short, state_of, time_of

_DIFF_FOLDED = 12
_OUTPUT_FOLDED = 6
_REASON_FOLDED = 3
_BOLD = Style(bold=True)


@dataclass(frozen=True, slots=True)
class Target:
    """What a click on a line is meant for: the call at a place of its batch; `opens`: that call's output."""

    place: int
    opens: bool = False


@dataclass(slots=True)
class Drawing:
    """Lines, and for each what a click on it is meant for."""

    strips: list[Strip] = field(default_factory=list)
    targets: list[Target | None] = field(default_factory=list)

    def add(self, strips: list[Strip], target: Target | None = None) -> None:
        """Add lines that a click on means the same for."""
        self.strips += strips
        self.targets += [target] * len(strips)


def draw_batch(batch: Batch, width: int, palette: Palette, now: float) -> Drawing:
    """The batch at a width in cells, two of which are the margin that holds the fold marks."""
    drawing = Drawing()
    span = span_of(batch, now)
    several = len(batch.calls) > 1
    if several:
        drawing.add([strip_of(("  " + fitted(batch_in_short(batch, span), width - 2), palette.muted))])
    lanes = lane_width(width) if several and batch.batch_id is not None else 0
    states = [state_of(call, palette) for call in batch.calls]
    times = [time_of(call, now) for call in batch.calls]
    room = max(sum(cell_len(text) for text, _ in state) for state in states) if states else 0
    time_room = max(map(len, times), default=0)
    for place, call in enumerate(batch.calls):
        right = _state_cells(states[place], room, times[place], time_room, palette)
        if lanes:
            right = [*lane(call, span, now, lanes, palette), ("  ", Style()), *right]
        drawing.add([_row(call, several, right, width, palette)], Target(place))
        edge = strip_of(("  │ ", palette.muted))
        for strips, opens in _details(call, width - 4, palette):
            drawing.add([Strip([*edge, *strip]) for strip in strips], Target(place, opens))
    return drawing


def _state_cells(
    state: list[tuple[str, Style]], room: int, time: str, time_room: int, palette: Palette
) -> list[tuple[str, Style]]:
    used = sum(cell_len(text) for text, _ in state)
    timed = [(f"  {time:>{time_room}}", palette.muted)] if time_room else []
    return [*state, (" " * (room - used), Style()), *timed]


def _row(call: Call, several: bool, right: list[tuple[str, Style]], width: int, palette: Palette) -> Strip:
    mark = "▾ " if call.expanded else "▸ "
    index = f"{call.index} " if several else ""
    tool = printable(call.tool or "…", newlines=False)
    room = width - sum(cell_len(text) for text, _ in right) - 2
    used = cell_len(mark + index + tool)
    telling, others = (f" {text}" if text else "" for text in arguments_in_short(call))
    telling = fitted(telling, max(room - used, 0))
    others = fitted(others, max(room - used - cell_len(telling), 0))
    left = [(mark, palette.muted), (index, palette.muted), (fitted(tool, max(room - len(mark), 1)), _BOLD)]
    strip = strip_of(*left, (telling, Style()), (others, palette.muted))
    gap = " " * (width - strip.cell_length - sum(cell_len(text) for text, _ in right))
    return Strip([*strip, *strip_of((gap, Style()), *right)])


def _details(call: Call, width: int, palette: Palette) -> list[tuple[list[Strip], bool]]:
    """The lines below a row, in parts; for each, whether a click on it opens the whole output."""
    if call.expanded:
        kept_aside = [_kept_aside(call.stored, width, palette)] if call.stored is not None else []
        return [(_everything(call, width, palette), False), (kept_aside, True)]
    strips = _before_the_output(call, width, palette)
    if call.phase is not Phase.FINISHED or call.output is None:
        return [(strips, False)]
    if call.outcome is Outcome.OK:
        opener, last = _tail(call, call.output, width, palette)
        return [(strips, False), (opener, True), (last, False)]
    kept_aside = [_kept_aside(call.stored, width, palette)] if call.stored is not None else []
    return [(strips + _failure(call, call.output, width, palette), False), (kept_aside, True)]


def _before_the_output(call: Call, width: int, palette: Palette) -> list[Strip]:
    strips: list[Strip] = []
    if call.phase is Phase.REVIEWED and call.asked_because:
        text = "asks because: " + "; ".join(call.asked_because)
        strips += _plain(printable(text, newlines=False), width, palette.muted)
    if call.phase is Phase.REVIEWED or call.is_voted_on:
        strips += vote_lines(call.votes, width, palette, most=_REASON_FOLDED)
    elif text := decided(call):
        strips.append(decision_line(text, width, palette.muted))
    if call.diff is not None and call.phase is not Phase.ABANDONED:
        strips += _folded(diff_lines(call.diff, width, palette), _DIFF_FOLDED, palette)
    if call.phase is Phase.RUNNING:
        lines = [fitted(program_text(line), width) for line in call.progress.shown()[-_OUTPUT_FOLDED:]]
        strips += [strip_of((line, palette.muted)) for line in lines]
    strips += remark_lines((remark for remark in call.remarks if not remark.quiet), width, palette)
    return strips + (receipt_line(call.effects, call.cwd, width, palette) if call.effects is not None else [])


def _failure(call: Call, output: Kept, width: int, palette: Palette) -> list[Strip]:
    """Why a call failed or was withheld, unless the remark of a hook has said so."""
    if call.outcome is Outcome.SKIPPED and any(not remark.quiet for remark in call.remarks):
        return []
    style = palette.error if call.outcome is Outcome.ERROR else palette.warning
    strips = [strip_of((fitted(line, width), style)) for line in _trimmed(call.reason or output.head)]
    return _folded(strips, _REASON_FOLDED, palette)


def _tail(call: Call, output: Kept, width: int, palette: Palette) -> tuple[list[Strip], list[Strip]]:
    """The line that opens the rest of an output, and the last lines of what a command printed."""
    shown: list[Strip] = []
    if call.risk is RiskLevel.HIGH and call.diff is None:
        lines = _trimmed(output.tail or output.head)
        shown = [strip_of((fitted(line, width), palette.muted)) for line in lines[-_OUTPUT_FOLDED:]]
    above = output.lines - len(shown) if shown else 0
    if call.stored is not None:
        return [_kept_aside(call.stored, width, palette, above)], shown
    return [_more(above, "above", palette)] if above > 0 else [], shown


def _kept_aside(stored: StoredOutput, width: int, palette: Palette, above: int = 0) -> Strip:
    more = f"… {amount(above, 'line')} above · " if above > 0 else ""
    told = f"stored {size(stored.size_bytes)}"
    hint = fitted(" · click or /output opens", width - cell_len(more + told))
    return strip_of((more, palette.muted), (told, palette.accent), (hint, palette.muted))


def _trimmed(text: str) -> list[str]:
    lines = program_text(text).strip("\n").split("\n")
    return lines if lines != [""] else []


def _folded(strips: list[Strip], most: int, palette: Palette) -> list[Strip]:
    # A fold that hides a single line would take that line's place itself.
    if len(strips) <= most + 1:
        return strips
    return [*strips[:most], _more(len(strips) - most, "more", palette)]


def _more(count: int, where: str, palette: Palette) -> Strip:
    return strip_of((f"… {amount(count, 'line')} {where}", palette.muted))


def _plain(text: str, width: int, style: Style) -> list[Strip]:
    return [strip_of((line, style)) for line in wrapped(text, width)]


def _everything(call: Call, width: int, palette: Palette) -> list[Strip]:
    strips: list[Strip] = []
    for name, value in call.arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        first, *rest = wrapped(printable(f"{name}: {text}"), width)
        strips.append(strip_of((first, palette.muted)))
        strips += [strip_of((line, palette.muted)) for line in rest]
    for reason in call.asked_because:
        strips += _plain(printable(f"asks because: {reason}", newlines=False), width, palette.muted)
    strips += vote_lines(call.votes, width, palette) + awaited_lines(call, width, palette)
    decided = "" if call.decision.value == "none" else f"decision: {call.decision.value.replace('_', ' ')}"
    reason = f" · {call.reason}" if call.reason else ""
    strips += _plain(printable(decided + reason), width, palette.muted) if decided else []
    strips += remark_lines(call.remarks, width, palette)
    strips += diff_lines(call.diff, width, palette) if call.diff is not None else []
    strips += receipt(call.effects, call.cwd, width, palette) if call.effects is not None else []
    if call.output is None:
        return strips + [s for line in call.progress.shown() for s in _output(line, width)]
    strips += _output(call.output.head.rstrip("\n"), width) if call.output.head else []
    if call.output.tail:
        strips.append(_more(call.output.left_out_lines, "not kept here", palette))
        strips += _output(call.output.tail.rstrip("\n"), width)
    return strips


def _output(text: str, width: int) -> list[Strip]:
    return _plain(program_text(text), width, Style())

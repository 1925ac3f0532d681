"""The lane of a call: a small bar that shows when it waited and when it ran, beside the others of its batch."""

from __future__ import annotations

from rich.style import Style

from tui.transcript.entries import Batch, Call, Phase
from tui.transcript.palette import Palette

_RAN = "▆"
_ASKED = "░"
_WAITED = "·"


def lane_width(width: int) -> int:
    """How many cells lanes get in a transcript of this width; 0 where there is no room."""
    if width >= 116:
        return 24
    if width >= 96:
        return 16
    return 8 if width >= 66 else 0


def span_of(batch: Batch, now: float) -> tuple[float, float]:
    """When the batch began, and when it ended or what time it is; seconds of the clock."""
    starts = [call.since[0][0] for call in batch.calls if call.since]
    ends = [now if call.is_open else call.since[-1][0] for call in batch.calls if call.since]
    return (min(starts), max(ends)) if starts else (now, now)


def lane(
    call: Call, span: tuple[float, float], now: float, width: int, palette: Palette
) -> list[tuple[str, Style]]:
    """The cells of one call's lane. Running wins over waiting where both fall into one cell."""
    begin, end = span
    scale = width / (end - begin) if end > begin else 0.0
    cells = [" "] * width
    # Later writes win, so what matters most comes last.
    for glyph, phase in ((_WAITED, Phase.QUEUED), (_ASKED, Phase.REVIEWED), (_RAN, Phase.RUNNING)):
        for start, stop in _times(call, phase, now):
            first = min(int((start - begin) * scale), width - 1)
            last = max(first, min(int((stop - begin) * scale - 1e-9), width - 1))
            if phase is Phase.RUNNING or stop > start:
                cells[first : last + 1] = [glyph] * (last + 1 - first)
    return _runs("".join(cells), call, palette)


def _times(call: Call, phase: Phase, now: float) -> list[tuple[float, float]]:
    stops = [moment for moment, _ in call.since[1:]] + [now]
    return [(moment, stop) for (moment, kind), stop in zip(call.since, stops, strict=False) if kind is phase]


def _runs(cells: str, call: Call, palette: Palette) -> list[tuple[str, Style]]:
    """Runs of equal cells, styled."""
    ran = palette.accent if call.phase is Phase.RUNNING or not call.outcome else _ended(call, palette)
    styles = {_RAN: ran, _ASKED: palette.warning, _WAITED: palette.muted, " ": palette.muted}
    runs: list[tuple[str, Style]] = []
    for cell in cells:
        if runs and runs[-1][0][0] == cell:
            runs[-1] = (runs[-1][0] + cell, runs[-1][1])
        else:
            runs.append((cell, styles[cell]))
    return runs


def _ended(call: Call, palette: Palette) -> Style:
    return palette.error if call.outcome is not None and call.outcome.is_error else palette.ok

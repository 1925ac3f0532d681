"""The lane of a call: a small bar that shows when it waited, for whom, and when it ran."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style

from quorum.application.view.entries import Batch, Call, Phase
from quorum.domain.text.amounts import format_duration
from quorum.tui.transcript.cells.palette import Palette

RAN = "▆"
ASKED = "░"
WAITED = "·"


def find_span(batch: Batch, now: float) -> tuple[float, float]:
    """When the batch began, and when it ended or what time it is; seconds of the clock."""
    starts = [call.since[0][0] for call in batch.calls if call.since]
    ends = [now if call.is_open else call.since[-1][0] for call in batch.calls if call.since]
    return (min(starts), max(ends)) if starts else (now, now)


def draw_lane(
    call: Call,
    span: tuple[float, float],
    now: float,
    width: int,
    palette: Palette,
    *,
    others: Sequence[Call] = (),
) -> list[tuple[str, Style]]:
    """The cells of one call's lane. Running wins over waiting where both fall into one cell.

    At the end of its waiting stands the place of the call among `others` that it waited for last.
    """
    begin, end = span
    scale = width / (end - begin) if end > begin else 0.0
    cells = [" "] * width
    # Later writes win, so what matters most comes last.
    for glyph, phase in ((WAITED, Phase.QUEUED), (ASKED, Phase.REVIEWED), (RAN, Phase.RUNNING)):
        for start, stop in call.list_stretches(phase, now):
            if stop < begin or start > end:
                continue
            first = max(min(int((start - begin) * scale), width - 1), 0)
            last = max(first, min(int((stop - begin) * scale - 1e-9), width - 1))
            if phase is Phase.RUNNING or stop > start:
                cells[first : last + 1] = [glyph] * (last + 1 - first)
    text = _add_cause("".join(cells), call, others, now)
    return _group_runs(text, call, palette)


def find_last_awaited(call: Call, others: Sequence[Call], now: float) -> Call | None:
    """Of the calls that a call had to wait for, the one that kept it waiting longest; None where none did."""
    followed = [other for other in others if other.index in call.follows and other.since]
    return max(followed, key=lambda other: now if other.is_open else other.since[-1][0], default=None)


def _add_cause(cells: str, call: Call, others: Sequence[Call], now: float) -> str:
    cause = find_last_awaited(call, others, now) if call.follows else None
    begin = len(cells) - len(cells.lstrip())
    end = begin + len(cells[begin:]) - len(cells[begin:].lstrip(WAITED))
    if cause is None or end - begin < len(mark := str(cause.number)) + 1:
        return cells
    return cells[: end - len(mark)] + mark + cells[end:]


def _group_runs(cells: str, call: Call, palette: Palette) -> list[tuple[str, Style]]:
    """Runs of equal cells, styled."""
    ran = palette.accent if call.phase is Phase.RUNNING or not call.outcome else palette.ok
    if call.outcome is not None and call.outcome.is_error:
        ran = palette.error
    styles = {RAN: ran, ASKED: palette.warning, WAITED: palette.muted, " ": palette.muted}
    runs: list[tuple[str, Style]] = []
    for cell in cells:
        style = styles.get(cell, palette.accent)
        if runs and runs[-1][0][0] == cell:
            runs[-1] = (runs[-1][0] + cell, style)
        else:
            runs.append((cell, style))
    return runs


def describe_course(call: Call, now: float) -> str:
    """How a call spent its time, as `waited 1.2 s for 0, 1 · waited for you 3.0 s · ran 50 ms`."""
    parts: list[str] = []
    for phase, verb in ((Phase.QUEUED, "waited"), (Phase.REVIEWED, "waited for you"), (Phase.RUNNING, "ran")):
        seconds = sum(end - begin for begin, end in call.list_stretches(phase, now))
        if phase is Phase.RUNNING and call.duration is not None:
            seconds = call.duration
        if seconds >= _WORTH_TELLING or (phase is Phase.RUNNING and call.has_run):
            parts.append(f"{verb} {format_duration(seconds)}")
            if phase is Phase.QUEUED and call.follows:
                parts[-1] += " for " + ", ".join(str(index + 1) for index in call.follows)
    return " · ".join(parts) if len(parts) > 1 else ""


_WORTH_TELLING = 0.001

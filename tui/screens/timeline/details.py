"""The details below a timeline: of the row that is marked, and of the session as a whole."""

from __future__ import annotations

import time

from rich.style import Style
from textual.strip import Strip

from quorum.application.view.decisions import describe_decision
from quorum.application.view.entries import Batch, Call, NoticeKind
from quorum.application.view.turn_timings import RequestTiming, Totals, TurnTiming
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.timeline.rows import TimelineRow
from quorum.tui.transcript.cells.lines import build_strip, fit_text
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.draw.lanes import describe_course, find_span
from quorum.tui.transcript.draw.status import describe_state, shorten_arguments, summarise_batch

DETAIL_LINES = 4
_WORTH_TELLING = 1.05


def draw_totals(totals: Totals, turns: int, width: int, palette: Palette) -> Strip:
    """What the session took, by whom it was taken."""
    parts = [
        format_amount(turns, "turn"),
        f"waiting for you {format_duration(totals.waited)}",
        f"model {format_duration(totals.model)}",
    ]
    if totals.attempts:
        noun = "retry" if totals.attempts == 1 else "retries"
        parts.append(f"{totals.attempts} {noun} {format_duration(totals.paused)}")
    parts.append(f"tools {format_duration(totals.calls)}")
    if totals.ran and totals.calls / totals.ran >= _WORTH_TELLING:
        gain = totals.calls / totals.ran
        parts[-1] += f" in {format_duration(totals.ran)}, {gain:.1f}× by running side by side"
    return build_strip((fit_text(" · ".join(parts), width), palette.accent))


def draw_details(row: TimelineRow, width: int, palette: Palette, now: float) -> list[Strip]:
    """At most four lines about a row."""
    match row:
        case TimelineRow(event=None):
            lines = _render_turn(row.turn, now)
        case TimelineRow(event=RequestTiming() as request):
            lines = _request(request, row.turn, now)
        case TimelineRow(event=Batch() as batch, call=None):
            lines = [(f"batch {row.number} of turn {row.turn.number}", Style(bold=True))]
            lines += [(summarise_batch(batch, find_span(batch, now)), Style())]
        case TimelineRow(call=Call() as call):
            lines = _call(call, row, palette, now)
    return [
        build_strip((fit_text(make_printable(text, newlines=False), width), style))
        for text, style in lines
        if text
    ][:DETAIL_LINES]


_Lines = list[tuple[str, Style]]


def _render_turn(turn: TurnTiming, now: float) -> _Lines:
    begin, end = turn.compute_span(now)
    clock = (
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - (now - begin))) if turn.timed else ""
    )
    took = format_duration(end - begin) if turn.timed else ""
    counts = [format_amount(len(turn.requests), "answer"), format_amount(len(turn.calls), "call")]
    parts = filter(
        None, (clock, took, turn.ending or "under way", *counts, "taken back" if turn.undone else "")
    )
    prompt = (
        turn.prompt.text.strip() if turn.prompt is not None else "continuing where the previous turn stopped"
    )
    return [(f"turn {turn.number}", Style(bold=True)), (" · ".join(parts), Style()), (prompt, Style())]


def _request(request: RequestTiming, turn: TurnTiming, now: float) -> _Lines:
    took = (now if request.end is None else request.end) - request.begin
    parts = [f"{format_duration(took)} in all"] if turn.timed else []
    if request.first is not None:
        parts.append(f"first words after {format_duration(request.first - request.begin)}")
    if request.calls:
        parts.append(f"asked for {format_amount(request.calls, 'call')}")
    retries = ""
    if request.retries:
        paused = format_duration(sum(end - begin for begin, end in request.retries))
        retries = (
            f"tried again {format_amount(len(request.retries), 'time')}, paused for {paused}: {request.why}"
        )
    head = f"answer of the model in turn {turn.number}"
    return [
        (head, Style(bold=True)),
        (" · ".join(parts), Style()),
        (retries, Style()),
        (request.words, Style()),
    ]


def _call(call: Call, row: TimelineRow, palette: Palette, now: float) -> _Lines:
    telling, others = shorten_arguments(call)
    head = (
        f"call {call.number} of batch {row.number} in turn {row.turn.number} · {call.tool} {telling} {others}"
    )
    state = "".join(text for text, _ in describe_state(call, palette))
    spent = describe_course(call, now) or (
        f"ran {format_duration(call.duration)}" if call.duration is not None else ""
    )
    decision = (
        describe_decision(call)
        or (call.reason or "")
        or call.decision.value.replace("_", " ").replace("none", "")
    )
    votes = ", ".join(f"{ballot.reviewer} {ballot.vote.value}" for ballot in call.votes)
    parts = " · ".join(filter(None, (f"decision: {decision}" if decision else "", votes)))
    remark = next((remark.text for remark in call.remarks if remark.kind is not NoticeKind.INFO), "")
    return [
        (" ".join(head.split()), Style(bold=True)),
        (" · ".join(filter(None, (state, spent))), Style()),
        (parts, Style()),
        (remark, palette.warning),
    ]

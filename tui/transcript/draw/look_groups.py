"""Finished reads, searches and lists of a batch as one row: what only looked is rarely looked at again."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from textual.strip import Strip

from application.view.entries import Batch, Call, Phase
from domain.calls.execution import Outcome
from domain.review.questions import DecisionLabel
from domain.text.amounts import format_amount, format_duration
from tui.transcript.cells.lines import build_strip, fit_text
from tui.transcript.cells.marks import ASIDE
from tui.transcript.cells.palette import Palette

LOOKS = -2
"""The place of the row that stands for a batch's looks, where calls have theirs from 0 on."""

_FEWEST = 3
# The verb, and what is counted where that verb comes first.
_KINDS = {
    "read_file": ("read", "file"),
    "grep_search": ("searched", "time"),
    "glob_search": ("searched", "time"),
    "list_directory": ("listed", "folder"),
}


def group_looks(batch: Batch) -> tuple[int, ...]:
    """The places of the calls that one row stands for; none while a look is open, so that rows do not jump."""
    looks = [(place, call) for place, call in enumerate(batch.calls) if call.tool in _KINDS]
    if any(call.is_open for _, call in looks):
        return ()
    quiet = tuple(place for place, call in looks if _is_quiet(call))
    return quiet if len(quiet) >= _FEWEST else ()


def is_open(batch: Batch) -> bool:
    """Whether the looks are shown one by one: the person wants them, or one of them, open."""
    return batch.expanded or any(batch.calls[place].expanded for place in group_looks(batch))


def set_looks_open(batch: Batch, is_wanted: bool) -> None:
    """Show the looks one by one, or as one row: then none of them stays open."""
    batch.expanded = is_wanted
    if not is_wanted:
        for place in group_looks(batch):
            batch.calls[place].expanded = False


def draw_looks(batch: Batch, places: Sequence[int], width: int, palette: Palette) -> Strip:
    """The row, as `read 4 files, searched 1, listed 2 · 81 ms`."""
    calls = [batch.calls[place] for place in places]
    took = "" if batch.untimed else _took(calls)
    mark = "▾ " if is_open(batch) else "▸ "
    text = fit_text(_describe(calls), width - len(mark))
    room = width - len(mark) - len(text)
    return build_strip((mark, palette.muted + ASIDE), (text, Style()), (fit_text(took, room), palette.muted))


def _is_quiet(call: Call) -> bool:
    """Whether it ended well and nothing else is to be said about it."""
    return (
        call.phase is Phase.FINISHED
        and call.outcome is Outcome.OK
        and call.decision in (DecisionLabel.NONE, DecisionLabel.ALLOWED)
        and not call.earlier
        and not call.votes
        and all(remark.quiet for remark in call.remarks)
    )


def _describe(calls: Sequence[Call]) -> str:
    counts: dict[str, int] = {}
    nouns: dict[str, str] = {}
    read = {str(call.arguments.get("path")) for call in calls if call.tool == "read_file"}
    for call in calls:
        verb, nouns[verb] = _KINDS[call.tool]
        counts[verb] = counts.get(verb, 0) + 1
    if read:
        counts["read"] = len(read)
    parts = [
        f"{verb} {f'{counts[verb]:,}' if said else format_amount(counts[verb], nouns[verb])}"
        for said, verb in enumerate(verb for verb in ("read", "searched", "listed") if verb in counts)
    ]
    return ", ".join(parts)


def _took(calls: Sequence[Call]) -> str:
    begins = [call.since[0][0] for call in calls if call.since]
    ends = [call.since[-1][0] for call in calls if call.since]
    return f" · {format_duration(max(ends) - min(begins))}" if begins else ""

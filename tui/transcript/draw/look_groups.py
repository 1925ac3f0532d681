"""Finished reads, searches and lists as one row: what only looked is rarely looked at again.

The row stands for those of a batch, or for all of several batches in a row that did nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import PurePath

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import AnswerEntry, Batch, Entry, LookSegment, LookSummary
from quorum.application.view.look_runs import FEWEST_FOLDED, find_segment, is_folded, is_quiet_look
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.domain.text.printable import collapse_blanks, make_printable
from quorum.tui.transcript.cells.lines import build_strip, fit_text
from quorum.tui.transcript.cells.marks import ASIDE
from quorum.tui.transcript.cells.palette import Palette

LOOKS = -2
"""The place of the row that stands for a batch's looks, where calls have theirs from 0 on."""
_MOST_NAMED = 40
_ORDER = ("read", "searched", "listed")  # any other verb comes after these


def group_looks(batch: Batch) -> tuple[int, ...]:
    """The places of the calls that one row stands for, where that row is drawn with this batch.

    None while a look is open, so that rows do not jump. The first batch of a run has the row of all of it.
    """
    if segment := find_folded(batch):
        return tuple(range(len(batch.calls))) if batch is segment[0] else ()
    looks = [(place, call) for place, call in enumerate(batch.calls) if find_traits(call.tool).look]
    if any(call.is_open for _, call in looks):
        return ()
    quiet = tuple(place for place, call in looks if is_quiet_look(call))
    return quiet if len(quiet) >= FEWEST_FOLDED else ()


def find_folded(entry: Entry) -> Sequence[Batch | AnswerEntry]:
    """The entries of several answers that one row stands for together with this one; none where none does."""
    segment = _find_folded_segment(entry)
    return segment.members if segment is not None else ()


def is_hidden(entry: Entry) -> bool:
    """Whether a row further up stands for the entry, so that nothing of it is drawn."""
    segment = _find_folded_segment(entry)
    return segment is not None and entry is not segment.members[0] and not segment.is_any_open()


def is_open(batch: Batch) -> bool:
    """Whether the looks are shown one by one: the person wants them, or one of them, open."""
    if (segment := _find_folded_segment(batch)) is not None:
        return segment.is_any_open()
    return batch.expanded or any(batch.calls[place].expanded for place in group_looks(batch))


def _find_folded_segment(entry: Entry) -> LookSegment | None:
    segment = find_segment(entry) if isinstance(entry, Batch | AnswerEntry) else None
    return segment if segment is not None and is_folded(segment) else None


def set_looks_open(batch: Batch, is_wanted: bool) -> None:
    """Show the looks one by one, or as one row: then none of them stays open."""
    calls = [batch.calls[place] for place in group_looks(batch)]
    for member in find_folded(batch) if not is_wanted else ():
        member.expanded = False
        calls += member.calls if isinstance(member, Batch) else []
    batch.expanded = is_wanted
    if not is_wanted:
        for call in calls:
            call.expanded = False


def draw_looks(batch: Batch, places: Sequence[int], width: int, palette: Palette) -> Strip:
    """The row, as `read 2 files, searched 1, listed 2 · 81 ms · a.py, b.py`."""
    segment = _find_folded_segment(batch)
    if segment is not None:
        summary, is_untimed = segment.summary, segment.is_untimed
        thoughts = len(segment.members) - segment.batches
    else:
        summary, is_untimed, thoughts = LookSummary(), batch.untimed, 0
        summary.add([batch.calls[place] for place in places])
    said = _describe(summary)
    if thoughts:
        said += f", {format_amount(thoughts, 'thought')}"
    took = f" · {format_duration(summary.secs)}" if summary.is_timed and not is_untimed else ""
    mark = "▾ " if is_open(batch) else "▸ "
    text = fit_text(said, width - len(mark))
    room = width - len(mark) - len(text)
    behind = fit_text(took, room)
    behind += _name_seen(summary, room - len(behind))
    return build_strip((mark, palette.muted + ASIDE), (text, Style()), (behind, palette.muted))


def _name_seen(summary: LookSummary, room: int) -> str:
    """The names of the first files that were read, as many as fit, and how many more there are."""
    paths = [PurePath(value) for _, value in islice(summary.seen, _MOST_NAMED)]
    times = Counter(path.name for path in paths)
    names = ["/".join(path.parts[-2:]) if times[path.name] > 1 else path.name for path in paths]
    names = [collapse_blanks(make_printable(name, newlines=False)) for name in names]
    for count in range(len(names), 0, -1):
        left = len(summary.seen) - count
        text = f" · {', '.join(names[:count])}{f' +{left:,}' if left else ''}"
        if cell_len(text) <= room:
            return text
    return ""


def _describe(summary: LookSummary) -> str:
    looks = sorted(summary.times, key=lambda look: (*_ORDER, look.verb).index(look.verb))
    first = f"{looks[0].verb} {format_amount(summary.times[looks[0]], looks[0].noun)}"
    return ", ".join([first, *(f"{look.verb} {summary.times[look]:,}" for look in looks[1:])])

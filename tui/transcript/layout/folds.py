"""What can be folded in a transcript, and what a click on a line of it is meant for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from quorum.application.view.batches import find_segment
from quorum.application.view.entries import (
    AnswerEntry,
    Batch,
    Call,
    Entry,
    PanelEntry,
    PromptEntry,
    Restoration,
)
from quorum.domain.calls.tool_traits import OutputKind
from quorum.tui.transcript.draw import cards
from quorum.tui.transcript.kinds.kind import find_kind
from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout


def set_open(entry: Entry, part: int | None, is_open: bool) -> bool:
    """Unfold or fold a part of an entry; whether that changed anything."""
    foldable = _find_foldable(entry, part)
    if isinstance(foldable, Batch):
        if cards.is_open(foldable) is is_open:
            return False
        cards.set_looks_open(foldable, is_open)
    elif foldable is None or foldable.expanded is is_open:
        return False
    else:
        foldable.expanded = is_open
    entry.version += 1
    segment = find_segment(entry) if isinstance(entry, Batch | AnswerEntry) else None
    if segment is not None:
        segment.note_expanded()
    return True


def _find_foldable(
    entry: Entry, part: int | None
) -> Batch | Call | PromptEntry | AnswerEntry | Restoration | PanelEntry | None:
    match entry:
        case Batch() if part == cards.LOOKS:
            return entry
        case Batch() if part is not None:
            return entry.calls[part]
        case PromptEntry() | AnswerEntry() | Restoration() | PanelEntry() if part is not None:
            return entry
        case _:
            return None


def set_all_open(entries: Sequence[Entry], is_open: bool) -> None:
    """Unfold everything, or fold it."""
    for entry in entries:
        parts = (cards.LOOKS, *range(len(entry.calls))) if isinstance(entry, Batch) else range(1)
        for part in parts:
            set_open(entry, part, is_open)


def toggle_line(page: TranscriptLayout, line: int) -> bool:
    """Fold or unfold what a line belongs to; whether it belongs to anything of the kind.

    What is unfolded is folded at its first line alone: a click further down may be meant for the text.
    """
    if not 0 <= line < page.lines:
        return False
    place, offset = page.find_entry(line)
    target = page.get_drawing(place).targets[offset]
    entry = page.transcript.entries[place]
    foldable = _find_foldable(entry, target.place) if target is not None else None
    if target is None or foldable is None:
        return False
    if isinstance(foldable, Call) and target.fold is not None:
        foldable.toggled ^= {target.fold}
        entry.version += 1
        return True
    is_unfolded = cards.is_open(foldable) if isinstance(foldable, Batch) else foldable.expanded
    is_further_down = page.find_position(place, offset, 0).rank > 0
    return not (is_unfolded and is_further_down) and set_open(entry, target.place, not is_unfolded)


def unfold(page: TranscriptLayout, place: int, call: Call) -> int:
    """Unfold a call of the batch at this place; the line of its row, counted from the entry's first."""
    entry = page.transcript.entries[place]
    part = (
        next((n for n, each in enumerate(entry.calls) if each is call), None)
        if isinstance(entry, Batch)
        else None
    )
    set_open(entry, part, True)
    return page.find_first_line(place, part)


def find_output(page: TranscriptLayout, line: int) -> Call | None:
    """The call whose whole output a click on this line is meant to open, if it is such a line."""
    if not 0 <= line < page.lines:
        return None
    place, offset = page.find_entry(line)
    target = page.get_drawing(place).targets[offset]
    entry = page.transcript.entries[place]
    return entry.calls[target.place] if isinstance(entry, Batch) and target and target.opens else None


def find_latest_output(entries: Sequence[Entry], nth: int) -> Call | None:
    """The call with the nth latest output (1: the latest) that is stored or was printed by a command, or None
    where there are fewer."""
    batches = (entry for entry in reversed(entries) if isinstance(entry, Batch))
    opened = (call for batch in batches for call in reversed(batch.calls) if _is_worth_opening(call))
    return next(islice(opened, nth - 1, None), None)


def _is_worth_opening(call: Call) -> bool:
    has_printed = call.output is not None and call.output.lines > 0
    return call.stored is not None or (has_printed and find_kind(call) is OutputKind.TERMINAL)

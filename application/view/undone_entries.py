"""Which entries belong to turns that are undone, and so stay in sight without looking as if they counted."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from quorum.application.view.entries import Batch, Entry, Restoration


def mark_undone(entries: Sequence[Entry], begin: int) -> None:
    """Mark the entries from this place on, but for the restorations at the end: they are part of the undo."""
    end = len(entries)
    while end and isinstance(entries[end - 1], Restoration):
        end -= 1
    for entry in entries[begin:end]:
        if isinstance(entry, Batch) and entry.is_own:
            continue  # what the person ran themselves is not taken back
        _mark(entry, is_undone=True)


def mark_redone(entries: Sequence[Entry], begins: Sequence[int], turns: Collection[int]) -> None:
    """Have the entries of these turns count again. `begins` is the place of each turn's first entry."""
    for turn, begin in enumerate(begins):
        if turn in turns:
            end = begins[turn + 1] if turn + 1 < len(begins) else len(entries)
            for entry in entries[begin:end]:
                if entry.undone:
                    _mark(entry, is_undone=False)


def _mark(entry: Entry, *, is_undone: bool) -> None:
    entry.undone = is_undone
    entry.version += 1

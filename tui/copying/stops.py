"""What the person can go to in the transcript by keys: prompts, thoughts, answers and calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from quorum.application.view.entries import AnswerEntry, Batch, Call, Entry, PromptEntry, Restoration
from quorum.application.view.panel_entry import PanelEntry
from quorum.tui.copying.pieces import Piece, build_output_piece, find_code
from quorum.tui.transcript.draw.panels import render_panel


class CopyStop(NamedTuple):
    """A part of an entry, as `Target.place` names it; None: what no click folds."""

    entry: int
    part: int | None


def list_stops(entry: Entry, place: int) -> list[CopyStop]:
    """The stops within the entry at a place, from top to bottom."""
    match entry:
        case PromptEntry():
            return [CopyStop(place, None)]
        case AnswerEntry():
            thought = [CopyStop(place, 0)] if entry.reasoning else []
            return thought + ([CopyStop(place, None)] if entry.text.strip() else [])
        case Batch():
            return [CopyStop(place, part) for part in range(len(entry.calls))]
        case Restoration() | PanelEntry():
            return [CopyStop(place, 0)]
        case _:
            return []


def find_next_stop(entries: Sequence[Entry], stop: CopyStop, *, backwards: bool) -> CopyStop | None:
    """The stop after this one, or before it; None where there is none."""
    ways = range(stop.entry, -1, -1) if backwards else range(stop.entry, len(entries))
    for place in ways:
        stops = list_stops(entries[place], place)
        if place == stop.entry and stop in stops:
            at = stops.index(stop)
            stops = stops[:at] if backwards else stops[at + 1 :]
        elif place == stop.entry:
            continue
        if stops:
            return stops[-1 if backwards else 0]
    return None


def find_last_stop(entries: Sequence[Entry]) -> CopyStop | None:
    """The latest one."""
    places = range(len(entries) - 1, -1, -1)
    return next((stops[-1] for place in places if (stops := list_stops(entries[place], place))), None)


def find_call(entries: Sequence[Entry], stop: CopyStop) -> Call | None:
    """The call that is stopped at, if it is one."""
    entry = entries[stop.entry]
    return entry.calls[stop.part] if isinstance(entry, Batch) and stop.part is not None else None


def find_reviewing_panel(entries: Sequence[Entry], stop: CopyStop) -> PanelEntry | None:
    """The panel that is stopped at, if it has reviewed a change."""
    entry = entries[stop.entry]
    return entry if isinstance(entry, PanelEntry) and entry.result is not None else None


def build_piece(entries: Sequence[Entry], stop: CopyStop) -> Piece | None:
    """What is copied of it; None where there is nothing yet."""
    match entry := entries[stop.entry]:
        case PromptEntry():
            return Piece(entry.text, "the prompt")
        case AnswerEntry() if stop.part is None:
            return Piece(entry.text.strip("\n"), "the answer")
        case AnswerEntry():
            return Piece("".join(entry.reasoning).strip("\n"), "the thought")
        case Batch() if (call := find_call(entries, stop)) is not None and call.output is not None:
            return build_output_piece(call)
        case PanelEntry():
            return Piece(render_panel(entry), "the answers of the panel")
        case Restoration():
            return Piece("\n".join(change.path for change in entry.changes), "the restored files")
        case _:
            return None


def list_code(entries: Sequence[Entry], stop: CopyStop) -> list[Piece]:
    """The blocks of code in what is stopped at."""
    entry = entries[stop.entry]
    return find_code(entry.text) if isinstance(entry, AnswerEntry) and stop.part is None else []

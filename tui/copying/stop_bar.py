"""Going through the transcript by keys: what one can go to, and the line below the transcript meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Static

from quorum.application.view.entries import (
    AnswerEntry,
    Batch,
    Call,
    Entry,
    PanelEntry,
    PromptEntry,
    Restoration,
)
from quorum.tui.copying.copier import Piece, build_output_piece, find_code
from quorum.tui.keys.keyed_app import fill_in_keys
from quorum.tui.transcript.draw.panels import render_panel
from quorum.tui.transcript.layout.folds import set_open
from quorum.tui.transcript.layout.pane import Patch
from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout
from quorum.tui.transcript.layout.view import TranscriptView


class CopyStop(NamedTuple):
    """A part of an entry, as `Target.place` names it; None: what no click folds."""

    entry: int
    part: int | None


def list_stops(entry: Entry, place: int) -> list[CopyStop]:
    """The stops within the entry at a place, from top to bottom."""
    match entry:
        case PromptEntry():
            return [CopyStop(place, 0)]
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


_KEYS = "↑↓ move · {marked_enter=enter} %s · {marked_copy=c} copies"


class StopBar(Static, can_focus=True):
    """Marks one part of the transcript and acts on it. What is typed otherwise ends it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(True)", "Selected part: the one above", id="marked_above"),
        Binding("down,j", "move(False)", "Selected part: the one below", id="marked_below"),
        Binding("space", "fold", "Selected part: unfold or fold", id="marked_fold"),
        Binding("enter", "enter", "Selected part: as space; of a task: open its transcript", id="marked_enter"),
        Binding("c,y", "copy(0)", "Selected part: copy", id="marked_copy"),
        Binding("o", "open", "Selected part: open its full output, or its findings", id="marked_open"),
        Binding("escape", "close", "Selected part: back to the prompt", id="marked_close"),
        *(
            Binding(
                str(n), f"copy({n})", f"Marked part: copy block {n} of its code", show=False, id=f"marked_{n}"
            )
            for n in range(1, 10)
        ),
    ]
    DEFAULT_CSS = """
    StopBar {
        height: 1;
        padding: 0 1;
        background: $surface;
        color: $text-muted;
    }
    """

    class CopyingEnded(Message):
        """The person is done, and typed this, if anything."""

        def __init__(self, typed: str = "") -> None:
            super().__init__()
            self.typed = typed

    class Wanted(Message):
        """The person wants this piece copied."""

        def __init__(self, piece: Piece) -> None:
            super().__init__()
            self.piece = piece

    def __init__(self, view: TranscriptView) -> None:
        super().__init__(id="stop", markup=False)
        self._view = view
        self._style = view.get_component_rich_style("transcript--present-hit", partial=True)
        self._page = view.page
        self._stop = find_last_stop(view.entries)

    def on_mount(self) -> None:
        """The latest part is marked at first."""
        self.focus()
        self._show()

    # -- keys ---------------------------------------------------------------------------------------------

    def action_move(self, backwards: bool) -> None:
        """To the next part, or the one before."""
        if (stop := self._present()) is not None:
            self._stop = find_next_stop(self._view.entries, stop, backwards=backwards) or stop
            self._show()

    def action_fold(self) -> None:
        if (stop := self._present()) is not None:
            entry = self._view.entries[stop.entry]
            if not set_open(entry, stop.part, True):
                set_open(entry, stop.part, False)
            self._show()

    async def action_enter(self) -> None:
        """Open the transcript of the task; unfold or fold any other part."""
        stop = self._present()
        call = find_call(self._view.entries, stop) if stop is not None else None
        if call is not None and call.subagent is not None:
            await self.run_action(f"screen.show_subagent({call.subagent.session_id!r})")
        else:
            self.action_fold()

    def action_copy(self, block: int) -> None:
        """Copy the part, or one of the blocks of code in it, counted from 1 on."""
        if (stop := self._present()) is None:
            return
        blocks = list_code(self._view.entries, stop)
        piece = build_piece(self._view.entries, stop) if not block else None
        if 0 < block <= len(blocks):
            piece = blocks[block - 1]
        if piece is not None:
            self.post_message(self.Wanted(piece))

    async def action_open(self) -> None:
        """Read the whole output of the call, or the findings of the code review."""
        if (stop := self._present()) is None:
            return
        call = find_call(self._view.entries, stop)
        if call is not None and call.output is not None:
            self._view.post_message(TranscriptView.OutputWanted(call))
        elif (panel := find_reviewing_panel(self._view.entries, stop)) is not None:
            await self.run_action(f"screen.show_findings({panel.panel_id!r})")

    def action_close(self) -> None:
        """Back to the prompt; the transcript stays where it is."""
        self._close("")

    def on_key(self, event: events.Key) -> None:
        """Whoever types something else wants to write."""
        if event.is_printable and event.character and not self._is_bound(event):
            event.stop()
            self._close(event.character)

    def _is_bound(self, event: events.Key) -> bool:
        return event.key in self._bindings.key_to_bindings

    def _close(self, typed: str) -> None:
        self._view.show_patched(None)
        self.post_message(self.CopyingEnded(typed))

    # -- what is shown ------------------------------------------------------------------------------------

    def _present(self) -> CopyStop | None:
        """The marked part, unless it is gone with its page."""
        return self._stop if self._page is self._view.page else None

    def _show(self) -> None:
        stop = self._present()
        if stop is None or self._page is None:
            self.update("nothing to go to yet · esc closes")
            return
        if not self._page.has_width:
            self.call_after_refresh(self._show)
            return
        self._view.go_to(*self._find_row(self._page, stop))
        self._view.show_patched(self._list_patches)
        blocks = len(list_code(self._view.entries, stop))
        code = f" · 1–{min(blocks, 9)} its code" if blocks > 1 else " · 1 its code" if blocks else ""
        entries = self._view.entries
        call = find_call(entries, stop)
        output = " · {marked_open=o} opens" if call is not None and call.output is not None else ""
        output = " · {marked_open=o} findings" if find_reviewing_panel(entries, stop) is not None else output
        keys = _KEYS % ("its transcript" if call is not None and call.subagent is not None else "folds")
        self.update(fill_in_keys(f"{keys}{code}{output} · esc back", self.app))

    def _find_row(self, page: TranscriptLayout, stop: CopyStop) -> tuple[int, int]:
        entry = page.find_drawn(stop.entry)
        return entry, max(page.find_first_line(entry, stop.part), 1)

    def _list_patches(self, page: TranscriptLayout, height: int) -> Iterator[tuple[int, Patch]]:
        """The first line of the marked part stands out."""
        if (stop := self._present()) is not None and page is self._page:
            yield page.find_line(*self._find_row(page, stop)), Patch(0, -1, self._style)

"""Going through the transcript by keys, what can be copied of it as a whole, and every way there is to copy.

Answers, blocks of code in them, outputs and prompts are listed, the latest first. What is known of a copy is
told.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Static

from quorum.application.view.entries import (
    AnswerEntry,
    Batch,
    Call,
    Entry,
    Kept,
    PanelEntry,
    PromptEntry,
    Restoration,
)
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.text.amounts import format_amount, format_size
from quorum.domain.text.printable import SEQUENCE, make_printable
from quorum.tui.keys.keyed_app import fill_in_keys
from quorum.tui.transcript.draw.panels import render_panel
from quorum.tui.transcript.draw.rows import shorten_arguments
from quorum.tui.transcript.layout.folds import set_open
from quorum.tui.transcript.layout.pane import Patch
from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout
from quorum.tui.transcript.layout.view import TranscriptView
from quorum.tui.transcript.model.tokens import make_parser


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


KINDS = ("answer", "code", "output", "prompt")


@dataclass(frozen=True, slots=True)
class Piece:
    """A text, and in a few words what it is. Of an output that is stored, the call knows where all of it is."""

    text: str
    what: str
    call: Call | None = None


def list_pieces(entries: Sequence[Entry], kind: str) -> Iterator[Piece]:
    """All pieces of one of the KINDS, the latest first."""
    for entry in reversed(entries):
        match entry, kind:
            case AnswerEntry(), "answer" if text := entry.text.strip("\n"):
                yield Piece(text, "the answer")
            case AnswerEntry(), "code":
                yield from reversed(find_code(entry.text))
            case Batch(), "output":
                yield from (
                    build_output_piece(call) for call in reversed(entry.calls) if call.output is not None
                )
            case PromptEntry(), "prompt":
                yield Piece(entry.text, "the prompt")


def find_piece(entries: Sequence[Entry], kind: str, nth: int) -> Piece | None:
    """The nth latest piece of a kind (1: the latest), or None where there are fewer."""
    return next(islice(list_pieces(entries, kind), nth - 1, None), None)


def find_code(text: str) -> list[Piece]:
    """The blocks of code in Markdown, also those inside lists, without the indentation of these."""
    if "```" not in text and "~~~" not in text and "    " not in text:
        return []
    blocks = (token for token in make_parser().parse(text) if token.type in ("fence", "code_block"))
    return [
        Piece(block.content.removesuffix("\n"), block.info.strip().partition(" ")[0] or "code")
        for block in blocks
        if block.content.strip()
    ]


def build_output_piece(call: Call) -> Piece:
    return Piece(
        _get_kept_text(call.output),
        f"the output of {format_tool_name(call.tool)} {shorten_arguments(call)[0]}".strip(),
        call,
    )


def _get_kept_text(output: Kept | None) -> str:
    if output is None:
        return ""
    if not output.tail:
        return output.head
    return f"{output.head}\n… {format_amount(output.left_out_lines, 'line')} not kept here …\n{output.tail}"


_PATIENCE_SECS = 3.0
_SURE_BYTES = 74_000
"""What every terminal that knows the sequence takes; some ignore a longer one."""
MOST_BYTES = 1_000_000
"""Nothing longer is put into the sequence."""

_TERMS = ("xterm-kitty", "xterm-ghostty", "foot", "alacritty", "wezterm", "contour", "rio")
_VARIABLES = ("KITTY_WINDOW_ID", "WEZTERM_PANE", "GHOSTTY_RESOURCES_DIR", "WT_SESSION", "ALACRITTY_WINDOW_ID")


def make_pasteable(text: str) -> str:
    """The text without what would act where it is pasted: terminal sequences go, other controls become visible.

    Bidirectional and invisible characters become visible too. Tabs stay.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    text = SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return "\t".join(make_printable(part) for part in text.split("\t"))


def describe_extent(text: str) -> str:
    """How much it is: lines, or characters where it is one line."""
    lines = text.rstrip("\n").count("\n") + 1
    return format_amount(lines, "line") if lines > 1 else format_amount(len(text), "character")


async def copy(app: App[None], text: str, what: str, *, workspace: Path) -> str:
    """Copy the text; a sentence about `what` was copied, and about what is not known.

    The terminal is asked by OSC 52, which never answers; a clipboard program of this machine does.
    """
    text = make_pasteable(text)
    count = len(text.encode("utf-8", "replace"))
    way = choose_way(count, os.environ)
    extent = f"{describe_extent(text)} of {what}" if what else describe_extent(text)
    if way is not Way.REFUSED:
        app.copy_to_clipboard(text)
    command = find_clipboard_program(os.environ, workspace)
    if command is not None and await send_to_program(command, text):
        return f"copied {extent}"
    match way:
        case Way.SURE:
            return f"copied {extent}"
        case Way.MAYBE:
            return f"copied {extent} · by OSC 52, which not every terminal takes"
        case Way.TOO_LONG:
            return f"copied {extent} · {format_size(count)} by OSC 52: some terminals take no more than 74 kB"
        case Way.REFUSED:
            size = format_size(count)
            return f"not copied: {extent}, {size}: too much for a terminal, and no clipboard program works"


class Way(Enum):
    """What is known of a text that was handed to the terminal."""

    SURE = "taken"
    MAYBE = "not known"
    TOO_LONG = "too long to be known"
    REFUSED = "not sent"


def choose_way(size: int, environment: Mapping[str, str]) -> Way:
    """What becomes of so many bytes that are handed to the terminal of this environment."""
    if size > MOST_BYTES or environment.get("TERM") == "linux":
        return Way.REFUSED
    if size > _SURE_BYTES:
        return Way.TOO_LONG
    nested = any(name in environment for name in ("TMUX", "STY", "ZELLIJ"))
    known = environment.get("TERM", "").startswith(_TERMS) or any(name in environment for name in _VARIABLES)
    return Way.SURE if known and not nested else Way.MAYBE


def find_clipboard_program(environment: Mapping[str, str], workspace: Path) -> list[str] | None:
    """The command that takes a clipboard's new content; None where there is none that would reach the person.

    One in the workspace is none.

    Over SSH the programs of this machine would fill a clipboard that nobody sees, except tmux's, which hands
    on to the terminal it is shown in.
    """
    if environment.get("TMUX"):
        return _find_programs(environment, workspace, ["tmux", "load-buffer", "-w", "-"])
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return None
    if sys.platform == "darwin":
        return _find_programs(environment, workspace, ["pbcopy"])
    if environment.get("WAYLAND_DISPLAY") and (command := _find_programs(environment, workspace, ["wl-copy"])):
        return command
    if environment.get("DISPLAY"):
        return _find_programs(environment, workspace, ["xclip", "-selection", "clipboard"]) or _find_programs(
            environment, workspace, ["xsel", "--input", "--clipboard"]
        )
    return None


def _find_programs(environment: Mapping[str, str], workspace: Path, command: list[str]) -> list[str] | None:
    from quorum.application.program_lookup import find_program

    found = find_program(command[0], environment.get("PATH"), (str(workspace),))
    return [found, *command[1:]] if found else None


async def send_to_program(command: list[str], text: str) -> bool:
    """Give the text to a program; whether it took it within three seconds."""
    return await asyncio.to_thread(_run, command, text.encode("utf-8", "replace"))


def _run(command: list[str], given: bytes) -> bool:
    from quorum.application.program_lookup import filter_environment

    try:
        # Such programs stay behind to serve the clipboard, and must not hold on to anything of ours.
        ended = subprocess.run(
            command,
            input=given,
            env=filter_environment(os.environ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=_PATIENCE_SECS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0

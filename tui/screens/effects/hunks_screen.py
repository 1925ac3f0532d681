"""The hunks of one file in a review of effects, each of which can be left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen

from quorum.domain.text.printable import make_printable
from quorum.domain.text.unified_diff import parse_diff
from quorum.tui.screens.effects.draft import EffectsDraft
from quorum.tui.screens.rewind.file_plan_screen import DiffSheet
from quorum.tui.widgets.colours import QUIET
from quorum.tui.widgets.dialog_parts import ClosesItself, DialogFrame
from quorum.tui.widgets.line_list import LineList, Move

_KEYS = "{hunks_toggle=space} leave out, or take in · ↑↓ choose · esc back"


def split_hunks(diff: str) -> list[str]:
    """The hunks of a unified diff, each with its heading."""
    hunks: list[list[str]] = []
    for line, text in zip(parse_diff(diff), diff.removesuffix("\n").split("\n"), strict=True):
        if line.sign == "@":
            hunks.append([])
        if hunks:
            hunks[-1].append(text)
    return ["\n".join(hunk) + "\n" for hunk in hunks]


class HunksScreen(ClosesItself, ModalScreen[None]):
    """Lists the hunks of a file with the marked one below. What is left out is noted in the draft at once.
    `authors` says, for each hunk, whose it is, where a subagent and somebody else changed the file."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move('up')", "Up", id="hunks_up"),
        Binding("down,j", "move('down')", "Down", id="hunks_down"),
        Binding("pageup", "scroll(-1)", "Scroll the hunk", id="hunks_page_up"),
        Binding("pagedown", "scroll(1)", "Scroll the hunk", id="hunks_page_down"),
        Binding("space", "leave_out", "Leave the hunk out, or take it in", id="hunks_toggle"),
        Binding("escape,q,enter", "dismiss", "Back", id="hunks_leave"),
    ]
    DEFAULT_CSS = """
    HunksScreen {
        align: center middle;
        #hunks { height: 95%; }
        #list { margin-bottom: 1; max-height: 50%; }
    }
    """

    def __init__(self, path: str, diff: str, draft: EffectsDraft, authors: Sequence[str] = ()) -> None:
        super().__init__()
        self._authors = authors
        self._path, self._hunks, self._draft = path, split_hunks(diff), draft

    def compose(self) -> ComposeResult:
        """The hunks, and the marked one."""
        with DialogFrame(id="hunks") as box:
            box.border_title = Content(make_printable(f"Hunks of {self._path}", newlines=False))
            box.name_keys(_KEYS)
            yield LineList(id="list")
            yield DiffSheet()

    def on_mount(self) -> None:
        hunks = self.query_one("#list", LineList)
        hunks.styles.height = len(self._hunks)
        hunks.show(len(self._hunks), self._render_hunk)

    def _render_hunk(self, place: int, _width: int) -> Content:
        head, *lines = self._hunks[place].split("\n")
        added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        is_in = self._draft.is_hunk_in(self._path, place)
        counts = f"+{added:,} −{removed:,}"
        name = make_printable(head, newlines=False)
        counts += f"  {self._authors[place]}" if place < len(self._authors) else ""
        return Content.assemble(
            "[x] " if is_in else "[ ] ", (name, "" if is_in else QUIET), "  ", (counts, QUIET)
        )

    @on(LineList.Marked)
    def _show_hunk(self) -> None:
        if (place := self.query_one("#list", LineList).marked) is not None:
            self.query_one(DiffSheet).show(self._hunks[place])

    @on(LineList.LineClicked)
    def _toggle_clicked(self) -> None:
        self.action_leave_out()

    def action_move(self, how: Move) -> None:
        self.query_one("#list", LineList).move(how)

    def action_scroll(self, pages: int) -> None:
        """Scroll the marked hunk."""
        sheet = self.query_one(DiffSheet)
        sheet.scroll_relative(y=pages * max(1, sheet.size.height - 2), animate=False)

    def action_leave_out(self) -> None:
        """Leave the marked hunk out, or take it in again."""
        if (place := self.query_one("#list", LineList).marked) is not None:
            self._draft.toggle_hunk(self._path, place, len(self._hunks))
            self.query_one("#list", LineList).refresh()

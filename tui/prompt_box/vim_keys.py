"""Vim's modes in the prompt: keys that are commands do not reach the text area."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from quorum.tui.vim.editor import Edge, VimEditor, VimMode
from quorum.tui.vim.motions import Buffer

_OF_COMMANDS = frozenset({"escape", "left", "right", "backspace", "delete", "home", "end", "ctrl+r"})
"""The keys without a character that commands know. All others do what they do without Vim."""


class VimKeys:
    """Gives a text area Vim's modes. `on_mode` is called with each new one."""

    def __init__(self, area: TextArea, on_mode: Callable[[VimMode], None]) -> None:
        self._area = area
        self._on_mode = on_mode
        self._editor = VimEditor(area.app.copy_to_clipboard, lambda: area.app.clipboard)
        self._cursor: int | None = None
        on_mode(self._editor.mode)

    @property
    def inserts(self) -> bool:
        """Whether keys put text."""
        return self._editor.mode is VimMode.INSERT

    @property
    def is_commanded(self) -> bool:
        """Whether a key would begin a command, in normal mode."""
        return self._editor.mode is VimMode.NORMAL and not self._editor.pending

    @property
    def takes_escape(self) -> bool:
        """Whether Esc ends something here: insert mode, a selection, or a command that is not complete."""
        return self.inserts or self._editor.selects or bool(self._editor.pending)

    def start_over(self) -> None:
        """Insert again: the text was sent."""
        self._editor.start_over()
        self._cursor = None
        self._on_mode(self._editor.mode)

    def press(self, event: events.Key) -> bool | Edge:
        """Do what a key means to Vim; whether it means anything, or the edge of the text it would leave."""
        mode = self._editor.mode
        if mode is VimMode.INSERT:
            if event.key != "escape":
                return False
            self._show(self._editor.leave_insert(self._buffer))
        else:
            key = event.key if event.key in ("space", *_OF_COMMANDS) else event.character
            if key is None or not (event.is_printable or event.key in _OF_COMMANDS):
                return False
            after = self._editor.press(key, self._buffer)
            if isinstance(after, Edge):
                return after
            self._show(after)
        if self._editor.mode is not mode:
            self._on_mode(self._editor.mode)
        return True

    @property
    def _buffer(self) -> Buffer:
        """The text, and the cursor: while something is selected the text area has it one character further."""
        text = self._area.text
        if self._cursor is not None and self._editor.selects:
            return Buffer(text, min(self._cursor, len(text)))
        row, column = self._area.cursor_location
        start = 0
        for _ in range(row):
            start = text.index("\n", start) + 1
        return Buffer(text, start + column)

    def _show(self, buffer: Buffer) -> None:
        area, before = self._area, self._area.text
        if buffer.text != before:
            start, end_before, end_after = _find_difference(before, buffer.text)
            area.history.checkpoint()
            area.replace(
                buffer.text[start:end_after],
                _find_location(before, start),
                _find_location(before, end_before),
                maintain_selection_offset=False,
            )
            area.history.checkpoint()
        if self._editor.selects:
            self._cursor = buffer.cursor
            region = self._editor.get_selection(buffer)
            first, last = _find_location(buffer.text, region.start), _find_location(buffer.text, region.end)
            forward = buffer.cursor >= self._editor.anchor
            area.selection = Selection(first, last) if forward else Selection(last, first)
        else:
            self._cursor = None
            area.move_cursor(_find_location(buffer.text, buffer.cursor))


def _find_location(text: str, offset: int) -> tuple[int, int]:
    """The row and column of a character."""
    return text.count("\n", 0, offset), offset - (text.rfind("\n", 0, offset) + 1)


def _find_difference(before: str, after: str) -> tuple[int, int, int]:
    """From where two texts differ, and up to where in each."""
    start = 0
    shorter = min(len(before), len(after))
    while start < shorter and before[start] == after[start]:
        start += 1
    same = 0
    while same < shorter - start and before[-1 - same] == after[-1 - same]:
        same += 1
    return start, len(before) - same, len(after) - same

"""The prompt: where the person types. It grows with what is typed and brings back what was typed before."""

from __future__ import annotations

from typing import ClassVar, Protocol, cast

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding, BindingType
from textual.keys import Keys
from textual.message import Message
from textual.widgets import TextArea

from tui.prompt_box.paste import Folds, harmless

# Terminals without an extended keyboard protocol send Alt+Enter as Escape, Return, which would read as Enter.
# The table is a plain dict that its parser looks up; it is only typed as if it were not.
cast("dict[str, object]", ANSI_SEQUENCES_KEYS)["\x1b\r"] = (Keys.ControlJ,)

_NEW_LINE_KEYS = frozenset({"ctrl+j", "shift+enter", "alt+enter", "shift+\r", "alt+\r"})


class Memory(Protocol):
    """Where Up and Down find what to show."""

    def older(self, present: str) -> str | None:
        """What came before; `present` is what the prompt holds now."""
        ...

    def newer(self) -> str | None:
        """What came after."""
        ...

    def forget_place(self) -> None:
        """What was typed has been sent."""
        ...


class Prompt(TextArea):
    """A text area in which Enter sends. Posts `Submitted`; long pastes are folded and expanded on sending."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", show=False),
        Binding("ctrl+j,shift+enter,alt+enter", "new_line", "New line (or \\ and Enter)", show=False),
        Binding("up", "older", "Up; from the first line: earlier prompts", show=False),
        Binding("down", "newer", "Down; from the last line: later prompts", show=False),
        Binding("ctrl+d", "delete_or_leave", "Delete; in an empty prompt: quit", show=False),
        Binding("ctrl+underscore", "undo", "Undo", show=False),
        Binding("ctrl+z", "app.suspend_process", "Suspend", show=False),
    ]

    class Submitted(Message):
        """The person sent this text; it is not empty."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, memory: Memory, *, placeholder: str, id: str | None = None) -> None:
        super().__init__(
            id=id, placeholder=placeholder, compact=True, highlight_cursor_line=False, show_line_numbers=False
        )
        self.cursor_blink = False  # a blinking cursor would wake an idle program twice a second
        self._memory = memory
        self._folds = Folds()

    def put(self, text: str) -> None:
        """Show this text instead of what was typed, with the cursor at its end."""
        self._replace_all(harmless(text))

    def _replace_all(self, text: str) -> None:
        self.load_text(text)
        self.move_cursor(self.document.end)

    async def _on_key(self, event: events.Key) -> None:
        if event.key in _NEW_LINE_KEYS:
            event.prevent_default().stop()
            self.action_new_line()
        elif event.key == "enter":
            event.prevent_default().stop()
            self.action_submit()
        elif event.key == "question_mark" and not self.text:
            event.prevent_default().stop()
            await self.run_action("app.show_help")

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default().stop()
        if result := self._replace_via_keyboard(self._folds.fold(harmless(event.text)), *self.selection):
            self.move_cursor(result.end_location)

    def action_submit(self) -> None:
        """Send what is typed, or turn a backslash before the cursor into a new line."""
        row, column = self.cursor_location
        if column and self.document[row][column - 1] == "\\":
            self.replace("\n", (row, column - 1), (row, column))
            return
        text = self._folds.expand(self.text)
        if not text.strip():
            return
        self._folds.clear()
        self._memory.forget_place()
        self._replace_all("")
        self.post_message(self.Submitted(text))

    def action_new_line(self) -> None:
        """Begin a new line."""
        if result := self._replace_via_keyboard("\n", *self.selection):
            self.move_cursor(result.end_location)

    def action_older(self) -> None:
        """Go up a line, or at the first one to an earlier prompt."""
        if not self.navigator.is_first_wrapped_line(self.cursor_location):
            self.action_cursor_up()
        elif (text := self._memory.older(self.text)) is not None:
            self.put(text)

    def action_newer(self) -> None:
        """Go down a line, or at the last one to a later prompt."""
        if not self.navigator.is_last_wrapped_line(self.cursor_location):
            self.action_cursor_down()
        elif (text := self._memory.newer()) is not None:
            self.put(text)

    async def action_delete_or_leave(self) -> None:
        """Delete the character under the cursor; with nothing typed, ask to quit."""
        if self.text:
            self.action_delete_right()
        else:
            await self.run_action("app.end_of_input")

"""The line below the transcript in which the person types what to find."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import HorizontalGroup
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static

from quorum.tui.finding.finder import Finder
from quorum.tui.transcript.layout.view import TranscriptView
from quorum.tui.widgets.dialog_parts import LineInput

_AT_WORK_SECS = 1 / 200
_AT_REST_SECS = 1 / 4


class FindBar(HorizontalGroup):
    """Finds in a transcript while it is there. Posts `SearchEnded` when the person is done with it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,down", "find_next(False)", "Find: next match", priority=True, id="find_next"),
        Binding(
            "shift+enter,up,shift+f3",
            "find_next(True)",
            "Find: previous match",
            priority=True,
            id="find_previous",
        ),
        Binding("escape", "close", "Find: close", priority=True, id="find_close"),
    ]
    DEFAULT_CSS = """
    FindBar {
        height: 1;
        background: $surface;
        #find-sign, #find-status { width: auto; padding: 0 1; }
        #find-sign { color: $text-primary; text-style: bold; }
        #find-status { color: $text-muted; }
        #find-text {
            width: 1fr;
            height: 1;
            border: none;
            padding: 0;
            background: $surface;
        }
    }
    """

    class SearchEnded(Message):
        """The person is done; `text` is what they looked for last."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, view: TranscriptView, text: str) -> None:
        super().__init__(id="find")
        self._view = view
        self._input = LineInput(text, id="find-text", placeholder="find in the transcript")
        self._status = Static(id="find-status", markup=False)
        self._finder = Finder(
            view,
            view.get_component_rich_style("transcript--hit", partial=True),
            view.get_component_rich_style("transcript--present-hit", partial=True),
        )
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static("find", id="find-sign", markup=False)
        yield self._input
        yield self._status

    def on_mount(self) -> None:
        """Typing goes here from now on; what was looked for last is there to be typed over."""
        self.take_focus()
        self._look()

    def take_focus(self) -> None:
        """Have what is typed come here."""
        self._input.focus()
        self._input.select_all()

    @on(Input.Changed)
    def _on_changed(self, message: Input.Changed) -> None:
        message.stop()
        if message.value != self._finder.needle.text:
            self._look()

    def look_for(self, text: str) -> None:
        """Find this instead of what is typed."""
        self._input.value = text
        self.take_focus()

    def _look(self) -> None:
        self._finder.look_for(self._input.value)
        self._search_further()

    def _search_further(self) -> None:
        """Look further, often while there is more to look at; else now and then, for what is new."""
        complete = self._finder.search_further()
        self._tell()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_AT_REST_SECS if complete else _AT_WORK_SECS, self._search_further)

    def _tell(self) -> None:
        status = self._finder.status
        if status != str(self._status.content):
            self._status.update(status)

    def action_find_next(self, backwards: bool) -> None:
        """To the next place, or the one before."""
        self._finder.find_next(backwards=backwards)
        self._tell()

    def action_close(self) -> None:
        """Back to the prompt; the transcript stays where it is."""
        if self._timer is not None:
            self._timer.stop()
        self._finder.close()
        self.post_message(self.SearchEnded(self._input.value))

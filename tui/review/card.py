"""The card of a review: everything that is seen of it, at whatever size the screen has."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.containers import HorizontalGroup, VerticalGroup
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static, TextArea

from domain.review import ReviewRequest
from tui.review.text import Row, facts, fold, listed, short, substance
from tui.review.widgets import Choice, Rows
from tui.transcript.printable import printable

Stage: TypeAlias = Literal["choosing", "listing", "reasoning", "editing"]
"""What the person is about: the answers, the list of what else would be approved, a reason, an edit."""

_BESIDE_TEXT = 4 + 1  # border and padding, and the scroll bar
_EDITOR_LINES = 8


class ReviewCard(VerticalGroup):
    """Shows one request. What does not fit scrolls, and the number of lines out of sight is always told."""

    DEFAULT_CSS: ClassVar[str] = """
    ReviewCard {
        padding: 0 1;
        border: round $warning;
        border-title-style: bold;
        border-title-color: $text;
        border-subtitle-color: $text-muted;
        background: $surface;
        & > #more { height: 1; color: $text-warning; text-align: right; }
        & > #facts { margin-top: 1; }
        & > #reason, & > #editor { margin-top: 1; background: $panel; padding: 0 1; }
        & > #editor { height: auto; max-height: 8; scrollbar-size-vertical: 1; }
        & > #problem { color: $text-error; }
        & > #choices { margin-top: 1; }
        &.-tight > #facts { margin-top: 0; }
        &.-dead > #choices { text-style: dim; }
    }
    """

    class Covered(Message):
        """The card takes that many lines of the screen."""

        def __init__(self, lines: int) -> None:
            super().__init__()
            self.lines = lines

    def __init__(self, request: ReviewRequest) -> None:
        super().__init__(id="card")
        self._request = request
        self._digest = request.packet.digest
        self._full_digest = False
        self.stage: Stage = "choosing"

    def compose(self) -> ComposeResult:
        """All parts; the stage decides which of them are seen."""
        yield Rows(id="reading")
        yield Static(id="more", markup=False)
        yield Rows(id="facts")
        yield Input(placeholder="why not? the model reads it", id="reason", compact=True)
        yield TextArea(id="editor", compact=True, highlight_cursor_line=False)
        yield Static(id="problem", markup=False)
        yield HorizontalGroup(id="choices")

    def on_mount(self) -> None:
        """Title and cursors that keep still; follow the scrolling."""
        packet = self._request.packet
        again = "Review again" if self._request.stale else "Review"
        place = f"call {packet.context.call_index + 1} of {self._request.batch_size}"
        self.border_title = Content(f"{again} · {place} · {printable(packet.call.tool_name, newlines=False)}")
        self.query_one("#editor", TextArea).cursor_blink = False
        self.query_one("#reason", Input).cursor_blink = False
        self.watch(self.query_one("#reading", Rows), "scroll_y", self._tell_more, init=False)

    def on_resize(self, event: events.Resize) -> None:
        """Tell how much of the screen is covered now."""
        self.post_message(self.Covered(self.outer_size.height))

    async def enter(self, stage: Stage) -> None:
        """Show what belongs to a stage, with the focus on its most careful choice or its text."""
        self.stage = stage
        self.query_one("#reason").display = stage == "reasoning"
        self.query_one("#editor").display = stage == "editing"
        self.say("")
        choices = self.query_one("#choices", HorizontalGroup)
        await choices.remove_children()
        await choices.mount(*(Choice(*choice) for choice in self._choices()))
        self.lay_out()
        match stage:
            case "reasoning":
                self.query_one("#reason").focus()
            case "editing":
                self.query_one("#editor").focus()
            case "choosing" | "listing":
                choices.query(Choice).first().focus()

    def _choices(self) -> list[tuple[str, str, str]]:
        """Key, label and action of what can be done, the most careful first."""
        rest = ("A", f"approve these {1 + len(self._request.following)}", "list_rest")
        match self.stage:
            case "reasoning":
                return [("enter", "reject with this reason", "send_reason"), ("esc", "back", "back")]
            case "editing":
                return [("ctrl+s", "ask again with this", "submit_edit"), ("esc", "back", "back")]
            case "listing":
                return [("esc", "back", "back"), rest]
            case "choosing":
                return [
                    ("n", "reject", "reject"),
                    ("r", "reject with a reason", "reason"),
                    ("e", "edit", "edit"),
                    *([rest] if self._request.following else []),
                    ("y", "approve", "approve"),
                ]

    def lay_out(self) -> None:
        """Give each part its lines: the facts are pinned where they are few, and all else scrolls."""
        width, height = self.app.size
        inner, room = width - _BESIDE_TEXT, max(8, height - 2 - max(3, height // 4))
        rows, pinned = self._text(inner)
        if len(pinned) > room // 3:
            rows, pinned = [*pinned, (), *rows], []
        typing = {"reasoning": 2, "editing": 1 + _EDITOR_LINES}.get(self.stage, 0)
        lines = max(2, room - 4 - typing - (1 + len(pinned) if pinned else 0))
        tight = len(rows) > lines  # then the line that tells how much is out of sight parts text and facts
        self.set_class(tight, "-tight")
        shown = len(rows) if not tight else lines if pinned else lines - 1
        self.query_one("#reading", Rows).show(rows, height=shown)
        self.query_one("#facts", Rows).show(pinned, height=len(pinned))
        stops = "esc rejects and interrupts · " if self.stage == "choosing" else ""
        self.border_subtitle = Content(f"{stops}d packet {short(self._digest)}")
        self._tell_more()

    def _text(self, width: int) -> tuple[list[Row], list[Row]]:
        """What scrolls and what is pinned below it."""
        if self.stage == "listing":
            return listed(self._request, width), []
        rows = substance(self._request.packet, width)
        return rows, fold(facts(self._request, full_digest=self._full_digest), width)

    def _tell_more(self) -> None:
        reading, more = self.query_one("#reading", Rows), self.query_one("#more", Static)
        parts = [f"↑ {reading.above} above"] if reading.above else []
        parts += [f"↓ {reading.below} more lines"] if reading.below else []
        more.display = bool(parts)
        more.update(" · ".join(parts))

    def toggle_digest(self) -> None:
        """Show the packet's whole digest, or its ends."""
        self._full_digest = not self._full_digest
        self.lay_out()

    def say(self, problem: str) -> None:
        """Show what is wrong with what was typed; an empty text takes it away."""
        label = self.query_one("#problem", Static)
        label.display = bool(problem)
        label.update(problem)

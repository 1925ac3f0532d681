"""A card that asks yes or no about text which must be read first: keys are dead until it has been seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import VerticalGroup
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from quorum.tui.keys.keyboard_guard import CAME_TOO_EARLY, Guarded, KeyboardGuard
from quorum.tui.keys.keyed_app import READER, fill_in_keys
from quorum.tui.screens.review.choice_bar import ChoiceBar, ReviewOffer
from quorum.tui.screens.review.widgets import Cramped, Rows, fit_to_screen, is_cramped
from quorum.tui.transcript.kinds.rows import Line, LineKind, Row, clean_line, fold
from quorum.tui.widgets.dialog_parts import ClosesItself, SeeThroughScreen

_CHANGED = {"+": LineKind.GOOD, "-": LineKind.BAD}
_QUIET_SECS = 0.4
_WIDEST = 110
_BESIDE_TEXT = 4 + 1  # border and padding, and the scroll bar
_BESIDE_ROWS = 6  # border, what is out of sight, the gap and the choices, and a line of the chat


class QuestionFrame(VerticalGroup):
    """The box of a card."""

    class HeightChanged(Message):
        """It takes that many lines of the screen."""

        def __init__(self, lines: int) -> None:
            super().__init__()
            self.lines = lines

    def on_resize(self) -> None:
        """Tell how much of the screen is covered now."""
        self.post_message(self.HeightChanged(self.outer_size.height))


class QuestionCard(Guarded, ClosesItself, SeeThroughScreen[bool]):
    """Asks about `lines` at the lower end of the screen, with two choices, the careful one first. Every key but
    Esc and Ctrl+C is dead at first (KeyboardGuard).

    A subclass says what it is about and binds the actions `accept`, `refuse`, `scroll(N)` and `mark`. `clock`
    is the one that stamps keys.
    """

    AUTO_FOCUS = ""
    HEADING: ClassVar[str]
    REFUSE: ClassVar[tuple[str, str]]
    """The key of the careful choice, as `fill_in_keys` takes it, and the words of that choice."""
    ACCEPT: ClassVar[tuple[str, str]]
    """The same of the other choice."""
    ROWS: ClassVar[type[Rows]] = Rows
    """What draws the lines: one that also draws changes, where they may have some."""
    DEFAULT_CSS: ClassVar[str] = """
    QuestionCard {
        background: transparent;
        align: left bottom;
        & > #question {
            max-width: 110;
            padding: 0 1;
            border: round $warning;
            border-title-style: bold;
            border-title-color: $text;
            border-subtitle-color: $text-muted;
            background: $surface;
            margin-bottom: 1;
            & > #more { height: 1; color: $text-warning; text-align: right; }
            & > #choices { margin-top: 1; }
        }
    }
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._guard = KeyboardGuard(_QUIET_SECS)
        self._waking: Timer | None = None
        self._is_turned_to = False
        self._on_height: Callable[[int], None] | None = None

    def tell_height(self, on_height: Callable[[int], None]) -> None:
        """Call this with the number of lines that are covered, so that what is asked about stays in sight."""
        self._on_height = on_height

    @on(QuestionFrame.HeightChanged)
    def _tell_height(self, message: QuestionFrame.HeightChanged) -> None:
        if self._on_height is not None:
            self._on_height(message.lines + 1)

    def build_lines(self) -> Iterator[Line]:
        """Everything that the answer may depend on, each line of it safe to draw."""
        raise NotImplementedError

    def format_subtitle(self) -> str:
        """What stands in the lower border."""
        return ""

    def compose(self) -> ComposeResult:
        """What is asked, how much of it is out of sight, and the choices, the careful one first."""
        yield Cramped()
        with QuestionFrame(id="question") as card:
            self.cover = card
            card.border_title = Content(self.HEADING)
            card.border_subtitle = Content(fill_in_keys(self.format_subtitle(), self.app))
            yield self.ROWS(id="lines")
            yield Static(id="more", markup=False)
            yield ChoiceBar(id="choices")

    def on_mount(self) -> None:
        """Mark the careful choice; keys come alive a while after all of it is on the screen."""
        self._lay_out()
        self.watch(self._rows, "scroll_y", self._tell_more, init=False)
        bar = self.query_one(ChoiceBar)
        bar.show(self.list_choices(), marked=0)
        self.focus_first(bar)
        self.call_after_refresh(self.arm)

    @classmethod
    def list_choices(cls) -> list[ReviewOffer]:
        """The careful choice, and the other."""
        choices = ((cls.REFUSE, "refuse"), (cls.ACCEPT, "accept"))
        return [ReviewOffer(key, words, action, is_main=True) for (key, words), action in choices]

    def focus_first(self, choices: ChoiceBar) -> None:
        """Have Enter take the marked choice from the start."""
        choices.focus()

    def on_resize(self) -> None:
        """Fold everything to the new size; what has only now come into sight has to be read first."""
        if not self.children:  # it is being closed
            return
        self._lay_out()
        if fit_to_screen(self):
            self.arm()

    def show_anew(self) -> None:
        """Something else is asked about now: draw it, and have it read before it can be answered."""
        self._lay_out()
        self._rows.scroll_home(animate=False)
        self.arm()
        self.call_after_refresh(self.arm)

    # -- what is seen -------------------------------------------------------------------------------------

    @property
    def _text_width(self) -> int:
        """The cells that a line may take."""
        return min(self.app.size.width, _WIDEST) - _BESIDE_TEXT

    @property
    def lines_above_choices(self) -> int:
        """How many lines stand between the text and the choices, such as one to type into."""
        return 0

    @property
    def _rows(self) -> Rows:
        return self.query_one("#lines", Rows)

    @property
    def is_spoken(self) -> bool:
        """Whether words are to stand for signs."""
        return self.app.has_class(READER)

    def _lay_out(self) -> None:
        rows: list[Row] = fold(self.build_lines(), self._text_width)
        most = self.app.size.height - _BESIDE_ROWS - self.lines_above_choices
        self._rows.show(rows, height=max(1, min(len(rows), most)))
        self._tell_more()

    def _tell_more(self) -> None:
        rows, more = self._rows, self.query_one("#more", Static)
        parts = rows.describe_hidden()
        more.display = bool(parts)
        more.update(" · ".join(parts))

    # -- keys ---------------------------------------------------------------------------------------------

    def admits(self, event: events.Key) -> bool:
        """Whether a key may act now; the app asks before anything else sees it."""
        if is_cramped(self):
            return False
        alive = self._guard.admits(event.time)
        if not alive:
            self._show_dead()
        return alive

    def is_unread(self, event: events.Key) -> bool:
        """Whether what is asked had hardly come into sight."""
        return self._guard.is_unread(event.time)

    @property
    def asks_enter_twice(self) -> bool:
        """Whether Enter would take the careful choice although the person has not turned to the choices."""
        return not self._is_turned_to and bool(bars := self.query(ChoiceBar)) and bars.first().has_focus

    def show_notice(self) -> None:
        """Say what became of the last keys in the lower border; else what stands there."""
        for card in self.query("#question"):  # none is there yet while it opens
            card.border_subtitle = Content(fill_in_keys(self.notice or self.format_subtitle(), self.app))

    @property
    def is_awake(self) -> bool:
        """Whether the dialog has been painted and counts down to taking keys, or takes them."""
        return self._guard.is_started

    def arm(self) -> None:
        """Have the dead time begin anew: the choices are seen from now on."""
        self._guard.restart(self._clock())
        self._show_dead()

    def _show_dead(self) -> None:
        self.query_one("#choices").set_class(True, "-dead")
        if self._waking is not None:
            self._waking.stop()
        self._waking = self.set_timer(_QUIET_SECS, self.show_awake)

    def show_awake(self) -> None:
        """Draw the choices as ones that can be taken; dim ones cannot yet."""
        self.query_one("#choices").set_class(False, "-dead")
        if self.notice == CAME_TOO_EARLY:
            self.note("")
        self.show_notice()

    # -- answers ------------------------------------------------------------------------------------------

    def action_accept(self) -> None:
        """Agree to what was read."""
        self.dismiss(True)

    def action_refuse(self) -> None:
        """Continue without."""
        self.dismiss(False)

    def action_scroll(self, lines: int) -> None:
        self._rows.scroll_relative(y=lines, animate=False)

    def action_mark(self) -> None:
        self._is_turned_to = True
        self.query_one(ChoiceBar).mark(1)

    @on(ChoiceBar.Taken)
    async def _choose(self, message: ChoiceBar.Taken) -> None:
        message.stop()
        if message.clicked_at is None or self._guard.admits(message.clicked_at):
            await self.run_action(message.action)


def build_changed_lines(lines: Iterable[str]) -> Iterator[Line]:
    """The lines of a file of settings that go, after `-`, and that come, after `+`."""
    for text in lines:
        kind = _CHANGED.get(text[:1], LineKind.QUIET)
        yield Line(f"{text[:1]} ", clean_line(text[1:]), kind, kind, is_code=True)

"""The trust dialog: what a project's file wants, and the person's yes or not now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import HorizontalGroup, VerticalGroup
from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Static

from domain.sessions.trust import TrustQuestion
from domain.text.ages import with_tilde
from tui.keys.hints import with_keys
from tui.keys.keyboard_guard import CAME_TOO_EARLY, Guarded, KeyboardGuard
from tui.screens.review.cramped import Cramped, fit, is_cramped
from tui.screens.review.text.rows import Line, LineKind, Row, digest_in_short, fold, shown
from tui.screens.review.widgets import Choice, Rows
from tui.widgets.closing import ClosesItself

_QUIET_SECS = 0.4
_ALWAYS = frozenset({"escape", "ctrl+c"})
_WIDEST = 110
_BESIDE_TEXT = 4 + 1  # border and padding, and the scroll bar
_BESIDE_ROWS = 6  # border, what is out of sight, the gap and the choices, and a line of the chat
_EXPLANATION = (
    "Settings may start programs with your rights, let calls run without",
    "asking, and choose who can read your work. Instructions are put to the",
    "model as if they were yours. Until you trust them, only stricter",
    "settings apply. Trust covers the files as they are now, not the",
    "programs they name. They ask for:",
)


class TrustDialog(Guarded, ClosesItself, ModalScreen[bool]):
    """Asks whether to trust files of a project. Every key but Esc and Ctrl+C is dead at first (KeyboardGuard).

    `clock` is the one that stamps keys.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "trust", "Trust this file as it is now", id="trust_accept"),
        Binding("n,escape", "refuse", "Not now: only stricter settings apply", id="trust_refuse"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="trust_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="trust_down"),
        Binding("ctrl+up,shift+up", "scroll(-10)", "Scroll up by ten lines", show=False, id="trust_far_up"),
        Binding(
            "ctrl+down,shift+down", "scroll(10)", "Scroll down by ten lines", show=False, id="trust_far_down"
        ),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="trust_mark"),
    ]
    DEFAULT_CSS: ClassVar[str] = """
    TrustDialog {
        background: transparent;
        align: center middle;
        & > #trust {
            max-width: 110;
            padding: 0 1;
            border: round $warning;
            border-title-style: bold;
            border-title-color: $text;
            border-subtitle-color: $text-muted;
            background: $surface;
            & > #more { height: 1; color: $text-warning; text-align: right; }
            & > #choices { margin-top: 1; &.-dead { text-style: dim; } }
        }
    }
    """

    def __init__(self, question: TrustQuestion, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._question, self._clock = question, clock
        self._guard = KeyboardGuard(_QUIET_SECS)
        self._waking: Timer | None = None

    @property
    def question(self) -> TrustQuestion:
        """What is asked."""
        return self._question

    def compose(self) -> ComposeResult:
        """What is asked, how much of it is out of sight, and the choices, the careful one first."""
        yield Cramped()
        with VerticalGroup(id="trust") as card:
            card.border_title = Content("Trust this folder?")
            card.border_subtitle = self._digest
            yield Rows(id="wants")
            yield Static(id="more", markup=False)
            with HorizontalGroup(id="choices"):
                yield Choice(with_keys("{trust_refuse=n}", self.app), "not now", "refuse")
                yield Choice(with_keys("{trust_accept=y}", self.app), "trust it as it is now", "trust")

    @property
    def _digest(self) -> Content:
        return Content(f"sha256 {digest_in_short(self._question.digest)}")

    def on_mount(self) -> None:
        """Mark the careful choice; keys come alive a while after all of it is on the screen."""
        self._lay_out()
        self.watch(self._rows, "scroll_y", self._tell_more, init=False)
        self.query(Choice).first().focus()
        self.call_after_refresh(self.arm)

    def on_resize(self) -> None:
        """Fold everything to the new size; what has only now come into sight has to be read first."""
        self._lay_out()
        if fit(self):
            self.arm()

    # -- what is seen -------------------------------------------------------------------------------------

    @property
    def _rows(self) -> Rows:
        return self.query_one("#wants", Rows)

    def _lay_out(self) -> None:
        width, height = self.app.size
        rows: list[Row] = fold(_lines(self._question), min(width, _WIDEST) - _BESIDE_TEXT)
        self._rows.show(rows, height=max(2, min(len(rows), height - _BESIDE_ROWS)))
        self._tell_more()

    def _tell_more(self) -> None:
        rows, more = self._rows, self.query_one("#more", Static)
        parts = [f"↑ {rows.above} above"] if rows.above else []
        parts += [f"↓ {rows.below} more {'line' if rows.below == 1 else 'lines'}"] if rows.below else []
        more.display = bool(parts)
        more.update(" · ".join(parts))

    # -- keys ---------------------------------------------------------------------------------------------

    def admits(self, event: events.Key) -> bool:
        """Whether a key may act now; the app asks before anything else sees it."""
        if event.key in _ALWAYS:
            return True
        if is_cramped(self):
            return False
        alive = self._guard.admits_key(event)
        if not alive:
            self._show_dead()
            self.query_one("#trust").border_subtitle = Content(CAME_TOO_EARLY)
        return alive

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
        self.query_one("#trust").border_subtitle = self._digest

    # -- answers ------------------------------------------------------------------------------------------

    def action_trust(self) -> None:
        """Trust what was read."""
        self.dismiss(True)

    def action_refuse(self) -> None:
        """Go on without."""
        self.dismiss(False)

    def action_scroll(self, lines: int) -> None:
        """Scroll what the file wants."""
        self._rows.scroll_relative(y=lines, animate=False)

    def action_mark(self) -> None:
        """Mark the other choice."""
        next(choice for choice in self.query(Choice) if not choice.has_focus).focus()

    @on(Choice.Chosen)
    async def _choose(self, message: Choice.Chosen) -> None:
        message.stop()
        if message.clicked_at is None or self._guard.admits(message.clicked_at):
            await self.run_action(message.action)


def _lines(question: TrustQuestion) -> Iterator[Line]:
    """Everything the answer may depend on, each line of it safe to draw."""
    yield Line("folder  ", shown(with_tilde(question.folder)), LineKind.STRONG)
    for number, item in enumerate(question.items):
        yield Line("file    " if not number else "        ", shown(with_tilde(item.file)))
    yield Line("", "")
    for sentence in _EXPLANATION:
        yield Line("", sentence)
    for item in question.items:
        yield Line("", "")
        if len(question.items) > 1:
            yield Line("", shown(with_tilde(item.file)), LineKind.STRONG)
        if item.changed:
            yield Line("", "This file has changed since you trusted it.", LineKind.WARNING)
        for want in item.wants:
            yield Line("  ", shown(want))

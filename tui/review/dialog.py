"""The review dialog: what would run, why it is asked, and the person's answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input, TextArea

from domain.review import Approve, ApproveRest, Edit, Reject, RejectAndInterrupt, ReviewAnswer, ReviewRequest
from tui.review.card import ReviewCard, Stage
from tui.review.edit import NotEditable, editable, edited
from tui.review.keyboard_guard import Guarded, KeyboardGuard
from tui.review.widgets import Choice, Rows

_QUIET_SECS = 0.4
_ALWAYS = frozenset({"escape", "ctrl+c"})
_ACTIONS: dict[Stage, frozenset[str]] = {
    "choosing": frozenset(
        {"approve", "reject", "reason", "edit", "list_rest", "digest", "back", "scroll", "mark"}
    ),
    "listing": frozenset({"list_rest", "back", "scroll", "mark"}),
    "reasoning": frozenset({"back"}),
    "editing": frozenset({"submit_edit", "back"}),
}


class ReviewDialog(Guarded, ModalScreen[ReviewAnswer]):
    """Puts one request to the person. Every key but Esc and Ctrl+C is dead at first (see KeyboardGuard).

    `clock` is the one that stamps keys; `on_height` hears how many lines of the screen the dialog covers.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "approve", "Approve: run exactly this"),
        Binding("n", "reject", "Reject"),
        Binding("r", "reason", "Reject with a reason for the model"),
        Binding("e", "edit", "Edit, then be asked again"),
        Binding("ctrl+s,ctrl+enter", "submit_edit", "Send what was edited"),
        Binding("A", "list_rest", "Approve this and the listed calls"),
        Binding("d", "digest", "Show the packet's whole digest"),
        Binding("escape", "back", "Back, or reject and interrupt"),
        Binding("up", "scroll(-1)", "Scroll up", show=False),
        Binding("down", "scroll(1)", "Scroll down", show=False),
        Binding("ctrl+up,shift+up", "scroll(-10)", "Scroll up by ten lines", show=False),
        Binding("ctrl+down,shift+down", "scroll(10)", "Scroll down by ten lines", show=False),
        Binding("left,shift+tab", "mark(-1)", "Choice to the left", show=False),
        Binding("right,tab", "mark(1)", "Choice to the right", show=False),
    ]
    DEFAULT_CSS: ClassVar[str] = """
    ReviewDialog {
        background: transparent;
        align: center bottom;
        & > #card { margin-bottom: 1; }
    }
    """

    def __init__(
        self,
        request: ReviewRequest,
        *,
        clock: Callable[[], float] = time.monotonic,
        on_height: Callable[[int], None] = lambda _height: None,
    ) -> None:
        super().__init__()
        self._request = request
        self._clock, self._on_height = clock, on_height
        self._guard = KeyboardGuard(_QUIET_SECS)
        self._waking: Timer | None = None
        self._edits_command = False
        self._card = ReviewCard(request)

    def compose(self) -> ComposeResult:
        """The card, at the bottom."""
        yield self._card

    async def on_mount(self) -> None:
        """Show the choices; keys come alive a while after all of it is on the screen."""
        await self._card.enter("choosing")
        self.call_after_refresh(self._restart_guard)

    def on_resize(self) -> None:
        """Fold everything to the new size."""
        self._card.lay_out()

    @on(ReviewCard.Covered)
    def _tell_height(self, message: ReviewCard.Covered) -> None:
        self._on_height(message.lines + 1)

    # -- keys ---------------------------------------------------------------------------------------------

    def admits(self, event: events.Key) -> bool:
        """Whether a key may act now; the app asks before anything else sees it."""
        if event.key in _ALWAYS or self._card.stage in ("reasoning", "editing"):
            return True
        alive = self._guard.admits(event.time)
        if not alive:
            self._show_dead()
        return alive

    @property
    def is_awake(self) -> bool:
        """Whether the dialog has been painted and counts down to taking keys, or takes them."""
        return self._guard.is_started

    def _restart_guard(self) -> None:
        self._guard.restart(self._clock())
        self._show_dead()

    def _show_dead(self) -> None:
        self._card.add_class("-dead")
        if self._waking is not None:
            self._waking.stop()
        self._waking = self.set_timer(_QUIET_SECS, self.show_awake)

    def show_awake(self) -> None:
        """Draw the choices as ones that can be taken; dim ones cannot yet."""
        self._card.remove_class("-dead")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Letters are answers only where answers are offered."""
        known = frozenset().union(*_ACTIONS.values())
        if action == "list_rest" and not self._request.following:
            return False
        return action not in known or action in _ACTIONS[self._card.stage]

    # -- answers ------------------------------------------------------------------------------------------

    def action_approve(self) -> None:
        """Let exactly this packet run."""
        self.dismiss(Approve(self._request.packet.digest))

    def action_reject(self) -> None:
        """Do not let it run."""
        self.dismiss(Reject())

    async def action_reason(self) -> None:
        """Ask for the reason of a rejection."""
        await self._card.enter("reasoning")

    @on(Input.Submitted)
    def action_send_reason(self) -> None:
        """Reject with what was typed; with nothing typed, without a reason."""
        self.dismiss(Reject(self.query_one("#reason", Input).value.strip() or None))

    async def action_edit(self) -> None:
        """Let the person change what would run."""
        text, self._edits_command = editable(self._request.packet)
        self.query_one("#editor", TextArea).load_text(text)
        await self._card.enter("editing")

    def action_submit_edit(self) -> None:
        """Send the edited arguments, or say what is wrong with them."""
        text = self.query_one("#editor", TextArea).text
        try:
            arguments = edited(self._request.packet, text, is_command=self._edits_command)
        except NotEditable as problem:
            self._card.say(str(problem))
        else:
            self.dismiss(Edit(arguments))

    async def action_list_rest(self) -> None:
        """Show all that would be approved; chosen there, approve it."""
        if self._card.stage == "listing":
            self.dismiss(
                ApproveRest((self._request.packet.digest, *(p.digest for p in self._request.following)))
            )
            return
        await self._card.enter("listing")
        self._restart_guard()

    async def action_back(self) -> None:
        """Leave what was begun; where nothing was, reject and stop the turn."""
        if self._card.stage == "choosing":
            self.dismiss(RejectAndInterrupt())
            return
        await self._card.enter("choosing")
        self._restart_guard()

    def action_digest(self) -> None:
        """Show the whole digest, or hide it again."""
        self._card.toggle_digest()

    def action_scroll(self, lines: int) -> None:
        """Scroll what would run."""
        self.query_one("#reading", Rows).scroll_relative(y=lines, animate=False)

    def action_mark(self, step: int) -> None:
        """Mark the next choice or the one before."""
        choices = list(self.query(Choice))
        place = next((i for i, choice in enumerate(choices) if choice.has_focus), 0)
        choices[(place + step) % len(choices)].focus()

    @on(Choice.Chosen)
    async def _choose(self, message: Choice.Chosen) -> None:
        message.stop()
        if message.clicked_at is None or self._guard.admits(message.clicked_at):
            await self.run_action(message.action)

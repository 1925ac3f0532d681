"""A question that keeps its place on the screen: answered, it stays a moment for the next one."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.await_complete import AwaitComplete
from textual.timer import Timer

from quorum.domain.review.questions import ApproveRest, Edit, RejectAndInterrupt, ReviewAnswer, ReviewRequest
from quorum.tui.widgets.closing import ClosesItself
from quorum.tui.widgets.screen_behind import SeeThroughScreen

_PATIENCE_SECS = 0.3
"""How long it stays for the next question of the batch: longer than an edit takes."""

_MOVES = frozenset(
    ("enter", "space", "tab", "shift+tab", "up", "down", "left", "right", "pageup", "pagedown", "home", "end")
)
"""Keys of the choices, of which a late one may still be meant for the question that was there."""


def can_be_followed(request: ReviewRequest, answer: ReviewAnswer) -> bool:
    """Whether another question may come at once: of the same batch, or about the edited call."""
    is_last = request.packet.context.call_index + 1 >= request.batch_size
    return isinstance(answer, Edit) or not (is_last or isinstance(answer, ApproveRest | RejectAndInterrupt))


class KeepsPlace(ClosesItself, SeeThroughScreen[ReviewAnswer]):
    """Gives one answer for each request. `on_answer` is called with it, if there is one.

    A subclass says in `request` what is asked, and sleeps in `fall_asleep`.
    """

    def __init__(self, on_answer: Callable[[ReviewAnswer], None]) -> None:
        super().__init__()
        self._on_answer = on_answer
        self._is_answered = False
        self._patience: Timer | None = None

    @property
    def request(self) -> ReviewRequest:
        raise NotImplementedError

    def fall_asleep(self) -> None:
        """Take no key for an answer until the next request has been seen."""
        raise NotImplementedError

    @property
    def is_waiting(self) -> bool:
        """Whether it is answered and stays for the next request."""
        return self._patience is not None

    def dismiss(self, result: ReviewAnswer | None = None) -> AwaitComplete:
        """Give the answer, unless one was given; close, unless another request may follow at once."""
        if result is not None:
            if self._is_answered:
                return AwaitComplete()
            self._is_answered = True
            self.fall_asleep()
            self._on_answer(result)
            if can_be_followed(self.request, result):
                self._patience = self.set_timer(_PATIENCE_SECS, self._stop_waiting)
                return AwaitComplete()
        self._end_patience()
        return super().dismiss()

    def _stop_waiting(self) -> None:
        if self.is_waiting:  # else the next request came while the timer's event was on its way
            self.dismiss()

    def _end_patience(self) -> None:
        if self._patience is not None:
            self._patience.stop()
            self._patience = None

    def stay(self, on_answer: Callable[[ReviewAnswer], None]) -> None:
        """Be there for another request, whose answer goes to `on_answer`."""
        self._end_patience()
        self._closes_in_sight = None
        self._on_answer, self._is_answered = on_answer, False

    def gives_way(self, event: events.Event) -> bool:
        """Whether this is for the chat behind: after the answer, whatever neither types nor moves."""
        if not self.is_waiting:
            return False
        if isinstance(event, events.Key):
            return not event.is_printable and event.key not in _MOVES
        return isinstance(event, events.Paste)

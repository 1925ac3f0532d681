"""Opens decisions that wait in any session in the review dialog, and sends their answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from quorum.application.inbox.inbox import build_request, build_review_context
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.errors import QuorumError
from quorum.domain.review.questions import Approve, Reject, ReviewAnswer
from quorum.tui.screens.review.dialog import ReviewDialog

if TYPE_CHECKING:
    from quorum.application.inbox.inbox import Inbox
    from quorum.domain.sessions.waiting_review import WaitingReview


class InboxAnswers:
    """Answers what waits, for a screen that lists it. `on_sent` is given a sentence on what became of an
    answer; `clock` is the one that stamps keys."""

    def __init__(
        self,
        screen: Screen[Any],
        inbox: Inbox,
        on_sent: Callable[[str], Awaitable[None]],
        *,
        clock: Callable[[], float],
    ) -> None:
        self._screen, self._inbox, self._on_sent, self._clock = screen, inbox, on_sent, clock

    def open(self, review: WaitingReview) -> None:
        """Show a decision in the review dialog. Esc there leaves it to wait."""
        self._screen.app.push_screen(
            ReviewDialog(
                build_request(review),
                build_review_context(),
                on_answer=lambda answer: self._accept(review, answer),
                root=review.session.cwd,
                clock=self._clock,
            )
        )

    def _accept(self, review: WaitingReview, answer: ReviewAnswer) -> None:
        match answer:
            case Approve(digest) if digest == review.digest:
                self._send(review, approves=True, reason=None)
            case Reject(reason):
                self._send(review, approves=False, reason=reason)
            case _:
                return

    def _send(self, review: WaitingReview, *, approves: bool, reason: str | None) -> None:
        self._screen.run_worker(self._answer(review, approves=approves, reason=reason), group="answering")

    async def _answer(self, review: WaitingReview, *, approves: bool, reason: str | None) -> None:
        try:
            await self._inbox.answer(review.digest, approves=approves, reason=reason)
        except QuorumError as error:
            said = str(error)
        else:
            verb = "approved" if approves else "rejected"
            then = "its process takes the answer" if review.is_open else "it counts when the session is resumed"
            said = f"{verb}: {format_tool_name(review.packet.call.tool_name)}; {then}"
        await self._on_sent(said)

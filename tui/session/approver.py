"""The person in front of the screen, as the application asks them.

It is loaded before the first request, so each dialog is imported with the first question that needs it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from textual.app import App
from textual.screen import Screen

from quorum.application.ports.people import (
    PersonAnswer,
    Question,
    ReviewContext,
    ReviewQuestion,
    SandboxQuestion,
)
from quorum.domain.conversation.cost import SpendQuestion
from quorum.domain.mcp.server_question import ServerAddress, ServerAnswer, ServerForm
from quorum.domain.review.person_question import PersonQuestion, find_question
from quorum.domain.review.questions import Approve, RejectAndInterrupt, ReviewAnswer, ReviewRequest
from quorum.domain.sessions.trust import TrustQuestion
from quorum.tui.screens.review.earlier import EarlierAnswers

if TYPE_CHECKING:
    from quorum.tui.screens.question_card import QuestionCard
    from quorum.tui.screens.review.dialog import ReviewDialog

_Answer = TypeVar("_Answer")


class ReviewHost(Protocol):
    """The screen behind the dialog."""

    def begin_asking(self, tool: str = "") -> None:
        """There is a question, about a call of this tool if it names one; call for attention."""
        ...

    async def wait_until_in_front(self) -> None:
        """Wait until it can be seen: a question does not appear over another session."""
        ...

    def reserve_lines(self, lines: int) -> None:
        """The dialog covers that many lines from below; 0: none any more."""
        ...

    def shows_answer(self, text: str, lines: int) -> bool:
        """Whether the model's text stays in sight above a dialog that covers so many lines from below."""
        ...

    def end_asking(self, *, interrupts: bool) -> None:
        """The question is gone; `interrupts`: its answer was to stop the turn."""
        ...


class ScreenApprover:
    """Shows one question at a time, in the order they are asked; paths below `root` relative to it."""

    is_there = True

    def __init__(
        self, app: App[None], host: ReviewHost, *, root: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app, self._host, self._clock = app, host, clock
        self._root = root
        self._dialog: ReviewDialog | None = None
        self._name_of_dialog = f"review-{id(self)}"
        self._one_at_a_time = asyncio.Lock()
        self._earlier = EarlierAnswers()

    @staticmethod
    def warm_up() -> None:
        """Load what the first review needs: for a thread, once the model is asked."""
        import_module("quorum.tui.screens.review.dialog")

    async def ask(self, question: Question) -> PersonAnswer:
        """Show a question in its dialog. Cancelled, it takes the dialog off the screen."""
        match question:
            case ReviewQuestion(request, context):
                if (asked := find_question(request.packet.call)) is not None:
                    return await self._ask_person(asked, request.packet.digest)
                return await self._review(request, context)
            case TrustQuestion():
                from quorum.tui.screens.trust_dialog import TrustDialog

                return await self._confirm(lambda: TrustDialog(question, clock=self._clock))
            case SpendQuestion():
                from quorum.tui.screens.spend_dialog import SpendDialog

                return await self._confirm(lambda: SpendDialog(question, clock=self._clock))
            case ServerForm() | ServerAddress():
                return await self._answer_server(question)
            case SandboxQuestion(sandbox, call):
                from quorum.tui.screens.sandbox_offer import SandboxOfferDialog

                offer = SandboxOfferDialog(sandbox, call, clock=self._clock)
                accepts = await self._confirm(lambda: offer)
                return None if offer.is_put_off else accepts

    async def _review(self, request: ReviewRequest, review_context: ReviewContext) -> ReviewAnswer:
        async with self._one_at_a_time:
            answered: asyncio.Future[ReviewAnswer] = asyncio.get_running_loop().create_future()
            answer: ReviewAnswer | None = None
            self._host.begin_asking(request.packet.call.tool_name)
            try:
                await self._host.wait_until_in_front()
                self._show(request, review_context, lambda given: _resolve(answered, given))
                answer = await answered
                self._earlier.note(request, answer)
                return answer
            except asyncio.CancelledError:
                if self._dialog is not None:
                    self._take_down(self._dialog)
                raise
            finally:
                self._host.end_asking(interrupts=isinstance(answer, RejectAndInterrupt))

    def _show(
        self,
        request: ReviewRequest,
        review_context: ReviewContext,
        on_answer: Callable[[ReviewAnswer], None],
    ) -> None:
        """Show a request in the dialog, which is made once and then kept, on the screen or off it.

        Making it costs as much as drawing it several times. One that is closed, but not in sight yet, is left.
        """
        earlier = self._earlier.find_earlier(request)
        if (dialog := self._dialog) is not None:
            is_open = bool(self._find_stack(dialog))
            if dialog.is_waiting or not is_open:
                dialog.continue_with(request, review_context, earlier, on_answer)
                if not is_open:
                    self._app.push_screen(dialog)
                return
        self._release_dialog()
        from quorum.tui.screens.review.dialog import ReviewDialog

        self._dialog = ReviewDialog(
            request,
            review_context,
            on_answer=on_answer,
            earlier=earlier,
            root=self._root,
            clock=self._clock,
            on_height=self._host.reserve_lines,
            shows_answer=self._host.shows_answer,
        )
        self._app.install_screen(self._dialog, self._name_of_dialog)
        self._app.push_screen(self._dialog)

    async def close(self) -> None:
        """Let go of the dialog. Nothing can be asked any more."""
        dialog = self._release_dialog()
        if dialog is not None and not self._find_stack(dialog):
            await dialog.remove()

    def _release_dialog(self) -> ReviewDialog | None:
        """Leave it to Textual, which removes it when it is closed; Textual's own way needs it closed before."""
        self._app._installed_screens.pop(self._name_of_dialog, None)
        dialog, self._dialog = self._dialog, None
        return dialog

    async def _ask_person(self, question: PersonQuestion, digest: str) -> ReviewAnswer:
        from quorum.tui.screens.person_question_dialog import PersonQuestionDialog

        dialog = PersonQuestionDialog(question, digest, clock=self._clock)
        await self._confirm(lambda: dialog)
        return Approve(digest, reply=dialog.reply)

    async def _answer_server(self, question: ServerForm | ServerAddress) -> ServerAnswer:
        from quorum.tui.screens.server_dialogs import ServerAddressDialog, ServerFormDialog

        dialog: ServerFormDialog | ServerAddressDialog
        match question:
            case ServerForm():
                dialog = ServerFormDialog(question, clock=self._clock)
            case ServerAddress():
                dialog = ServerAddressDialog(question, clock=self._clock)
        await self._confirm(lambda: dialog)
        return dialog.answer

    async def _confirm(self, card: Callable[[], QuestionCard]) -> bool:
        async with self._one_at_a_time:
            answered: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            dialog = card()
            dialog.tell_height(self._host.reserve_lines)
            self._host.begin_asking()
            try:
                await self._host.wait_until_in_front()
                self._app.push_screen(dialog, lambda given: _resolve(answered, given))
                return await answered
            except asyncio.CancelledError:
                self._take_down(dialog)
                raise
            finally:
                self._host.reserve_lines(0)
                self._host.end_asking(interrupts=False)

    def _take_down(self, dialog: ReviewDialog | QuestionCard) -> None:
        """A screen is only dismissed from the top: what the person opened above it goes first."""
        stack = self._find_stack(dialog)
        if not stack:
            return
        if stack[-1] is self._app.screen:
            while self._app.screen is not dialog:
                self._app.pop_screen()
        dialog.dismiss()

    def _find_stack(self, dialog: ReviewDialog | QuestionCard) -> list[Screen[Any]]:
        """The screens among which it is, the one on top last; none where it is closed."""
        stacks = self._app._screen_stacks.values()  # those of other tabs too, of which Textual does not tell
        return next((stack for stack in stacks if dialog in stack), [])


def _resolve(answered: asyncio.Future[_Answer], given: _Answer | None) -> None:
    if given is not None and not answered.done():
        answered.set_result(given)

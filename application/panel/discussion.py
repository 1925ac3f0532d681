"""A discussion: parallel answers, anonymous reviews of each other, and a synthesis that says who said what.

It stands in the place of a model. What the person says goes to all participants, and what comes back as the
answer is the synthesis; so a turn, its record, its limits and its interruption are those of any session.
"""

from __future__ import annotations

from collections.abc import Sequence

from application.events.event_bus import EventBus
from application.identifiers import generate_id
from application.panel.discussion_text import render_answer_alone, render_synthesis
from application.panel.panel import MODERATOR, PARTICIPANTS, NoFormAnswer, Panel, PanelQuestion, ask_in_parallel
from application.panel.panel_forms import (
    MODERATOR_SYSTEM,
    REVIEWER_SYSTEM,
    make_review_form,
    make_synthesis_form,
    render_for_review,
    render_for_synthesis,
)
from application.ports.models import OnStreamEvent, ToolChoice
from domain.calls.tool import ToolResultMessage
from domain.conversation.history import Conversation, UserMessage
from domain.conversation.response import LlmResponse
from domain.conversation.stream import CompletedResponse, Delta, Error
from domain.errors import ConversationError, ProviderError, ProviderErrorKind
from domain.events.event import PanelConcluded, PanelReviewed, PanelStarted
from domain.panel.open_panel import OpenPanel
from domain.panel.panel_answer import PanelAnswer, label_participants
from domain.panel.peer_review import PeerReview, rank_answers
from domain.text.json_value import JsonObject


class Discussion:
    """Implements `LlmSession` over a panel. `moderator` and `models` are "provider/model"; `system` is what
    each participant is told beside the question.

    Where the process before this one ended in the middle, what it has on record is not asked for again.
    """

    def __init__(
        self,
        panel: Panel,
        *,
        conversation: Conversation,
        system: str,
        moderator: str,
        models: Sequence[str],
        events: EventBus,
    ) -> None:
        self._panel = panel
        self._conversation = conversation
        self._system = system
        self._moderator = moderator
        self._participants = label_participants(tuple(models))
        self._events = events

    @property
    def model(self) -> str:
        """The moderator, whose text is the answer."""
        return self._moderator

    async def send(self, content: str) -> LlmResponse:
        """Have a question discussed."""
        return await self.send_streaming(content, lambda _event: None)

    async def send_streaming(self, content: str, on_event: OnStreamEvent) -> LlmResponse:
        """Have a question discussed, telling what comes of it."""
        return await self.send_with_tools(content, (), on_event=on_event)

    async def send_with_tools(
        self,
        content: str | UserMessage | None,
        tools: Sequence[JsonObject],
        *,
        tool_choice: ToolChoice = "auto",
        max_output_tokens: int | None = None,
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Have a question discussed; None: the one that the conversation ends with. There are no tools.

        Raises ProviderError where no participant answers.
        """
        if content is not None:
            self._conversation.add_user(content)
        try:
            text = await self._discuss()
        except ProviderError as error:
            on_event(Error(error))
            raise
        response = LlmResponse.from_text(text, model=self._moderator)
        on_event(Delta(text))
        self._conversation.add_response(response)
        on_event(CompletedResponse(response))
        return response

    async def send_tool_results(
        self,
        results: Sequence[ToolResultMessage],
        *,
        tool_choice: ToolChoice = "auto",
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Never called: participants have no tools. Raises ConversationError."""
        raise ConversationError("a discussion has no calls that results could belong to")

    async def _discuss(self) -> str:
        said, question = self._find_question()
        panel = await self._open(said.sent_text)
        answers = await self._panel.gather_answers(
            panel.panel_id, self._participants, question, {each.label: each for each in panel.given}
        )
        given = [answer for answer in answers if answer.is_answer]
        if not given:
            raise ProviderError(_describe_failures(answers), kind=ProviderErrorKind.CONFIGURATION)
        reviews = await self._gather_reviews(panel, given)
        return await self._conclude(panel, given, reviews)

    def _find_question(self) -> tuple[UserMessage, PanelQuestion]:
        """The last thing that the person said, and what there was before it."""
        messages = self._conversation.messages
        place = next((n for n in reversed(range(len(messages))) if isinstance(messages[n], UserMessage)), None)
        said = messages[place] if place is not None else None
        if not isinstance(said, UserMessage):
            raise ConversationError("there is nothing to discuss: nothing was said yet")
        return said, PanelQuestion(system=self._system, said=said, before=messages[:place])

    async def _open(self, question: str) -> OpenPanel:
        """The panel on this question that was not concluded, or else a new one."""
        left = self._events.state.open_panel
        if left is not None and (left.question, left.participants) == (question, self._participants):
            return left
        panel = OpenPanel(panel_id=generate_id(), question=question, participants=self._participants)
        await self._events.announce(
            PanelStarted(
                panel_id=panel.panel_id,
                question=question,
                participants=self._participants,
                moderator=self._moderator,
            )
        )
        return panel

    async def _gather_reviews(self, panel: OpenPanel, answers: Sequence[PanelAnswer]) -> tuple[PeerReview, ...]:
        """What each participant that answered says of the other answers; nothing where there is only one."""
        if len(answers) < 2:
            return ()
        known = {review.label: review for review in panel.reviews}

        async def review(place: int) -> PeerReview:
            own = answers[place]
            others = (*answers[place + 1 :], *answers[:place])  # no answer is always the first to be read
            before = known.get(own.label)
            if before is not None and before.covers(other.label for other in others):
                return before
            given = await self._review(panel, own, others)
            await self._events.record(PanelReviewed(panel_id=panel.panel_id, review=given))
            return given

        return await ask_in_parallel(range(len(answers)), review)

    async def _review(self, panel: OpenPanel, own: PanelAnswer, others: Sequence[PanelAnswer]) -> PeerReview:
        try:
            reviews = await self._panel.ask_in_form(
                own.model,
                REVIEWER_SYSTEM,
                render_for_review(panel.panel_id, panel.question, others),
                make_review_form(others),
                role=PARTICIPANTS,
            )
        except NoFormAnswer as problem:
            return PeerReview(label=own.label, model=own.model, error=str(problem))
        return PeerReview(label=own.label, model=own.model, reviews=reviews)

    async def _conclude(
        self, panel: OpenPanel, answers: Sequence[PanelAnswer], reviews: Sequence[PeerReview]
    ) -> str:
        """The text of the synthesis; where there is none, the answer that the others think best of."""
        try:
            synthesis = await self._panel.ask_in_form(
                self._moderator,
                MODERATOR_SYSTEM,
                render_for_synthesis(panel.panel_id, panel.question, answers, reviews),
                make_synthesis_form(answers),
                role=MODERATOR,
            )
        except NoFormAnswer as problem:
            best = rank_answers([answer.label for answer in answers], reviews)[0]
            chosen = next(answer for answer in answers if answer.label == best.label)
            reason = f"{self._moderator} gave no synthesis: {problem}"
            await self._events.record(
                PanelConcluded(panel_id=panel.panel_id, synthesis=None, chosen=chosen.label, reason=reason)
            )
            return render_answer_alone(chosen, best, len(answers), reason)
        await self._events.record(PanelConcluded(panel_id=panel.panel_id, synthesis=synthesis))
        return render_synthesis(synthesis)


def _describe_failures(answers: Sequence[PanelAnswer]) -> str:
    reasons = "; ".join(f"{answer.model}: {answer.reason}" for answer in answers)
    return f"no participant answered: {reasons}"

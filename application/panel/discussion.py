"""A discussion: parallel answers, anonymous reviews of each other, and a synthesis that says who said what."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.application.panel.discussion_text import render_answer_alone, render_synthesis
from quorum.application.panel.panel import MODERATOR, NoFormAnswer, PanelQuestion
from quorum.application.panel.panel_forms import MODERATOR_SYSTEM, make_synthesis_form, render_for_synthesis
from quorum.application.panel.panel_session import PanelSession
from quorum.application.panel.peer_reviews import gather_reviewed_answers
from quorum.domain.events.event import PanelConcluded
from quorum.domain.panel.cost_estimate import PlannedRequests
from quorum.domain.panel.open_panel import OpenPanel, PanelConclusion
from quorum.domain.panel.panel_answer import PanelAnswer
from quorum.domain.panel.panel_form import PanelForm
from quorum.domain.panel.peer_review import PeerReview, rank_answers
from quorum.domain.panel.request_plans import QuestionSize, plan_reviewed_answers


class Discussion(PanelSession):
    """All participants answer and review each other; the moderator makes a synthesis, which is the answer."""

    form = PanelForm.DISCUSSION

    def _plan_requests(self, size: QuestionSize) -> tuple[PlannedRequests, ...]:
        return plan_reviewed_answers(size, self._participants, self._moderator, self._panel.longest_answer)

    async def _conclude_question(self, text: str, question: PanelQuestion) -> str:
        if (former := self._find_concluded(text)) is not None:
            return _render_concluded(*former)
        panel = await self._open(text, question)
        given, reviews = await gather_reviewed_answers(
            self._panel, self._events, panel, self._participants, question
        )
        return await self._synthesise(panel, given, reviews)

    async def _synthesise(
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


def _render_concluded(panel: OpenPanel, over: PanelConclusion) -> str:
    """The text of a discussion that is over, made of what is recorded of it."""
    if over.synthesis is not None:
        return render_synthesis(over.synthesis)
    best = rank_answers([answer.label for answer in panel.given], panel.reviews)[0]
    chosen = next(answer for answer in panel.given if answer.label == over.chosen)
    return render_answer_alone(chosen, best, len(panel.given), over.reason)

"""An ensemble: parallel answers, scored by each other; the best one stands, with what the others add to it."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.application.panel.discussion_text import render_best_answer
from quorum.application.panel.ensemble_forms import ADDITIONS_SYSTEM, make_additions_form, render_for_additions
from quorum.application.panel.panel import MODERATOR, NoFormAnswer, PanelQuestion
from quorum.application.panel.panel_session import NoPanelAnswer, PanelSession
from quorum.application.panel.peer_reviews import gather_reviewed_answers
from quorum.domain.events.event import PanelConcluded
from quorum.domain.panel.cost_estimate import PlannedRequests
from quorum.domain.panel.open_panel import OpenPanel, PanelConclusion
from quorum.domain.panel.panel_answer import PanelAnswer
from quorum.domain.panel.panel_form import PanelForm
from quorum.domain.panel.peer_review import PeerReview, RankedAnswer, rank_answers
from quorum.domain.panel.request_plans import QuestionSize, plan_reviewed_answers
from quorum.domain.panel.synthesis import Point

_FEWEST = 2


class Ensemble(PanelSession):
    """All participants answer and score each other's answers; the best answer stands, as it was written.

    What is answered here is the prompt; whatever else models can propose in a text is scored in the same way.
    """

    form = PanelForm.ENSEMBLE

    def _plan_requests(self, size: QuestionSize) -> tuple[PlannedRequests, ...]:
        return plan_reviewed_answers(size, self._participants, self._moderator, self._panel.longest_answer)

    async def _conclude_question(self, text: str, question: PanelQuestion) -> str:
        if len(self._participants) < _FEWEST:
            raise NoPanelAnswer("an ensemble needs two models or more in models.participants")
        if (former := self._find_concluded(text)) is not None:
            return _render_concluded(*former)
        panel = await self._open(text, question)
        given, reviews = await gather_reviewed_answers(
            self._panel, self._events, panel, self._participants, question
        )
        best = rank_answers([answer.label for answer in given], reviews)[0]
        return await self._complete(panel, given, reviews, best)

    async def _complete(
        self,
        panel: OpenPanel,
        answers: Sequence[PanelAnswer],
        reviews: Sequence[PeerReview],
        best: RankedAnswer,
    ) -> str:
        """The best answer with what the others add; without that where the moderator cannot tell."""
        chosen = next(answer for answer in answers if answer.label == best.label)
        others = [answer for answer in answers if answer.label != best.label]
        additions: tuple[Point, ...] = ()
        reason = ""
        if others:
            try:
                added = await self._panel.ask_in_form(
                    self._moderator,
                    ADDITIONS_SYSTEM,
                    render_for_additions(panel.panel_id, panel.question, chosen, others, reviews),
                    make_additions_form(others),
                    role=MODERATOR,
                )
            except NoFormAnswer as problem:
                reason = f"{self._moderator} did not say what the others add: {problem}"
            else:
                additions = added.points
                if added.left_out:
                    reason = f"some of what they add could not be read: {'; '.join(added.left_out)}"
        await self._events.record(
            PanelConcluded(
                panel_id=panel.panel_id,
                synthesis=None,
                chosen=chosen.label,
                reason=reason,
                additions=additions,
            )
        )
        return render_best_answer(chosen, best, len(answers), additions, reason)


def _render_concluded(panel: OpenPanel, over: PanelConclusion) -> str:
    """The text of an ensemble that is over, made of what is recorded of it."""
    best = rank_answers([answer.label for answer in panel.given], panel.reviews)[0]
    chosen = next(answer for answer in panel.given if answer.label == over.chosen)
    return render_best_answer(chosen, best, len(panel.given), over.additions, over.reason)

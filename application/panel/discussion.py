"""A discussion: parallel answers, anonymous reviews of each other, and a synthesis that says who said what.

Its result as Markdown names participants by their labels, as they know each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quorum.application.panel.panel import MODERATOR, NoFormAnswer, PanelQuestion
from quorum.application.panel.panel_forms import MODERATOR_SYSTEM, make_synthesis_form, render_for_synthesis
from quorum.application.panel.panel_session import PanelSession
from quorum.application.panel.participant_work import gather_reviewed_answers
from quorum.domain.events.event import PanelConcluded
from quorum.domain.panel.cost_estimate import PlannedRequests, QuestionSize, plan_reviewed_answers
from quorum.domain.panel.panel_answer import (
    OpenPanel,
    PanelAnswer,
    PanelConclusion,
    PanelForm,
    PeerReview,
    Point,
    RankedAnswer,
    Synthesis,
    rank_answers,
)
from quorum.domain.text.printable import put_in_one_line


def render_synthesis(synthesis: Synthesis) -> str:
    """What the answers agree on and where they differ, then the conclusion and the key points."""
    parts = []
    if synthesis.agreement:
        parts.append("\n".join(("**They agree**", "", *_render_points(synthesis.agreement))))
    if synthesis.disagreement:
        lines = ["**They differ**", ""]
        for each in synthesis.disagreement:
            lines.append(f"- {put_in_one_line(each.text)}")
            lines += [f"  - {_join_names(one.answers)}: {put_in_one_line(one.text)}" for one in each.claims]
        parts.append("\n".join(lines))
    parts.append(f"**Conclusion**\n\n{synthesis.conclusion}" if parts else synthesis.conclusion)
    if synthesis.key_points:
        parts.append("\n".join(("**Key points**", "", *_render_points(synthesis.key_points))))
    if synthesis.left_out:
        parts.append(render_left_out(synthesis.left_out))
    return "\n\n".join(parts)


def render_answer_alone(chosen: PanelAnswer, rank: RankedAnswer, answers: int, reason: str) -> str:
    """One answer that stands for all, and why."""
    why = _explain_choice(rank, answers)
    return f"{chosen.text}\n\n*This is answer {chosen.label} alone: {reason.rstrip('.')}; {why}.*"


def render_best_answer(
    chosen: PanelAnswer, rank: RankedAnswer, answers: int, additions: Sequence[Point], reason: str
) -> str:
    """The answer that stands, what the others add to it, and why it is this one; `reason` says why it is not
    known what they add."""
    parts = [chosen.text]
    if additions:
        parts.append("\n".join(("**What the others add**", "", *_render_points(additions))))
    unknown = f"; {reason.rstrip('.')}" if reason else ""
    parts.append(f"*This is answer {chosen.label}: {_explain_choice(rank, answers)}{unknown}.*")
    return "\n\n".join(parts)


def _explain_choice(rank: RankedAnswer, answers: int) -> str:
    if answers == 1:
        return "it is the only one"
    if rank.score is None:
        return "it is the first of those given, and no answer was reviewed"
    return f"the others score it best, {rank.score:.1f} of 10"


def _render_points(points: Sequence[Point]) -> Iterator[str]:
    return (f"- {put_in_one_line(point.text)} ({_join_names(point.answers)})" for point in points)


def _join_names(labels: Sequence[str]) -> str:
    return ", ".join(labels)


def render_left_out(problems: Sequence[str]) -> str:
    """What of an answer in fields could not be read."""
    return f"*Left out, as it could not be read: {put_in_one_line('; '.join(problems))}.*"


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

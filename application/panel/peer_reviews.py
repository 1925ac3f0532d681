"""Participants of a panel review each other's answers, without knowing who wrote them."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.application.events.event_bus import EventBus
from quorum.application.panel.panel import PARTICIPANTS, NoFormAnswer, Panel, PanelQuestion, ask_in_parallel
from quorum.application.panel.panel_forms import ANSWER_REVIEWS, ReviewQuestions
from quorum.application.panel.panel_session import report_no_answer
from quorum.domain.events.event import PanelReviewed
from quorum.domain.panel.open_panel import OpenPanel
from quorum.domain.panel.panel_answer import PanelAnswer, Participant
from quorum.domain.panel.peer_review import PeerReview


async def gather_reviewed_answers(
    engine: Panel,
    events: EventBus,
    panel: OpenPanel,
    participants: Sequence[Participant],
    question: PanelQuestion,
) -> tuple[list[PanelAnswer], tuple[PeerReview, ...]]:
    """The answers of those that give one, and what each of these says of the others.

    Raises NoPanelAnswer where nobody gives one.
    """
    known = {each.label: each for each in panel.given}
    answers = await engine.gather_answers(panel.panel_id, participants, question, known)
    given = [answer for answer in answers if answer.is_answer]
    if not given:
        raise report_no_answer(answers)
    return given, await gather_reviews(engine, events, panel, given)


async def gather_reviews(
    engine: Panel,
    events: EventBus,
    panel: OpenPanel,
    answers: Sequence[PanelAnswer],
    questions: ReviewQuestions = ANSWER_REVIEWS,
) -> tuple[PeerReview, ...]:
    """What each participant that answered says of the other answers; nothing where there is only one.

    Each is recorded as soon as it is there; those that the panel has already are not asked for again.
    """
    if len(answers) < 2:
        return ()
    known = {review.label: review for review in panel.reviews}

    async def review(place: int) -> PeerReview:
        own = answers[place]
        others = (*answers[place + 1 :], *answers[:place])  # no answer is always the first to be read
        before = known.get(own.label)
        if before is not None and before.covers(other.label for other in others):
            return before
        given = await _review(engine, panel, own, others, questions)
        await events.record(PanelReviewed(panel_id=panel.panel_id, review=given))
        return given

    return await ask_in_parallel(range(len(answers)), review)


async def _review(
    engine: Panel,
    panel: OpenPanel,
    own: PanelAnswer,
    others: Sequence[PanelAnswer],
    questions: ReviewQuestions,
) -> PeerReview:
    try:
        reviews = await engine.ask_in_form(
            own.model,
            questions.system,
            questions.render(panel.panel_id, panel.question, others),
            questions.make_form(others),
            role=PARTICIPANTS,
        )
    except NoFormAnswer as problem:
        return PeerReview(label=own.label, model=own.model, error=str(problem))
    return PeerReview(label=own.label, model=own.model, reviews=reviews)

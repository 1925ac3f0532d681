"""What participants of a panel do: look at the project, write a draft or an answer, and review each other.

Reviewers do not know who wrote what they review.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from quorum.application.event_bus import EventBus
from quorum.application.panel.panel import PARTICIPANTS, NoFormAnswer, Panel, PanelQuestion, ask_in_parallel
from quorum.application.panel.panel_forms import ANSWER_REVIEWS, ReviewQuestions
from quorum.application.panel.panel_session import PanelSession, report_no_answer
from quorum.application.ports.tools import AnswerTools
from quorum.application.ports.workspace import OpenTools
from quorum.application.structured_answer import AnswerForm
from quorum.domain.calls.execution import Outcome
from quorum.domain.conversation.response import Usage
from quorum.domain.events.event import AnswerProgressed, PanelAnswered, PanelReviewed, ReviewerLooked
from quorum.domain.panel.cost_estimate import PlannedRequests, QuestionSize
from quorum.domain.panel.panel_answer import AnswerStatus, OpenPanel, PanelAnswer, Participant, PeerReview
from quorum.domain.text.json_value import JsonObject


class ParticipantWork:
    """The work of the participant with this label. `usage` and `cost_usd` are of all its requests so far; the
    cost is None where that of any is not known."""

    def __init__(self, events: EventBus, panel_id: str, label: str) -> None:
        self._events = events
        self._panel_id = panel_id
        self._label = label
        self.usage = Usage()
        self.cost_usd: Decimal | None = Decimal(0)

    def add(self, usage: Usage, cost_usd: Decimal | None) -> None:
        """Count a request."""
        self.usage = self.usage + usage
        self.cost_usd = None if self.cost_usd is None or cost_usd is None else self.cost_usd + cost_usd

    def open_tools(self, open_tools: OpenTools | None) -> AnswerTools | None:
        """Tools that only look, each call of which is recorded and shown; None where there are none."""
        if open_tools is None:
            return None

        def note(tool: str, arguments: JsonObject, outcome: Outcome, characters: int) -> None:
            self._events.note(
                ReviewerLooked(
                    panel_id=self._panel_id,
                    label=self._label,
                    tool=tool,
                    arguments=arguments,
                    outcome=outcome,
                    characters=characters,
                )
            )
            named = arguments.get("path") or arguments.get("pattern") or ""
            self.show(f"{tool} {named}".strip())

        return open_tools(note)

    def show(self, text: str) -> None:
        self._events.show(
            AnswerProgressed(panel_id=self._panel_id, label=self._label, text=text, characters=len(text))
        )


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


class DraftPolicy(Struct, frozen=True, kw_only=True):
    """`open_tools` makes what a participant may look with, None for nothing; `timeout_secs` is how long it may
    take, looking included."""

    open_tools: OpenTools | None
    timeout_secs: float


class DraftRound:
    """Has the participants of a panel write. All of it takes as long as the slowest of them."""

    def __init__(self, engine: Panel, events: EventBus, policy: DraftPolicy) -> None:
        self._engine = engine
        self._events = events
        self._policy = policy

    async def gather(
        self,
        panel_id: str,
        participants: Sequence[Participant],
        question: PanelQuestion,
        form: AnswerForm[str],
        known: Mapping[str, PanelAnswer],
    ) -> tuple[PanelAnswer, ...]:
        """The drafts of those that write one; what fails is recorded as an answer that says so.

        Those that are `known`, by label, are not asked for again. Raises NoPanelAnswer where nobody writes one,
        and HookAborted where a hook ends the run.
        """

        async def write(participant: Participant) -> PanelAnswer:
            if (before := known.get(participant.label)) is not None:
                return before
            answer = await self._write(panel_id, participant, question, form)
            await self._events.record(PanelAnswered(panel_id=panel_id, answer=answer))
            return answer

        answers = await ask_in_parallel(participants, write)
        given = tuple(answer for answer in answers if answer.is_answer)
        if not given:
            raise report_no_answer(answers)
        return given

    async def _write(
        self, panel_id: str, participant: Participant, question: PanelQuestion, form: AnswerForm[str]
    ) -> PanelAnswer:
        began = asyncio.get_running_loop().time()
        work = ParticipantWork(self._events, panel_id, participant.label)
        status, text, reason = AnswerStatus.ANSWERED, "", ""
        try:
            text = await self._engine.ask_in_form(
                participant.model,
                question.system,
                question.said,
                form,
                role=PARTICIPANTS,
                conversation=question.open_conversation(),
                tools=work.open_tools(self._policy.open_tools),
                timeout_secs=self._policy.timeout_secs,
                on_usage=work.add,
            )
        except NoFormAnswer as problem:
            status, reason = problem.status, str(problem)
        return PanelAnswer(
            label=participant.label,
            model=participant.model,
            status=status,
            text=text,
            usage=work.usage,
            cost_usd=work.cost_usd,
            secs=round(asyncio.get_running_loop().time() - began, 3),
            reason=reason,
        )


class DraftingSession(PanelSession):
    """A panel whose participants look at the project and write, before a moderator or votes decide."""

    def __init__(
        self,
        panel: Panel,
        *,
        system: str,
        moderator: str,
        models: Sequence[str],
        events: EventBus,
        policy: DraftPolicy,
    ) -> None:
        super().__init__(panel, system=system, moderator=moderator, models=models, events=events)
        self._drafts = DraftRound(panel, events, policy)

    def _plan_requests(self, size: QuestionSize) -> tuple[PlannedRequests, ...]:
        """None: how often participants look at the project is not known beforehand."""
        return ()

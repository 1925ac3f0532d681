"""Participants look at the project, each on its own, and then write a text in a form: a plan, or a file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct

from quorum.application.events.event_bus import EventBus
from quorum.application.panel.panel import PARTICIPANTS, NoFormAnswer, Panel, PanelQuestion, ask_in_parallel
from quorum.application.panel.panel_session import PanelSession, report_no_answer
from quorum.application.panel.participant_work import ParticipantWork
from quorum.application.ports.changes import OpenTools
from quorum.application.structured_answer import AnswerForm
from quorum.domain.events.event import PanelAnswered
from quorum.domain.panel.cost_estimate import PlannedRequests
from quorum.domain.panel.panel_answer import AnswerStatus, PanelAnswer, Participant
from quorum.domain.panel.request_plans import QuestionSize


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

"""A debate: one model's answer, rounds of objections to it, rulings on each, and revisions of the answer.

Its result as Markdown names participants by their labels, as they know each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from quorum.application.event_bus import EventBus
from quorum.application.panel.debate_forms import (
    DEFENDER_SYSTEM,
    REVISER_SYSTEM,
    RULING_SYSTEM,
    make_defence_form,
    make_objections_form,
    make_revision_form,
    make_rulings_form,
    render_for_defence,
    render_for_objections,
    render_for_revision,
    render_for_rulings,
    render_objector_system,
)
from quorum.application.panel.panel import (
    MODERATOR,
    PARTICIPANTS,
    NoFormAnswer,
    Panel,
    PanelQuestion,
    ask_in_parallel,
)
from quorum.application.panel.panel_session import NoPanelAnswer, PanelSession, report_no_answer
from quorum.domain.events.event import (
    AnswerDefended,
    AnswerRevised,
    ObjectionsRaised,
    ObjectionsRuled,
    PanelConcluded,
)
from quorum.domain.panel.cost_estimate import PlannedRequests, QuestionSize, plan_debate
from quorum.domain.panel.debate_record import (
    AnswerDefence,
    DebateObjection,
    DebatePolicy,
    DebateRecord,
    ObjectionRuling,
    RaisedObjections,
    RevisedAnswer,
    RoundRulings,
)
from quorum.domain.panel.panel_answer import OpenPanel, PanelAnswer, PanelConclusion, PanelForm, Participant
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import put_in_one_line


def render_debate(opening: PanelAnswer, record: DebateRecord, notices: Sequence[str]) -> str:
    """What stays open and is for the person to decide, then the answer, and what became of the objections."""
    parts = []
    if open_ := record.select(ObjectionRuling.OPEN):
        lines = ["**Open, for you to decide**", "", *_render_objections(open_, record)]
        parts += ["\n".join(lines), "**Answer**"]
    parts.append(record.find_answer(opening.text))
    settled = (
        ("Upheld, and the answer was revised" if _is_revised(record) else "Upheld", ObjectionRuling.UPHELD),
        ("Refuted", ObjectionRuling.REFUTED),
    )
    for title, ruling in settled:
        if objections := record.select(ruling):
            parts.append("\n".join((f"**{title}**", "", *_render_objections(objections, record))))
    facts = [
        f"This is the answer of {opening.label} after {format_amount(record.round, 'round')} of objections"
    ]
    facts += (
        ["" if record.objections else "nobody objected to it"]
        if any(not r.error for r in record.raised)
        else []
    )
    if record.revisions and record.revisions[-1].round == record.round and not record.revisions[-1].error:
        facts.append("nobody has looked at it since it was revised for the last time")
    facts += [notice.rstrip(".") for notice in notices]
    parts.append(f"*{'; '.join(filter(None, facts))}.*")
    return "\n\n".join(parts)


def _is_revised(record: DebateRecord) -> bool:
    return any(not each.error for each in record.revisions)


def _render_objections(objections: Sequence[DebateObjection], record: DebateRecord) -> list[str]:
    lines = []
    for each in objections:
        lines.append(f"- {each.id} ({each.label}, {each.severity.value}): {put_in_one_line(each.claim)}")
        lines.append(f"  - Evidence: {put_in_one_line(each.evidence)}")
        if (response := record.find_response(each.id)) is not None:
            how = "concedes" if response.is_conceded else "contests"
            lines.append(f"  - The answer's side {how}: {put_in_one_line(response.text)}")
        if (ruled := record.find_ruling(each.id)) is not None:
            lines.append(f"  - Ruling: {put_in_one_line(ruled.reason)}")
    return lines


FEWEST_DEBATERS = 2
"""How many models a debate takes at least."""

TOO_FEW_DEBATERS = (
    "a debate needs two models or more: name them in debate.models or models.participants, or with "
    "-m participants=MODEL for each"
)
"""What is said where there are fewer."""


class _Floor(Struct, frozen=True):
    """A debate at work: the first answer, and those that may object to it."""

    panel: OpenPanel
    opening: PanelAnswer
    objectors: tuple[Participant, ...]


class Debate(PanelSession):
    """The first participant that can be had answers, others object, the moderator rules on each objection, and
    the answer is revised for those that are upheld. What stays open is for the person to decide.

    All that is said is recorded as it comes, also that somebody said nothing, and is not asked for again.
    """

    form = PanelForm.DEBATE

    def __init__(
        self,
        panel: Panel,
        *,
        system: str,
        moderator: str,
        models: Sequence[str],
        events: EventBus,
        policy: DebatePolicy | None = None,
    ) -> None:
        super().__init__(panel, system=system, moderator=moderator, models=models, events=events)
        self._policy = policy or DebatePolicy()

    def _plan_requests(self, size: QuestionSize) -> tuple[PlannedRequests, ...]:
        return plan_debate(
            size,
            self._participants,
            self._moderator,
            self._panel.longest_answer,
            rounds=self._policy.max_rounds,
            all_object=self._policy.allow_interjection,
        )

    async def _conclude_question(self, text: str, question: PanelQuestion) -> str:
        if len(self._participants) < FEWEST_DEBATERS:
            raise NoPanelAnswer(TOO_FEW_DEBATERS)
        if (former := self._find_concluded(text)) is not None:
            return _render_concluded(*former)
        floor = await self._hear_answer(await self._open(text, question), question)
        record, notices = floor.panel.debate, list[str]()
        for number in range(1, self._policy.max_rounds + 1):
            record, goes_on = await self._hold_round(floor, record, number, notices)
            if not goes_on:
                break
        if self._moderator in (each.model for each in self._participants):
            notices.append(f"the moderator, {self._moderator}, takes part as well")
        await self._events.record(
            PanelConcluded(
                panel_id=floor.panel.panel_id,
                synthesis=None,
                chosen=floor.opening.label,
                reason="; ".join(notices),
            )
        )
        return render_debate(floor.opening, record, notices)

    async def _hear_answer(self, panel: OpenPanel, question: PanelQuestion) -> _Floor:
        """The answer of the first participant that gives one. Those that gave none are out of the debate.

        Raises NoPanelAnswer where none does.
        """
        answers: list[PanelAnswer] = []
        # Before anybody answered those that failed are asked again; afterwards their failure stands.
        known = {each.label: each for each in (panel.answers if panel.given else ())}
        for place, participant in enumerate(self._participants):
            (answer,) = await self._panel.gather_answers(panel.panel_id, (participant,), question, known)
            answers.append(answer)
            if answer.is_answer:
                return _Floor(panel, answer, self._participants[place + 1 :])
        raise report_no_answer(answers)

    async def _hold_round(
        self, floor: _Floor, record: DebateRecord, number: int, notices: list[str]
    ) -> tuple[DebateRecord, bool]:
        """The record after a round, and whether there is to be another one."""
        record, has_objector = await self._gather_objections(floor, record, number)
        if not has_objector:
            failed = [each for each in record.raised if each.round == number]
            reasons = "; ".join(f"{each.label}: {each.error}" for each in failed)
            notices.append(f"nobody could object in round {number}: {reasons or 'no other model is left'}")
            return record, False
        if not any(each.round == number for each in record.objections):
            return record, False
        due = record.list_due(number)
        record = await self._gather_defence(floor, record, number, due)
        record, failure = await self._gather_rulings(floor, record, number, due)
        if failure:
            notices.append(f"{self._moderator} ruled on nothing in round {number}: {failure}")
            return record, False
        upheld = [
            each
            for each in due
            if (ruled := record.find_ruling(each.id)) is not None and ruled.ruling is ObjectionRuling.UPHELD
        ]
        if upheld:
            record, failure = await self._gather_revision(floor, record, number, upheld)
            if failure:
                notices.append(f"the answer was not revised in round {number}: {failure}")
        return record, record.needs_round_after(number, self._policy.intensity)

    async def _gather_objections(
        self, floor: _Floor, record: DebateRecord, number: int
    ) -> tuple[DebateRecord, bool]:
        """What is objected to, and whether anybody could say so. Where one model objects, another one takes its
        place if it cannot."""
        answer = record.find_answer(floor.opening.text)

        async def ask(objector: Participant) -> RaisedObjections:
            if (before := record.find_raised(number, objector.label)) is not None:
                return before
            said = await self._raise_objections(floor, record, number, objector, answer)
            await self._events.record(ObjectionsRaised(panel_id=floor.panel.panel_id, raised=said))
            return said

        said: list[RaisedObjections] = []
        if self._policy.allow_interjection:
            said += await ask_in_parallel(floor.objectors, ask)
        else:
            for objector in floor.objectors:
                said.append(await ask(objector))
                if not said[-1].error:
                    break
        for each in said:
            if record.find_raised(number, each.label) is None:
                record = record.add(each)
        return record, any(not each.error for each in said)

    async def _raise_objections(
        self, floor: _Floor, record: DebateRecord, number: int, objector: Participant, answer: str
    ) -> RaisedObjections:
        try:
            return await self._panel.ask_in_form(
                objector.model,
                render_objector_system(self._policy.intensity),
                render_for_objections(floor.panel.panel_id, floor.panel.question, answer, record),
                make_objections_form(number, objector.label),
                role=PARTICIPANTS,
            )
        except NoFormAnswer as problem:
            return RaisedObjections(round=number, label=objector.label, error=str(problem))

    async def _gather_defence(
        self, floor: _Floor, record: DebateRecord, number: int, due: Sequence[DebateObjection]
    ) -> DebateRecord:
        """The responses to these objections; where there are none, they are ruled on without."""
        if any(each.round == number for each in record.defences):
            return record
        label = floor.opening.label
        try:
            responses = await self._panel.ask_in_form(
                floor.opening.model,
                DEFENDER_SYSTEM,
                self._render(render_for_defence, floor, record, due),
                make_defence_form(due),
                role=PARTICIPANTS,
            )
            defence = AnswerDefence(round=number, label=label, responses=responses)
        except NoFormAnswer as problem:
            defence = AnswerDefence(round=number, label=label, error=str(problem))
        await self._events.record(AnswerDefended(panel_id=floor.panel.panel_id, defence=defence))
        return record.add(defence)

    async def _gather_rulings(
        self, floor: _Floor, record: DebateRecord, number: int, due: Sequence[DebateObjection]
    ) -> tuple[DebateRecord, str]:
        """What is ruled on these objections, and why on none. What nobody rules on stays open."""
        if (before := next((each for each in record.rulings if each.round == number), None)) is not None:
            return record, before.error
        try:
            rulings = await self._panel.ask_in_form(
                self._moderator,
                RULING_SYSTEM,
                self._render(render_for_rulings, floor, record, due),
                make_rulings_form(due),
                role=MODERATOR,
            )
            ruled = RoundRulings(round=number, rulings=rulings)
        except NoFormAnswer as problem:
            ruled = RoundRulings(round=number, error=str(problem))
        await self._events.record(ObjectionsRuled(panel_id=floor.panel.panel_id, ruled=ruled))
        return record.add(ruled), ruled.error

    async def _gather_revision(
        self, floor: _Floor, record: DebateRecord, number: int, upheld: Sequence[DebateObjection]
    ) -> tuple[DebateRecord, str]:
        """The answer written anew for these objections, and why it is not."""
        if (before := next((each for each in record.revisions if each.round == number), None)) is not None:
            return record, before.error
        label = floor.opening.label
        try:
            text = await self._panel.ask_in_form(
                floor.opening.model,
                REVISER_SYSTEM,
                self._render(render_for_revision, floor, record, upheld),
                make_revision_form(),
                role=PARTICIPANTS,
            )
            revised = RevisedAnswer(round=number, label=label, text=text)
        except NoFormAnswer as problem:
            revised = RevisedAnswer(round=number, label=label, error=str(problem))
        await self._events.record(AnswerRevised(panel_id=floor.panel.panel_id, revised=revised))
        return record.add(revised), revised.error

    def _render(
        self,
        render: Callable[[str, str, str, DebateRecord, Sequence[DebateObjection]], str],
        floor: _Floor,
        record: DebateRecord,
        objections: Sequence[DebateObjection],
    ) -> str:
        answer = record.find_answer(floor.opening.text)
        return render(floor.panel.panel_id, floor.panel.question, answer, record, objections)


def _render_concluded(panel: OpenPanel, over: PanelConclusion) -> str:
    """The text of a debate that is over, made of what is recorded of it."""
    opening = next(answer for answer in panel.given if answer.label == over.chosen)
    return render_debate(opening, panel.debate, [over.reason] if over.reason else [])

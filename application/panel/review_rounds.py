"""The rounds of a code review: every reviewer says what it finds, then each finding is tried by another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from quorum.application.events.event_bus import EventBus
from quorum.application.panel.code_review_forms import (
    digest_question,
    make_report_form,
    make_trial_form,
    render_part_question,
    render_reviewer_system,
    render_trial_question,
    render_trier_system,
)
from quorum.application.panel.code_review_text import render_reviewer_answer
from quorum.application.panel.panel import NoFormAnswer, Panel, ask_in_parallel
from quorum.application.panel.participant_work import ParticipantWork
from quorum.application.ports.changes import OpenTools
from quorum.domain.code_review.change import Change
from quorum.domain.code_review.finding import CodeFinding, Trial, merge_findings, sort_findings
from quorum.domain.code_review.parts import DiffPart
from quorum.domain.code_review.review_result import PartReview
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import FindingsTried, PanelAnswered, PartReviewed
from quorum.domain.panel.open_panel import OpenPanel
from quorum.domain.panel.panel_answer import AnswerStatus, PanelAnswer, Participant
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Vote
from quorum.domain.review.lens import Lens
from quorum.domain.text.amounts import format_amount

_REVIEW = "review"
_AT_ONCE = 3  # questions to one reviewer: more run into the limits of providers
_FINDINGS_PER_TRIAL = 10


class ReviewTask(Struct, frozen=True, kw_only=True):
    """What the questions of one review are made of."""

    panel: OpenPanel
    change: Change
    parts: tuple[DiffPart, ...]
    focus: str
    open_tools: OpenTools | None


class ReviewRounds:
    """Asks the reviewers. What they say is recorded as it arrives, and is not asked for again."""

    def __init__(
        self,
        panel: Panel,
        *,
        events: EventBus,
        participants: Sequence[Participant],
        lenses: Sequence[Lens],
    ) -> None:
        self._panel = panel
        self._events = events
        self._participants = tuple(participants)
        self._lenses = tuple(lenses)

    async def gather_reviews(self, task: ReviewTask) -> tuple[tuple[PartReview, ...], ...]:
        """What each reviewer says of each part. Raises ProviderError where none says anything."""
        known = {(each.label, each.question): each for each in task.panel.parts if each.vote is not Vote.ERROR}
        finished = {answer.label: answer for answer in task.panel.answers}

        async def review(place: int) -> tuple[PartReview, ...]:
            participant, lens = self._participants[place], self._lenses[place]
            began = asyncio.get_running_loop().time()
            work = ParticipantWork(self._events, task.panel.panel_id, participant.label)
            slots = asyncio.Semaphore(_AT_ONCE)
            done: list[PartReview] = []

            async def review_part(part: DiffPart) -> PartReview:
                async with slots:
                    given = await self._review_part(task, participant, lens, part, known, work)
                done.append(given)
                work.show(f"{len(done)} of {format_amount(len(task.parts), 'part')} reviewed")
                return given

            reviews = await ask_in_parallel(task.parts, review_part)
            secs = round(asyncio.get_running_loop().time() - began, 3)
            answer = _make_answer(participant, reviews, work, secs)
            before = finished.get(participant.label)
            if before is None or (before.status, before.text) != (answer.status, answer.text):
                await self._events.record(PanelAnswered(panel_id=task.panel.panel_id, answer=answer))
            return reviews

        given = await ask_in_parallel(range(len(self._participants)), review)
        if all(each.vote is Vote.ERROR for reviews in given for each in reviews):
            reasons = "; ".join(f"{reviews[0].model}: {reviews[0].reason}" for reviews in given)
            raise ProviderError(f"no reviewer answered: {reasons}", kind=ProviderErrorKind.CONFIGURATION)
        return given

    async def _review_part(
        self,
        task: ReviewTask,
        participant: Participant,
        lens: Lens,
        part: DiffPart,
        known: dict[tuple[str, str], PartReview],
        work: ParticipantWork,
    ) -> PartReview:
        panel_id = task.panel.panel_id
        question = render_part_question(panel_id, task.change, part, len(task.parts), task.focus)
        system = render_reviewer_system(lens, has_tools=task.open_tools is not None)
        digest = digest_question(panel_id, system, question)
        if (before := known.get((participant.label, digest))) is not None:
            return before
        try:
            given = await self._panel.ask_in_form(
                participant.model,
                system,
                question,
                make_report_form(participant, part, digest),
                role=_REVIEW,
                tools=work.open_tools(task.open_tools),
                on_usage=work.add,
            )
        except NoFormAnswer as problem:
            given = PartReview(
                label=participant.label,
                model=participant.model,
                part=part.number,
                question=digest,
                vote=Vote.ERROR,
                reason=str(problem),
            )
        await self._events.record(PartReviewed(panel_id=panel_id, review=given))
        return given

    async def gather_trials(
        self, task: ReviewTask, reviews: Sequence[Sequence[PartReview]]
    ) -> tuple[CodeFinding, ...]:
        """The findings of all, each tried by a model that did not report it, where there is one."""
        reported = [(one.label, finding) for each in reviews for one in each for finding in one.findings]
        findings = merge_findings(reported, task.change)
        answered = [each[0].label for each in reviews if any(one.vote is not Vote.ERROR for one in each)]
        batches = _assign_trials(findings, [each for each in self._participants if each.label in answered])

        async def try_findings(batch: tuple[Participant, tuple[CodeFinding, ...]]) -> tuple[Trial, ...]:
            return await self._try(task, *batch)

        trials = [trial for each in await ask_in_parallel(batches, try_findings) for trial in each]
        return sort_findings(
            replace(finding, trials=tuple(trial for trial in trials if trial.finding == finding.id))
            for finding in findings
        )

    async def _try(
        self, task: ReviewTask, participant: Participant, findings: tuple[CodeFinding, ...]
    ) -> tuple[Trial, ...]:
        panel_id = task.panel.panel_id
        system = render_trier_system(has_tools=task.open_tools is not None)
        question = render_trial_question(panel_id, task.change, findings)
        digest = digest_question(panel_id, participant.label, system, question)
        if (before := task.panel.trials.get(digest)) is not None:
            return before
        trials: tuple[Trial, ...] = ()
        error = ""
        work = ParticipantWork(self._events, panel_id, participant.label)
        try:
            trials = await self._panel.ask_in_form(
                participant.model,
                system,
                question,
                make_trial_form(participant.model, findings),
                role=_REVIEW,
                tools=work.open_tools(task.open_tools),
            )
        except NoFormAnswer as problem:
            error = str(problem)
        await self._events.record(
            FindingsTried(
                panel_id=panel_id, label=participant.label, question=digest, trials=trials, error=error
            )
        )
        return trials


def _make_answer(
    participant: Participant, reviews: tuple[PartReview, ...], work: ParticipantWork, secs: float
) -> PanelAnswer:
    failed = [review for review in reviews if review.vote is Vote.ERROR]
    has_answered = len(failed) < len(reviews)
    return PanelAnswer(
        label=participant.label,
        model=participant.model,
        status=AnswerStatus.ANSWERED if has_answered else AnswerStatus.FAILED,
        text=render_reviewer_answer(reviews, len(reviews)),
        usage=work.usage,
        cost_usd=work.cost_usd,
        secs=secs,
        reason=failed[0].reason if failed else "",
    )


def _assign_trials(
    findings: Sequence[CodeFinding], participants: Sequence[Participant]
) -> tuple[tuple[Participant, tuple[CodeFinding, ...]], ...]:
    """Who tries which findings: those that did not report them take turns. One that all report is tried by
    nobody, and needs it least."""
    assigned: dict[str, list[CodeFinding]] = {each.label: [] for each in participants}
    for finding in findings:
        able = [each.label for each in participants if each.label not in finding.reviewers]
        if able:
            assigned[min(able, key=lambda label: len(assigned[label]))].append(finding)
    return tuple(
        (participant, tuple(assigned[participant.label][start : start + _FINDINGS_PER_TRIAL]))
        for participant in participants
        for start in range(0, len(assigned[participant.label]), _FINDINGS_PER_TRIAL)
    )

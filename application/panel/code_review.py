"""A code review: reviewers in parallel, their findings tried by each other, and votes that decide.

What reviewers say is recorded as it arrives, and is not asked for again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from msgspec import Struct

from quorum.application.event_bus import EventBus
from quorum.application.panel.code_review_forms import (
    CODE_MODERATOR_SYSTEM,
    digest_question,
    make_report_form,
    make_trial_form,
    render_part_question,
    render_reviewer_system,
    render_trial_question,
    render_trier_system,
)
from quorum.application.panel.panel import MODERATOR, NoFormAnswer, Panel, PanelQuestion, ask_in_parallel
from quorum.application.panel.panel_forms import make_synthesis_form, render_for_synthesis
from quorum.application.panel.panel_session import PanelSession
from quorum.application.panel.participant_work import ParticipantWork
from quorum.application.ports.workspace import ChangeSource, OpenTools
from quorum.domain.code_review.change import (
    MOST_PARTS,
    Change,
    CodeReviewPolicy,
    CodeReviewRequest,
    DiffPart,
    list_hidden_characters,
    list_left_out,
    parse_request,
    split_change,
)
from quorum.domain.code_review.review_result import (
    CodeFinding,
    FindingStanding,
    PartReview,
    ReviewResult,
    Ruling,
    Trial,
    combine_votes,
    merge_findings,
    sort_findings,
)
from quorum.domain.errors import ProviderError, ProviderErrorKind, ToolError
from quorum.domain.events.event import (
    ChangeReviewed,
    FindingsTried,
    PanelAnswered,
    PanelConcluded,
    PartReviewed,
)
from quorum.domain.panel.cost_estimate import PlannedRequests, QuestionSize
from quorum.domain.panel.panel_answer import (
    AnswerStatus,
    OpenPanel,
    PanelAnswer,
    PanelForm,
    Participant,
    Synthesis,
)
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import (
    Ballot,
    Lens,
    Verdict,
    Vote,
    are_independent,
    assign_lenses,
    find_lens,
    tally,
)
from quorum.domain.text.amounts import format_amount, format_confidence
from quorum.domain.text.printable import put_in_one_line

_VERDICTS = {
    Verdict.APPROVED: "Approved",
    Verdict.REJECTED: "Not approved",
    Verdict.UNCLEAR: "Not approved: the votes are not enough to decide",
}
_STANDINGS = {
    FindingStanding.CONFIRMED: "Findings",
    FindingStanding.UNTRIED: "Findings that no other model has tried",
    FindingStanding.CONTESTED: "Findings on which the models differ",
    FindingStanding.REFUTED: "Refuted findings",
}
_VOTES = {
    Vote.APPROVE: "approves",
    Vote.REJECT: "rejects",
    Vote.ABSTAIN: "abstains",
    Vote.ERROR: "gave no answer",
}


def render_review_result(result: ReviewResult) -> str:
    """The verdict and the votes, the conclusion, then all findings."""
    parts = [f"**{_VERDICTS[result.verdict]}** · {put_in_one_line(result.description)} ({result.rule})"]
    parts.append("\n".join(_render_ballot(ballot) for ballot in result.ballots))
    if not result.is_independent and len(result.ballots) > 1:
        parts.append("*The reviewers are not independent: all models are of one family.*")
    if result.notices:
        parts.append("\n".join(f"- {put_in_one_line(notice)}" for notice in result.notices))
    if result.conclusion:
        parts.append(f"## Conclusion\n\n{result.conclusion}")
    if result.agreement:
        parts.append(
            "\n".join(("## Agreement", "", *(f"- {put_in_one_line(one)}" for one in result.agreement)))
        )
    for standing, heading in _STANDINGS.items():
        those = [finding for finding in result.findings if finding.standing is standing]
        if those:
            parts.append(f"## {heading}")
            parts += ["\n".join(_render_finding(finding)) for finding in those]
    if not result.findings:
        parts.append("No reviewer found anything.")
    return "\n\n".join(parts)


def render_reviewer_answer(reviews: tuple[PartReview, ...], parts: int) -> str:
    """What one reviewer says of all parts, for the other models and for the person."""
    lines = []
    for review in reviews:
        where = f"Part {review.part} of {parts}: " if parts > 1 else ""
        lines.append(f"{where}{_VOTES[review.vote]}. {review.reason}")
        lines += [
            f"- {each.severity.value} · {each.file}:{each.line} · {put_in_one_line(each.claim)} "
            f"Evidence: {put_in_one_line(each.evidence)}"
            for each in review.findings
        ]
    return "\n".join(lines)


def _render_ballot(ballot: Ballot) -> str:
    sure = f" ({format_confidence(ballot.confidence)} sure)" if ballot.confidence is not None else ""
    return f"- {ballot.reviewer} {_VOTES[ballot.vote]}{sure}: {put_in_one_line(ballot.reason)}"


def _render_finding(finding: CodeFinding) -> Iterator[str]:
    report = finding.report
    place = f"{report.file}:{report.line}" if report.line else report.file
    count = format_amount(len(finding.reviewers), "reviewer")
    yield f"### {finding.id} {report.severity.value} · `{place.replace('`', '')}`"
    yield ""
    yield f"{report.claim}"
    yield ""
    yield f"- Evidence: {put_in_one_line(report.evidence)}"
    if report.suggestion:
        yield f"- Suggestion: {put_in_one_line(report.suggestion)}"
    yield f"- {report.kind.value.replace('_', ' ')}, found by {count} ({', '.join(finding.reviewers)})"
    for other in finding.others:
        yield f"- Also: {put_in_one_line(other.claim)}"
    for trial in finding.trials:
        verb = "confirmed" if trial.ruling is Ruling.CONFIRMED else trial.ruling.value
        yield f"- {trial.model}: {verb}. {put_in_one_line(trial.reason)}"


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
            models: dict[str, list[str]] = {}  # by the reason: often all have the same
            for first, *_ in given:
                models.setdefault(first.reason, []).append(first.model)
            reasons = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in models.items())
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


class CodeReview(PanelSession):
    """What the person says names the change. All participants review it and try each other's findings; votes
    decide, and the moderator says what has to be done."""

    form = PanelForm.REVIEW

    def __init__(
        self,
        panel: Panel,
        *,
        moderator: str,
        models: Sequence[str],
        events: EventBus,
        source: ChangeSource,
        policy: CodeReviewPolicy,
    ) -> None:
        super().__init__(panel, system="", moderator=moderator, models=models, events=events)
        self._source = source
        self._policy = policy
        self._rounds = ReviewRounds(
            panel,
            events=events,
            participants=self._participants,
            lenses=tuple(
                find_lens(policy.lenses, participant.model, "review") or usual
                for participant, usual in zip(
                    self._participants, assign_lenses(len(self._participants)), strict=True
                )
            ),
        )

    def _plan_requests(self, size: QuestionSize) -> tuple[PlannedRequests, ...]:
        """None: how often reviewers look at the repository is not known beforehand."""
        return ()

    async def _conclude_question(self, text: str, question: PanelQuestion) -> str:
        try:
            return await self._review(parse_request(question.said.text), question)
        except ToolError as problem:
            raise ProviderError(str(problem), kind=ProviderErrorKind.CONFIGURATION) from problem

    async def _review(self, request: CodeReviewRequest, question: PanelQuestion) -> str:
        change = await self._source.read(request)
        text = f"{change.description}\n{change.digest}\n{request.focus}"
        if (former := self._find_concluded(text)) is not None and (result := former[0].result) is not None:
            self._show(former[0].panel_id, result)
            return render_review_result(result)
        parts = split_change(change, self._policy.max_part_bytes)
        if len(parts) > MOST_PARTS:
            raise ToolError(
                f"the change has {len(parts)} parts, and at most {MOST_PARTS} are reviewed at once; review a "
                "range of fewer commits, or set a greater code_review.max_part_bytes"
            )
        async with self._source.open_repository(change) as open_tools:
            task = ReviewTask(
                panel=await self._open(text, question),
                change=change,
                parts=parts,
                focus=request.focus,
                open_tools=open_tools,
            )
            reviews = await self._rounds.gather_reviews(task)
            findings = await self._rounds.gather_trials(task, reviews)
            result, synthesis, reason = await self._conclude(task, reviews, findings)
        if result.is_approved:
            await self._source.keep_approval(change, request.focus)
        await self._events.record(
            PanelConcluded(panel_id=task.panel.panel_id, synthesis=synthesis, reason=reason)
        )
        return render_review_result(result)

    async def _conclude(
        self, task: ReviewTask, reviews: Sequence[tuple[PartReview, ...]], findings: tuple[CodeFinding, ...]
    ) -> tuple[ReviewResult, Synthesis | None, str]:
        """What it comes to, the synthesis, and why there is none. Votes alone decide."""
        if (before := task.panel.result) is not None:
            self._show(task.panel.panel_id, before)
            return before, None, ""
        synthesis, reason = await self._synthesise(task, reviews, findings)
        ballots = tuple(combine_votes(each) for each in reviews)
        counted = tally(
            ballots, self._policy.rule, min_votes=self._policy.min_votes, reviewers=len(self._participants)
        )
        notices = [*task.change.notices, *list_left_out(task.change), *list_hidden_characters(task.change)]
        if len(task.parts) > 1:
            notices.append(f"the change was reviewed in {len(task.parts)} parts, split by file")
        if task.open_tools is None:
            notices.append("reviewers saw the change alone: the repository as it is with it is not here")
        if reason:
            notices.append(reason)
        result = ReviewResult(
            description=task.change.description,
            digest=task.change.digest,
            base=task.change.base,
            commit=task.change.commit,
            verdict=counted.verdict,
            rule=counted.rule,
            ballots=ballots,
            is_independent=are_independent([each.model for each in self._participants]),
            findings=findings,
            files=len(task.change.files),
            parts=len(task.parts),
            conclusion=synthesis.conclusion if synthesis is not None else "",
            agreement=tuple(point.text for point in synthesis.agreement) if synthesis is not None else (),
            notices=tuple(notices),
            sensitive_files=tuple(file.path for file in task.change.files if file.is_sensitive),
        )
        await self._events.record(ChangeReviewed(panel_id=task.panel.panel_id, result=result))
        return result, synthesis, reason

    def _show(self, panel_id: str, result: ReviewResult) -> None:
        """Tell of a result that is on record: this process reports it."""
        self._events.show(ChangeReviewed(panel_id=panel_id, result=result))

    async def _synthesise(
        self, task: ReviewTask, reviews: Sequence[tuple[PartReview, ...]], findings: tuple[CodeFinding, ...]
    ) -> tuple[Synthesis | None, str]:
        """The moderator's synthesis; where nothing was found there is nothing to make one of."""
        if not findings:
            return None, ""
        answers = [
            PanelAnswer(
                label=each[0].label,
                model=each[0].model,
                status=AnswerStatus.ANSWERED,
                text=render_reviewer_answer(each, len(task.parts)),
            )
            for each in reviews
            if any(one.vote is not Vote.ERROR for one in each)
        ]
        tried = "\n".join(
            f"{trial.finding} ({finding.report.file}:{finding.report.line}) is {trial.ruling.value}: "
            f"{trial.reason}"
            for finding in findings
            for trial in finding.trials
        )
        question = f"Review {task.change.description}.\n\nThe reviewers tried each other's findings:\n{tried}"
        try:
            return await self._panel.ask_in_form(
                self._moderator,
                CODE_MODERATOR_SYSTEM,
                render_for_synthesis(task.panel.panel_id, question, answers, ()),
                make_synthesis_form(answers),
                role=MODERATOR,
            ), ""
        except NoFormAnswer as problem:
            return None, f"{self._moderator} gave no conclusion: {problem}"

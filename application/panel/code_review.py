"""A code review: reviewers in parallel, their findings tried by each other, and votes that decide.

What reviewers say is recorded as it arrives, and is not asked for again.
"""

from __future__ import annotations

from collections.abc import Sequence

from quorum.application.events.event_bus import EventBus
from quorum.application.panel.code_review_forms import (
    CODE_MODERATOR_SYSTEM,
)
from quorum.application.panel.code_review_text import render_review_result, render_reviewer_answer
from quorum.application.panel.panel import MODERATOR, NoFormAnswer, Panel, PanelQuestion
from quorum.application.panel.panel_forms import make_synthesis_form, render_for_synthesis
from quorum.application.panel.panel_session import PanelSession
from quorum.application.panel.review_rounds import ReviewRounds, ReviewTask
from quorum.application.ports.changes import ChangeSource
from quorum.domain.code_review.code_review_policy import CodeReviewPolicy
from quorum.domain.code_review.finding import CodeFinding
from quorum.domain.code_review.parts import MOST_PARTS, list_hidden_characters, list_left_out, split_change
from quorum.domain.code_review.request import CodeReviewRequest, parse_request
from quorum.domain.code_review.review_result import PartReview, ReviewResult, combine_votes
from quorum.domain.errors import NothingToReview, ProviderError, ProviderErrorKind, ToolError
from quorum.domain.events.event import (
    ChangeReviewed,
    PanelConcluded,
)
from quorum.domain.panel.cost_estimate import PlannedRequests
from quorum.domain.panel.panel_answer import AnswerStatus, PanelAnswer
from quorum.domain.panel.panel_form import PanelForm
from quorum.domain.panel.request_plans import QuestionSize
from quorum.domain.panel.synthesis import Synthesis
from quorum.domain.review.ballot import Vote, are_independent, tally
from quorum.domain.review.lens import assign_lenses, find_lens


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
        except (NothingToReview, ToolError) as problem:
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

"""The rounds before a plan that is asked about: what reviewers objected to, and what was changed since."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import ndiff
from itertools import pairwise

from quorum.application.ports.people import ReviewContext
from quorum.domain.plan.plan_text import render_plan_text
from quorum.domain.review.ballot import Vote, sort_dissent_first
from quorum.domain.review.lens import format_reviewer
from quorum.domain.review.questions import ReviewRequest
from quorum.domain.text.amounts import format_amount
from quorum.tui.screens.review.text.plan import find_plan
from quorum.tui.screens.review.text.plan_comparison import draw_comparison
from quorum.tui.screens.review.text.rows import Line, LineKind, Row, clean_line, fold
from quorum.tui.screens.review.text.votes import list_objections, render_votes

_CHANGES = {"+ ": LineKind.ADDED, "- ": LineKind.REMOVED}


def render_all_votes(request: ReviewRequest, review_context: ReviewContext, width: int) -> list[Row]:
    """Every vote in full; where it is about a plan, those of other models, and the rounds before this one, the
    latest first."""
    votes = render_votes(review_context, width) if review_context.reviewers else []
    plans = fold(draw_comparison(request), width)
    between: list[Row] = [()] if votes and plans else []
    return [*votes, *between, *plans, *fold(_draw_rounds(request), width)]


def summarise_plan_rounds(request: ReviewRequest) -> Iterator[Line]:
    """One line that says how often the plan came back from reviewers, and where that is to be read."""
    if request.earlier_plans:
        times = format_amount(len(request.earlier_plans), "earlier plan")
        yield Line("", f"reviewers judged {times}; v shows objections and changes", LineKind.QUIET)


def _draw_rounds(request: ReviewRequest) -> Iterator[Line]:
    plan = find_plan(request.packet)
    last = [render_plan_text(plan)] if plan is not None else []
    texts = [text.splitlines() for text in (*(each.text for each in request.earlier_plans), *last)]
    changes = [
        [line for line in ndiff(before, after) if line[:2] in _CHANGES] for before, after in pairwise(texts)
    ]
    for place in reversed(range(len(request.earlier_plans))):
        each = request.earlier_plans[place]
        yield Line("", "")
        yield Line("", f"round {each.number}", LineKind.STRONG)
        for ballot in sort_dissent_first(each.ballots):
            if ballot.objections:
                who = format_reviewer(ballot.reviewer, ballot.lens)
                yield Line(
                    "", clean_line(who), LineKind.BAD if ballot.counts_as is Vote.REJECT else LineKind.QUIET
                )
                yield from list_objections(ballot)
            elif ballot.counts_as is Vote.REJECT:
                who = format_reviewer(ballot.reviewer, ballot.lens)
                yield Line("", clean_line(f"{who}: {ballot.explanation}"), LineKind.BAD)
        if place < len(changes):
            yield Line(
                "", "changed after it:" if changes[place] else "nothing was changed after it", LineKind.QUIET
            )
            for line in changes[place]:
                yield Line(line[:2], clean_line(line[2:]), _CHANGES[line[:2]], _CHANGES[line[:2]])

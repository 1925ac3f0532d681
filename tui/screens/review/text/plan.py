"""A plan that is asked about, as the person reads and edits it, with what models said of it and of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import ndiff
from itertools import pairwise

from quorum.application.ports.people import ReviewContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.plan.plan import BadPlan, Plan, read_plan
from quorum.domain.plan.plan_text import render_plan_text
from quorum.domain.review.ballot import Vote, format_reviewer, sort_dissent_first
from quorum.domain.review.plan_terms import CREATE_PLAN
from quorum.domain.review.questions import ReviewRequest
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.review.text.objections import Quotes, find_in_lines
from quorum.tui.screens.review.text.votes import list_objections, render_votes
from quorum.tui.transcript.kinds.rows import Line, LineKind, Row, Span, clean_line, fold, place_spans

_BOX = "### ["
_TASKS, _REASONING = "## Tasks", "## Reasoning"
_INDENT = "   "


def find_plan(packet: ReviewPacket) -> Plan | None:
    if packet.call.tool_name != CREATE_PLAN:
        return None
    try:
        return read_plan(packet.call.arguments)
    except BadPlan:
        return None


def find_plan_text(packet: ReviewPacket) -> str | None:
    """The document to edit; None where there is none, or one that an editor could not show as it is."""
    plan = find_plan(packet)
    text = render_plan_text(plan) if plan is not None else ""
    return text if text and make_printable(text) == text else None


def draw_plan(plan: Plan, quotes: Quotes = ()) -> Iterator[Line]:
    """The document with its boxes; what the quotes say word for word is marked as objected to.

    The tasks stand before the reasoning, and only blank lines within a text are kept: a few rows may be all
    that is in sight.
    """
    lines = render_plan_text(plan).rstrip("\n").split("\n")[2:]
    marked = list(zip(lines, find_in_lines(quotes, lines), strict=True))
    tasks_at = lines.index(_TASKS)
    reasoning_at = lines.index(_REASONING) if plan.reasoning else tasks_at
    yield from _draw_text(marked[:reasoning_at])
    tasks = iter(enumerate(plan.tasks, start=1))
    starts = [n for n in range(tasks_at, len(lines)) if lines[n].startswith(_BOX)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        number, task = next(tasks)
        yield Line(f"{number:>2} ", f"[x] {task.id}", LineKind.STRONG)
        yield from _draw_text(marked[start + 1 : end], _INDENT)
    if plan.reasoning:
        yield Line("", _REASONING.removeprefix("## "), LineKind.STRONG)
        yield from _draw_text(marked[reasoning_at + 1 : tasks_at], _INDENT)


def _draw_text(marked: Sequence[tuple[str, tuple[Span, ...]]], head: str = "") -> Iterator[Line]:
    """The lines, without the blank ones around them and before the list of a task."""
    texts = [text for text, _ in marked]
    for place, (text, spans) in enumerate(marked):
        rest = next((later for later in texts[place:] if later), "")
        if text or (any(texts[:place]) and rest and not rest.startswith("- ")):
            yield Line(head if text else "", clean_line(text), objected=place_spans(spans, text, clean_line))


_MOST_FINDINGS = 8


def summarise_comparison(request: ReviewRequest) -> Iterator[Line]:
    """What they found, and where all plans are to be read."""
    if (comparison := request.comparison) is None:
        return
    first, *rest = comparison.findings
    yield Line("", clean_line(first), LineKind.STRONG)
    for finding in rest[:_MOST_FINDINGS]:
        yield Line("· ", clean_line(finding), LineKind.WARNING)
    more = len(rest) - _MOST_FINDINGS
    left_out = f"{more} more, and " if more > 0 else ""
    yield Line("", f"v shows {left_out}all {len(comparison.plans)} plans", LineKind.QUIET)


def draw_comparison(request: ReviewRequest) -> Iterator[Line]:
    """Every finding, and every plan with what the others say of it, the best first."""
    if (comparison := request.comparison) is None:
        return
    for finding in comparison.findings:
        yield Line("· ", clean_line(finding), LineKind.WARNING)
    for plan in comparison.plans:
        score = "not scored" if plan.score is None else f"{plan.score:.1f} of 10"
        yield Line("", "")
        yield Line("", clean_line(f"plan {plan.label} of {plan.model}, {score}"), LineKind.STRONG)
        for remark in plan.remarks:
            yield Line("· ", clean_line(remark), LineKind.QUIET)
        for line in plan.text.splitlines():
            yield Line("  ", clean_line(line))


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

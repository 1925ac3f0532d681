"""A plan that is asked about, as the document that the person reads and edits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.plan.plan import Plan
from quorum.domain.plan.plan_text import render_plan_text
from quorum.domain.plan.reading import BadPlan, read_plan
from quorum.domain.review.plan_terms import CREATE_PLAN
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.review.text.objections import Quotes, find_in_lines
from quorum.tui.screens.review.text.rows import Line, LineKind, Span, clean_line, place_spans

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

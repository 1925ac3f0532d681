"""A plan that is asked about, as the document that the person reads and edits."""

from __future__ import annotations

from collections.abc import Iterator

from domain.calls.packet import ReviewPacket
from domain.plan.plan import Plan
from domain.plan.plan_text import render_plan_text
from domain.plan.reading import BadPlan, read_plan
from domain.review.plan_terms import CREATE_PLAN
from domain.text.printable import printable
from tui.screens.review.text.objections import Quotes, find_in_lines
from tui.screens.review.text.rows import Line, LineKind, clean_line, place_spans

_BOX = "### ["


def find_plan(packet: ReviewPacket) -> Plan | None:
    """The plan that a packet is about, or None where it is about no plan."""
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
    return text if text and printable(text) == text else None


def draw_plan(plan: Plan, quotes: Quotes = ()) -> Iterator[Line]:
    """The document with its boxes; what the quotes say word for word is marked as objected to."""
    lines = render_plan_text(plan).rstrip("\n").split("\n")[2:]
    tasks = iter(enumerate(plan.tasks, start=1))
    before = ""
    for text, marks in zip(lines, find_in_lines(quotes, lines), strict=True):
        is_gap, before = not text and before.startswith("#"), text
        if is_gap:  # few lines fit, and headings stand out by their looks
            continue
        if text.startswith(_BOX):
            number, task = next(tasks)
            yield Line(f"{number:>2} ", f"[x] {task.id}", LineKind.STRONG)
        elif text.startswith("## "):
            yield Line("", clean_line(text[3:]), LineKind.STRONG)
        else:
            yield Line("", clean_line(text), objected=place_spans(marks, text, clean_line))

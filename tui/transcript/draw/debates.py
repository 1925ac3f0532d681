"""A debate in the transcript: what is open first, then what was settled; one line once it is over."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from textual.strip import Strip

from quorum.application.view.debate_wording import describe_objection, describe_tally, list_replies
from quorum.application.view.panel_entry import PanelEntry
from quorum.domain.panel.debate_record import DebateObjection, ObjectionRuling
from quorum.domain.text.amounts import format_amount, format_duration, format_elapsed
from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.lines import build_strip, fit_text, wrap_words
from quorum.tui.transcript.cells.marks import ASIDE
from quorum.tui.transcript.cells.palette import Palette

_SHOWN_OBJECTIONS = 6
_ORDER = (ObjectionRuling.OPEN, ObjectionRuling.UPHELD, ObjectionRuling.REFUTED)


def describe_part(entry: PanelEntry, label: str) -> str:
    """What a model without an answer of its own did, or what it waits for."""
    raised = entry.debate.list_raised(label)
    if not raised:
        return "may have to object" if entry.is_running else "was not asked"
    count = sum(len(each.objections) for each in raised)
    if any(not each.error for each in raised):
        return format_amount(count, "objection") if count else "no objections"
    return f"no objections: {make_printable(raised[-1].error, newlines=False)}"


def find_opener(entry: PanelEntry) -> str:
    """The label of the model that is asked for the answer now; empty once there is one."""
    if entry.answered:
        return ""
    return next((member.label for member in entry.members if member.answer is None), "")


def describe_debate(entry: PanelEntry, took: float) -> str:
    """What a debate is at, or what came of it."""
    record = entry.debate
    author = next((member.label for member in entry.answered), "")
    if entry.is_running:
        doing = (
            f"round {record.round}: {describe_tally(record)}"
            if record.round
            else f"{author} answered, the others look for objections"
            if author
            else f"{find_opener(entry) or 'a model'} answers"
        )
        return f"{doing} · {format_elapsed(took)}"
    parts = [describe_tally(record)] if author else []
    if not entry.is_concluded:
        parts.append("cut off")
    elif author:
        rounds = format_amount(record.round, "round")
        parts.append(f"the answer of {author} stands after {rounds}")
    else:
        parts.append("no answer")
    parts.append(format_duration(took))
    if entry.cost_usd:
        parts.append(f"answer ${entry.cost_usd:,.4f}")
    return " · ".join(parts)


def draw_open_objections(entry: PanelEntry, width: int, palette: Palette) -> list[Strip]:
    """The objections that nobody has settled, two lines each at most."""
    open_ = entry.debate.select(ObjectionRuling.OPEN)
    strips = []
    for each in open_[:_SHOWN_OBJECTIONS]:
        first, *others = wrap_words(_flatten(describe_objection(each)), width - 4)
        strips.append(build_strip(("  ", ASIDE), (first, palette.accent)))
        rest = fit_text(" ".join(others), width - 4)
        strips += [build_strip(("    ", ASIDE), (rest, palette.accent))] if rest else []
    if more := len(open_) - _SHOWN_OBJECTIONS:
        strips += [build_strip(("  ", ASIDE), (f"… and {more} more", palette.muted))] if more > 0 else []
    return strips


def draw_objections(entry: PanelEntry, width: int, palette: Palette) -> list[Strip]:
    """Every objection with what was said to it: the open ones, those that were upheld, those that were not."""
    strips = []
    for ruling, objection in _sort_objections(entry):
        style = palette.accent if ruling is ObjectionRuling.OPEN else palette.muted
        for line in wrap_words(_flatten(f"{ruling.value} · {describe_objection(objection)}"), width - 2):
            strips.append(build_strip(("  ", ASIDE), (line, style + Style(bold=True))))
        for said in list_replies(objection, entry.debate):
            lines = wrap_words(_flatten(said), width - 4)
            strips += [build_strip(("    ", ASIDE), (line, palette.muted)) for line in lines]
    return strips


def render_objections(entry: PanelEntry) -> list[str]:
    """Every objection with what was said to it, as text."""
    return [
        "\n".join((f"{ruling.value} · {describe_objection(each)}", *list_replies(each, entry.debate)))
        for ruling, each in _sort_objections(entry)
    ]


def _sort_objections(entry: PanelEntry) -> Sequence[tuple[ObjectionRuling, DebateObjection]]:
    return [(ruling, each) for ruling in _ORDER for each in entry.debate.select(ruling)]


def _flatten(text: str) -> str:
    return make_printable(text, newlines=False)

"""The result of a debate as Markdown. Participants are named by their labels, as they know each other."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.domain.panel.debate_record import DebateObjection, DebateRecord, ObjectionRuling
from quorum.domain.panel.panel_answer import PanelAnswer
from quorum.domain.text.amounts import format_amount


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
        lines.append(f"- {each.id} ({each.label}, {each.severity.value}): {_put_in_one_line(each.claim)}")
        lines.append(f"  - Evidence: {_put_in_one_line(each.evidence)}")
        if (response := record.find_response(each.id)) is not None:
            how = "concedes" if response.is_conceded else "contests"
            lines.append(f"  - The answer's side {how}: {_put_in_one_line(response.text)}")
        if (ruled := record.find_ruling(each.id)) is not None:
            lines.append(f"  - Ruling: {_put_in_one_line(ruled.reason)}")
    return lines


def _put_in_one_line(text: str) -> str:
    return " ".join(text.split())

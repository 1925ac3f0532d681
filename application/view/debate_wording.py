"""The sentences about the steps of a debate, for any front end."""

from __future__ import annotations

from quorum.domain.events.event import AnswerDefended, AnswerRevised, ObjectionsRaised, ObjectionsRuled
from quorum.domain.panel.debate_record import DebateObjection, DebateRecord, ObjectionRuling
from quorum.domain.text.amounts import format_amount


def describe_debate_step(event: ObjectionsRaised | AnswerDefended | ObjectionsRuled | AnswerRevised) -> str:
    """What happened, in a line."""
    match event:
        case ObjectionsRaised(raised=raised) if raised.error:
            return f"{raised.label} could not object in round {raised.round}: {raised.error}"
        case ObjectionsRaised(raised=raised):
            count = len(raised.objections)
            found = format_amount(count, "objection") if count else "no objection"
            unread = f"; could not be read: {'; '.join(raised.left_out)}" if raised.left_out else ""
            return f"{raised.label} raises {found} in round {raised.round}{unread}"
        case AnswerDefended(defence=defence) if defence.error:
            return f"{defence.label} gave no response in round {defence.round}: {defence.error}"
        case AnswerDefended(defence=defence):
            conceded = sum(each.is_conceded for each in defence.responses)
            return f"{defence.label} responds: {conceded} of {len(defence.responses)} conceded"
        case ObjectionsRuled(ruled=ruled) if ruled.error:
            return f"nobody ruled on the objections of round {ruled.round}: {ruled.error}"
        case ObjectionsRuled(ruled=ruled):
            rulings = (f"{each.objection} {each.ruling.value}" for each in ruled.rulings)
            return f"rulings of round {ruled.round}: {', '.join(rulings)}"
        case AnswerRevised(revised=revised) if revised.error:
            return f"{revised.label} did not revise the answer: {revised.error}"
        case AnswerRevised(revised=revised):
            return f"{revised.label} revised the answer after round {revised.round}"


def describe_tally(record: DebateRecord) -> str:
    """How many objections are open, upheld and refuted, the open ones first."""
    counts = (
        (len(record.select(ruling)), ruling.value)
        for ruling in (ObjectionRuling.OPEN, ObjectionRuling.UPHELD, ObjectionRuling.REFUTED)
    )
    return ", ".join(f"{count} {name}" for count, name in counts if count) or "no objections"


def describe_objection(objection: DebateObjection) -> str:
    """An objection in a line."""
    return f"{objection.id}, {objection.severity.value}: {objection.claim}"


def list_replies(objection: DebateObjection, record: DebateRecord) -> list[str]:
    """What was said to an objection: its evidence, the response and the ruling, a line each."""
    said = [f"Evidence: {objection.evidence}"]
    if (response := record.find_response(objection.id)) is not None:
        said.append(f"{'Conceded' if response.is_conceded else 'Contested'}: {response.text}")
    if (ruled := record.find_ruling(objection.id)) is not None:
        said.append(f"Ruled {ruled.ruling.value}: {ruled.reason}")
    return said

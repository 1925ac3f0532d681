"""The panel that events leave open: what of it need not be asked for again."""

from __future__ import annotations

from dataclasses import replace

from domain.events.code_review import ChangeReviewed, FindingsTried, PartReviewed
from domain.events.debate import follow_debate
from domain.events.panel import PanelAnswered, PanelConcluded, PanelEvent, PanelReviewed, PanelStarted
from domain.panel.open_panel import OpenPanel


def follow_panel(panel: OpenPanel | None, event: PanelEvent) -> OpenPanel | None:
    """The open panel after an event. What belongs to a panel that another one took the place of is left out."""
    if isinstance(event, PanelStarted):
        return OpenPanel(
            panel_id=event.panel_id,
            question=event.question,
            participants=event.participants,
            form=event.form,
        )
    if panel is None or panel.panel_id != event.panel_id:
        return panel
    match event:
        case PanelAnswered():
            others = tuple(each for each in panel.answers if each.label != event.answer.label)
            return replace(panel, answers=(*others, event.answer))
        case PanelReviewed():
            rest = tuple(each for each in panel.reviews if each.label != event.review.label)
            return replace(panel, reviews=(*rest, event.review))
        case PartReviewed():
            return replace(panel, parts=(*panel.parts, event.review))
        case FindingsTried() if not event.error:
            return replace(panel, trials={**panel.trials, event.question: event.trials})
        case ChangeReviewed():
            return replace(panel, result=event.result)
        case PanelConcluded():
            return None
        case _:
            return replace(panel, debate=follow_debate(panel.debate, event))

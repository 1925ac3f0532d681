"""The panel that events leave open: what of it need not be asked for again."""

from __future__ import annotations

from quorum.domain.events.panels import (
    ChangeReviewed,
    FindingsTried,
    PanelAnswered,
    PanelConcluded,
    PanelEvent,
    PanelReviewed,
    PanelStarted,
    PartReviewed,
    follow_debate,
)
from quorum.domain.panel.panel_answer import OpenPanel, PanelConclusion, PanelForm
from quorum.domain.replacing import replace


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
            return _conclude(panel, event)
        case _:
            return replace(panel, debate=follow_debate(panel.debate, event))


def close_concluded(panel: OpenPanel | None) -> OpenPanel | None:
    """The open panel after an answer was recorded: that of one that was concluded is among them."""
    return panel if panel is not None and panel.conclusion is None else None


def _conclude(panel: OpenPanel, event: PanelConcluded) -> OpenPanel | None:
    """The panel with its conclusion, where the answer can be made of that. The choice of a plan is kept by
    itself."""
    is_chosen = any(each.label == event.chosen for each in panel.given)
    has_text = bool(event.merged) or event.synthesis is not None or panel.result is not None
    if panel.form is PanelForm.PLAN or not (is_chosen or has_text):
        return None
    return replace(panel, conclusion=read_conclusion(event))


def read_conclusion(event: PanelConcluded) -> PanelConclusion:
    """What a panel came to, of the event that records it."""
    return PanelConclusion(
        synthesis=event.synthesis,
        chosen=event.chosen,
        reason=event.reason,
        additions=event.additions,
        merged=event.merged,
    )

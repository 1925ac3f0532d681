"""What the person reads of a panel while it is at work: who is asked, who answered, who did not."""

from __future__ import annotations

from collections.abc import Iterator

from application.view.entries import NoticeKind
from domain.events.event import PanelAnswered, PanelConcluded, PanelReviewed, PanelStarted
from domain.panel.panel_answer import PanelAnswer
from domain.text.amounts import format_duration


def describe_panel_step(
    event: PanelStarted | PanelAnswered | PanelReviewed | PanelConcluded,
) -> Iterator[tuple[NoticeKind, str]]:
    """The notices of an event, each with how loud it is."""
    match event:
        case PanelStarted():
            asked = ", ".join(f"{each.label} {each.model}" for each in event.participants)
            yield NoticeKind.INFO, f"asked: {asked}"
        case PanelAnswered(answer=answer):
            yield (NoticeKind.INFO if answer.is_answer else NoticeKind.WARNING), describe_answer(answer)
        case PanelReviewed(review=review):
            if review.error:
                yield NoticeKind.WARNING, f"{review.label} reviewed no other answer: {review.error}"
        case PanelConcluded():
            if event.reason:
                yield NoticeKind.WARNING, event.reason


def describe_answer(answer: PanelAnswer) -> str:
    """How asking a participant ended, and after how long."""
    how = "answered" if answer.is_answer else f"gave no answer: {answer.reason}"
    return f"{answer.label} {answer.model} {how} · {format_duration(answer.secs)}"

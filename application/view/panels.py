"""Panels as entries of the transcript, while they are at work and afterwards."""

from __future__ import annotations

from collections.abc import Callable

from quorum.application.view.entries import Entry
from quorum.application.view.panel_entry import PanelEntry, PanelMember
from quorum.domain.events.event import (
    AnswerProgressed,
    ChangeReviewed,
    PanelAnswered,
    PanelConcluded,
    PanelResumed,
    PanelReviewed,
    PanelStarted,
)
from quorum.domain.events.panels import PanelEvent, follow_debate
from quorum.domain.panel.panel_answer import PanelForm


class Panels:
    """Adds panels to the entries it is given, and keeps them up to date. `clock` is in seconds."""

    def __init__(self, entries: list[Entry], clock: Callable[[], float]) -> None:
        self._entries = entries
        self._clock = clock
        self._panel: PanelEntry | None = None

    @property
    def running(self) -> list[PanelEntry]:
        return [self._panel] if self._panel is not None and self._panel.is_running else []

    def take_over(self, others: Panels) -> None:
        """Continue with the panel of another view that is at work."""
        self._panel = others._panel
        self._entries += others.running

    def rest(self) -> None:
        if self._panel is not None and self._panel.is_running:
            self._panel.ended = self._clock()
            self._panel.version += 1

    def apply(self, event: PanelEvent) -> None:
        """Take an event in; one of a panel that nobody began is left out."""
        if isinstance(event, PanelStarted):
            self.rest()
            members = [PanelMember(participant) for participant in event.participants]
            self._panel = PanelEntry(
                event.panel_id, event.moderator, members, self._clock(), event.costs, event.form
            )
            self._entries.append(self._panel)
            return
        panel = self._panel
        if panel is None or panel.panel_id != event.panel_id:
            return
        panel.version += 1
        if panel.ended is not None:  # one that was cut off is continued; nobody waited in between
            panel.began += self._clock() - panel.ended
            panel.ended = None
        if isinstance(event, PanelResumed):
            _forget_failures(panel)
        else:
            self._follow(panel, event)

    def _follow(self, panel: PanelEntry, event: PanelEvent) -> None:
        match event:
            case AnswerProgressed():
                if (member := panel.find_member(event.label)) is not None:
                    member.writing, member.characters = event.text, event.characters
            case PanelAnswered():
                if (member := panel.find_member(event.answer.label)) is not None:
                    member.answer, member.writing = event.answer, ""
            case PanelReviewed():
                if (member := panel.find_member(event.review.label)) is not None:
                    member.review = event.review
            case PanelConcluded():
                panel.is_concluded, panel.reason, panel.ended = True, event.reason, self._clock()
                panel.chosen, panel.additions = event.chosen, event.additions
                panel.synthesis = event.synthesis
            case ChangeReviewed():
                panel.result = event.result
            case _:
                panel.debate = follow_debate(panel.debate, event)


def _forget_failures(panel: PanelEntry) -> None:
    """Who failed is asked again, except in a debate that has an answer; in a code review this goes by parts."""
    if panel.form is PanelForm.REVIEW or (panel.form is PanelForm.DEBATE and panel.answered):
        return
    for member in panel.members:
        member.writing, member.characters = "", 0
        if member.answer is not None and not member.answer.is_answer:
            member.answer = None
        if member.review is not None and member.review.error:
            member.review = None

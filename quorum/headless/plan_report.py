"""What a run prints of a plan: the one that it ends with, or the review of what one led to."""

from __future__ import annotations

from collections.abc import Iterable

from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.events.event import (
    ChangeReviewed,
    Event,
    PanelStarted,
    PlanProposed,
    SessionStarted,
    TurnFinished,
)
from quorum.domain.panel.panel_form import PanelForm
from quorum.domain.plan.plan_text import render_plan_text
from quorum.domain.sessions.past_session import LedgerRecord
from quorum.domain.text.json_value import JsonObject


class PlanReport:
    """Follows the events of a run. It stays empty unless a plan was made that nobody could approve."""

    def __init__(self) -> None:
        self._proposed: PlanProposed | None = None

    def follow(self, event: Event) -> None:
        """Take an event in."""
        if isinstance(event, PlanProposed):
            self._proposed = event

    @property
    def text(self) -> str:
        """The plan as a Markdown document; empty where there is none."""
        return "" if self._proposed is None else render_plan_text(self._proposed.plan).rstrip("\n")

    def to_json(self) -> JsonObject:
        """`plan`, and `digest` in it; empty as above."""
        if self._proposed is None:
            return {}
        return {"plan": {**self._proposed.plan.to_json(), "digest": self._proposed.digest}}


class FinalReviewReport:
    """Follows the events of a run. It stays empty unless a plan was carried out and its result reviewed."""

    def __init__(self) -> None:
        self._has_tools = False
        self._models: dict[str, str] = {}
        self._result: ReviewResult | None = None

    def follow_past(self, records: Iterable[LedgerRecord]) -> None:
        """Take in what the session did before: a turn that was killed after its review ends with that."""
        for record in records:
            if isinstance(record.event, TurnFinished):
                self._result = None
            elif record.event is not None:
                self.follow(record.event)

    def follow(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case SessionStarted(form=form):
                self._has_tools = form is SessionKind.AGENT
            case PanelStarted(form=PanelForm.REVIEW):
                self._models = {each.label: each.model for each in event.participants}
            case ChangeReviewed() if self._has_tools:
                self._result = event.result
            case _:
                return

    @property
    def text(self) -> str:
        """The review as Markdown; empty where there is none."""
        if self._result is None:
            return ""
        from quorum.application.panel.code_review_text import render_review_result

        return render_review_result(self._result)

    def to_json(self) -> JsonObject:
        """`final_review`, with the fields of the record of a code review; empty as above."""
        if self._result is None:
            return {}
        from quorum.application.export.review_record import render_result_fields

        return {"final_review": render_result_fields(self._result, self._models)}

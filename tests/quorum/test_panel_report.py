"""What a run that continues a session prints of a panel before it."""

from __future__ import annotations

from quorum.domain.conversation.response import LlmResponse
from quorum.domain.events.event import Event, PanelConcluded, PanelStarted, ResponseCompleted
from quorum.domain.panel.panel_answer import label_participants
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.headless.panel_report import PanelReport


def report_after(*events: Event) -> PanelReport:
    report = PanelReport()
    report.follow_past(LedgerRecord(seq=n, at_ms=n, event=event) for n, event in enumerate(events))
    return report


def test_a_panel_is_reported_until_the_answer_that_comes_of_it_is_on_record() -> None:
    models = label_participants(("p/a", "p/b"))
    started = PanelStarted(panel_id="1", question="why?", participants=models, moderator="p/m")
    over = PanelConcluded(panel_id="1", synthesis=None, chosen="A")
    answer = ResponseCompleted(turn_index=0, response=LlmResponse.from_text("so"))
    assert report_after(started).legend == "A is p/a, B is p/b"
    assert report_after(started, over).to_json()["chosen"] == "A"
    assert report_after(started, over, answer).to_json() == {}

"""Answers in fields of which an entry cannot be read: the others stand, and what is left out is named."""

from __future__ import annotations

import pytest

from quorum.application.panel.code_review_forms import make_report_form
from quorum.application.panel.debate_forms import make_objections_form
from quorum.application.structured_answer import Unreadable
from quorum.application.view.wording import describe_debate_step
from quorum.domain.code_review.change import DiffPart
from quorum.domain.events.event import ObjectionsRaised
from quorum.domain.panel.panel_answer import Participant
from quorum.domain.text.json_value import JsonObject
from tests.application.test_discussion import Room, pair, reviews, text

OBJECTION: JsonObject = {"claim": "it loses data", "evidence": "line 3", "severity": "high"}
FINDING: JsonObject = {
    "file": "a.py",
    "line": 3,
    "severity": "high",
    "kind": "data_loss",
    "claim": "it loses data",
    "evidence": "no fsync",
    "suggestion": "",
}


def test_an_objection_that_cannot_be_read_takes_no_other_with_it() -> None:
    raised = make_objections_form(1, "B").read({"objections": [{**OBJECTION, "severity": "odd"}, OBJECTION]})

    assert [each.claim for each in raised.objections] == ["it loses data"]
    (problem,) = raised.left_out
    assert problem.startswith('"objections" 1: "severity" must be')
    assert problem in describe_debate_step(ObjectionsRaised(panel_id="p", raised=raised))


def test_objections_of_which_none_can_be_read_are_no_answer() -> None:
    with pytest.raises(Unreadable, match="it must be an object"):
        make_objections_form(1, "B").read({"objections": ["x"]})


def test_a_finding_that_cannot_be_read_is_named_and_the_verdict_stays_strict() -> None:
    given: JsonObject = {
        "findings": [{**FINDING, "line": -1}, FINDING],
        "verdict": "reject",
        "confidence": 0.9,
        "reason": "it loses data",
    }
    part = DiffPart(number=1, paths=("a.py",), text="")
    form = make_report_form(Participant(label="A", model="p/a"), part, "q")
    report = form.read(given)

    assert [each.line for each in report.findings] == [3]
    assert 'left out, as it could not be read: "findings" 1: "line" must be' in report.reason
    with pytest.raises(Unreadable, match='"verdict" must be'):
        form.read({**given, "verdict": "maybe"})


async def test_a_participant_that_says_nothing_at_first_is_asked_once_more() -> None:
    room = Room(pair(a=[text(" "), text("cron"), reviews(B=4)]))

    assert "take cron" in await room.discuss()
    assert len(room.gateway.sessions[0].sent) == 2

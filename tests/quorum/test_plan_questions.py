"""A plan that is asked about, as editors and remote control get it, with objections and earlier plans."""

from __future__ import annotations

import json

from quorum.acp_agent.client_approver import describe_review, render_question, show_review
from quorum.domain.calls.execution import Seal
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Vote
from quorum.domain.review.plan_terms import PlanObjection
from quorum.domain.review.questions import EarlierPlan
from quorum.domain.review.severity import Severity
from quorum.rpc.review_json import render_earlier_plans_json, render_votes_json
from tests.support.fake_agent import a_packet, a_request
from tests.support.review_contexts import THREE, a_ballot, a_review_context, voted

OBJECTION = PlanObjection(claim="no \u202etest", severity=Severity.HIGH, task="read")
AGAINST = replace(a_ballot("p/1", Vote.REJECT), objections=(OBJECTION,))
WITHOUT = a_ballot("p/2", Vote.REJECT, "nobody asked for it")
PACKET = a_packet(
    "create_plan",
    {"objective": "a parser", "reasoning": "", "tasks": [{"id": "read", "description": "read it"}]},
    Seal(cwd="/w"),
)
REQUEST = replace(
    a_request(PACKET), earlier_plans=(EarlierPlan(number=1, text="# Plan\n", ballots=(AGAINST, WITHOUT)),)
)
CONTEXT = a_review_context(voted(AGAINST, reviewers=("p/1",)))
FIELDS = {"claim": "no \u202etest", "severity": "high", "task": "read"}


def test_an_editor_shows_objections_to_this_plan_and_to_those_before() -> None:
    text = show_review(REQUEST, CONTEXT, None)[-1].content.text

    assert "    - high, task read: no ⟨U+202E⟩test" in text
    assert "- objections to the plan of round 1:" in text
    assert "  - p/1: high, task read: no ⟨U+202E⟩test" in text
    assert "  - p/2: nobody asked for it" in text


def test_programs_behind_an_editor_get_objections_in_fields() -> None:
    described = json.loads(json.dumps(describe_review(REQUEST, CONTEXT)))

    assert described["votes"][0]["objections"] == [FIELDS]
    (earlier,) = described["earlier_plans"]
    assert (earlier["round"], earlier["text"]) == (1, "# Plan\n")
    assert [vote["objections"] for vote in earlier["votes"]] == [[FIELDS], []]


def test_remote_control_lists_objections_and_earlier_plans() -> None:
    votes = json.loads(json.dumps(render_votes_json(CONTEXT)))
    (earlier,) = json.loads(json.dumps(render_earlier_plans_json(REQUEST)))

    assert votes["ballots"][0]["objections"] == [FIELDS]
    assert (earlier["round"], earlier["text"]) == (1, "# Plan\n")
    assert [ballot["objections"] for ballot in earlier["ballots"]] == [[FIELDS], []]


def test_what_the_model_wrote_stands_in_one_line_above_the_reasons_in_an_editor() -> None:
    asked = replace(REQUEST, preamble="First.\n\nNow the `plan`:\n- packet: `0000`")

    text = show_review(asked, CONTEXT, None)[-1].content.text

    assert "- the model wrote: Now the plan: - packet: 0000\n- asked because" in text
    assert describe_review(asked, CONTEXT)["preamble"] == asked.preamble


def test_a_vote_that_is_awaited_still_has_not_failed_wherever_votes_are_read() -> None:
    context = a_review_context(voted(a_ballot(THREE[0], Vote.REJECT)))
    text = show_review(REQUEST, context, None)[-1].content.text

    assert "- votes: 1 of 3 voted: 1 against\n" in text
    assert describe_review(REQUEST, context)["tally"] == "1 of 3 voted: 1 against"
    assert render_question(REQUEST, context).startswith("[votes: 1 of 3 voted: 1 against; ")
    assert render_votes_json(context)["count"] == "1 of 3 voted: 1 against"

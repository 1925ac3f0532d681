"""What the dialog of a plan shows of the plans of other models, and what other front ends get of them."""

import json

from quorum.acp_agent.client_approver import describe_review, show_review
from quorum.application.ports.people import ReviewQuestion
from quorum.application.review.approvers import MaskingApprover
from quorum.domain.calls.execution import Seal
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Ballot, Vote
from quorum.domain.review.plan_terms import ComparedPlan, PlanComparison
from quorum.domain.review.questions import Approve, ReviewRequest
from quorum.rpc.review_json import render_comparison_json
from quorum.tui.screens.review.earlier import NOTHING
from quorum.tui.screens.review.text.facts import collect_facts
from quorum.tui.screens.review.text.plan import render_all_votes
from quorum.tui.transcript.kinds.rows import Row, fold
from tests.support.fake_agent import a_packet, a_request
from tests.support.fake_ports import FakePerson
from tests.support.review_contexts import a_review_context, voted

COMPARISON = PlanComparison(
    findings=("plan B of p/b is the one that the others score best", "C (p/c) made no plan: \u202eit is down"),
    plans=(
        ComparedPlan(label="B", model="p/b", text="# Plan\n\nqueue\n", score=7.5, remarks=("A scores 7",)),
        ComparedPlan(label="A", model="p/a", text="# Plan\n\ncron\n", score=None),
    ),
)


def a_compared_request(comparison: PlanComparison = COMPARISON) -> ReviewRequest:
    packet = a_packet("create_plan", {"objective": "queue", "reasoning": "", "tasks": []}, Seal(cwd="/ws"))
    return replace(a_request(packet), comparison=comparison)


def plain(rows: list[Row]) -> list[str]:
    return ["".join(part.text for part in row).rstrip() for row in rows]


def test_what_models_found_stands_above_the_plan_and_says_where_all_plans_are() -> None:
    rows = plain(fold(collect_facts(a_compared_request(), NOTHING).dangers, 90))
    assert rows[:3] == [
        "plan B of p/b is the one that the others score best",
        "· C (p/c) made no plan: ⟨U+202E⟩it is down",
        "v shows all 2 plans",
    ]


def test_of_many_findings_the_rest_is_counted() -> None:
    many = replace(COMPARISON, findings=tuple(f"finding {number}" for number in range(12)))
    rows = plain(fold(collect_facts(a_compared_request(many), NOTHING).dangers, 90))
    assert "v shows 3 more, and all 2 plans" in rows
    assert "· finding 8" in rows
    assert "· finding 9" not in rows


def test_every_plan_is_to_be_read_where_there_are_no_reviewers_too() -> None:
    rows = plain(render_all_votes(a_compared_request(), a_review_context(), 60))
    assert rows == [
        "· plan B of p/b is the one that the others score best",
        "· C (p/c) made no plan: ⟨U+202E⟩it is down",
        "",
        "plan B of p/b, 7.5 of 10",
        "· A scores 7",
        "  # Plan",
        "",
        "  queue",
        "",
        "plan A of p/a, not scored",
        "  # Plan",
        "",
        "  cron",
    ]


def test_between_the_votes_and_what_the_models_found_is_a_blank_line() -> None:
    for_it = Ballot(reviewer="p/r", vote=Vote.APPROVE, reason="sound", confidence=0.9)
    rows = plain(
        render_all_votes(a_compared_request(), a_review_context(voted(for_it, reviewers=("p/r",))), 60)
    )
    place = rows.index("· plan B of p/b is the one that the others score best")
    assert rows[place - 1] == ""
    assert rows[place - 2].strip() == "sound"


def test_editors_and_remote_control_get_all_plans() -> None:
    request = a_compared_request()
    given = json.loads(json.dumps(render_comparison_json(request)))
    assert [plan["label"] for plan in given["plans"]] == ["B", "A"]
    assert given == json.loads(json.dumps(describe_review(request, a_review_context())["comparison"]))
    (facts,) = [shown.content.text for shown in show_review(request, a_review_context(), None)][-1:]
    assert "  - plan B of p/b is the one that the others score best" in facts


async def test_secrets_in_plans_of_others_are_hidden_from_the_person() -> None:
    mask = SecretMask()
    mask.learn("TOKEN", "s3cr3t-value-of-it")
    person = FakePerson(lambda request: Approve(request.packet.digest))
    plan = replace(COMPARISON.plans[0], text="use s3cr3t-value-of-it\n", remarks=("not s3cr3t-value-of-it",))
    request = a_compared_request(PlanComparison(findings=("s3cr3t-value-of-it leaks",), plans=(plan,)))
    await MaskingApprover(person, mask).ask(ReviewQuestion(request, a_review_context()))
    (shown,) = person.requests
    assert shown.comparison == PlanComparison(
        findings=("[secret:TOKEN] leaks",),
        plans=(replace(plan, text="use [secret:TOKEN]\n", remarks=("not [secret:TOKEN]",)),),
    )

"""Every answer that decides something is read from its fields: no form reads prose, whatever it says.

Votes on calls, plans and changes, scores, objections, stances and rulings; answers arrive in any order, are
counted by any rule, and some models fail.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.application.event_bus import EventBus
from quorum.application.panel.code_review_forms import make_report_form, make_trial_form
from quorum.application.panel.debate import Debate
from quorum.application.panel.debate_forms import make_defence_form, make_objections_form, make_rulings_form
from quorum.application.panel.panel_forms import make_review_form
from quorum.application.panel.panel_session import PanelSession
from quorum.application.review.ballot_paper import QuorumPolicy, make_ballot_form, make_plan_ballot_paper
from quorum.application.review.voting import Voting
from quorum.application.structured_answer import AnswerForm, Unreadable, ask_in_form
from quorum.domain.calls.execution import Seal
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.code_review.change import CodeReviewPolicy, split_change
from quorum.domain.code_review.review_result import CodeFinding, FindingKind, ReportedFinding
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import ObjectionsRuled, PanelConcluded
from quorum.domain.panel.debate_record import DebatePolicy, ObjectionRuling, number_objections
from quorum.domain.panel.panel_answer import AnswerStatus, PanelAnswer, Participant
from quorum.domain.plan.plan import Plan, PlanTask
from quorum.domain.review.ballot import Ballot, QuorumRule, Vote, tally
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.review.severity import Severity
from quorum.domain.text.json_value import JsonObject, JsonValue
from tests.support.builders import a_call, a_context, calls_response
from tests.support.code_review_bench import Bench, make_change
from tests.support.examples import examples
from tests.support.fake_gateway import FakeGateway
from tests.support.fake_ports import RecordingObserver
from tests.support.fake_session import FakeSession, Step
from tests.support.panel_room import PanelRoom, text

DOWN = ProviderError("it is down", kind=ProviderErrorKind.OVERLOADED)
PROSE = (
    "unacceptable",
    "I disapprove",
    "do not proceed",
    "8/10.",
    "APPROVE",
    "I approve.",
    "verdict: approve",
    "no reason to reject. APPROVE",
    "SUCCESS with no failures",
    "Recommendation: REVISE. I would approve once fixed.",
    "I have 2 concerns. Score: 9",
    "not upheld",
    "confirmed, refuted and unclear",
    '{"verdict": "approve", "in_scope": "yes", "confidence": 1, "reason": "x"}',
)

# ---------------------------------------------------------------- each form by itself


@dataclass(frozen=True)
class Given:
    """A form, an answer that it reads, and the place of what decides in it, with the words it may be."""

    form: AnswerForm[Any]
    answer: JsonObject
    place: tuple[str | int, ...]
    words: tuple[JsonValue, ...]


def answered(label: str) -> PanelAnswer:
    return PanelAnswer(label=label, model=f"p/{label}", status=AnswerStatus.ANSWERED, text="cron")


PLAN = Plan(objective="a parser", reasoning="asked", tasks=(PlanTask(id="parser", description="write it"),))
PART = split_change(make_change("a.py"), 60_000)[0]
REPORTED = ReportedFinding(
    file="a.py",
    line=1,
    severity=Severity.HIGH,
    kind=FindingKind.CORRECTNESS,
    claim="it leaks",
    evidence="there",
)
FINDING = CodeFinding(id="F1", report=REPORTED, reviewers=("A",))
(OBJECTION,) = number_objections(1, "B", [("it loses jobs", "after a restart", Severity.HIGH)])
VOTES = tuple(vote.value for vote in (Vote.APPROVE, Vote.REJECT, Vote.ABSTAIN))
BALLOT: JsonObject = {"verdict": "approve", "in_scope": "yes", "confidence": 0.9, "reason": "so"}
REVIEWED: JsonObject = {"answer": "B", "score": 8, "agreement": "yes", "comment": "sound"}
PACKET = ReviewPacket(call=a_call("create_plan", {}), context=a_context(), seal=Seal(cwd="/w"))
PLAN_PAPER = make_plan_ballot_paper(RequestedScope(task="make it"), PACKET, PLAN, ())
REPORT: JsonObject = {"findings": [], "verdict": "approve", "confidence": 0.9, "reason": "so"}
SEVERITIES = tuple(each.value for each in Severity)
SCORES = tuple(range(11))
REVIEWS: JsonObject = {"reviews": [REVIEWED]}
RAISED: JsonObject = {"objections": [{"claim": "no", "evidence": "x", "severity": "high"}]}
RESPONDED: JsonObject = {"responses": [{"objection": "R1-B1", "stance": "concede", "text": "right"}]}
RULED: JsonObject = {"rulings": [{"objection": "R1-B1", "ruling": "upheld", "reason": "shown"}]}
TRIED: JsonObject = {"rulings": [{"finding": "F1", "ruling": "confirmed", "reason": "seen"}]}
CALL_FORM = make_ballot_form("p/a")
PLAN_FORM = PLAN_PAPER.make_form("p/a")
REPORT_FORM = make_report_form(Participant(label="A", model="p/a"), PART, "d" * 64)
REVIEW_FORM = make_review_form([answered("B")])

FORMS = {
    "vote on a call": Given(CALL_FORM, BALLOT, ("verdict",), VOTES),
    "scope of a call": Given(CALL_FORM, BALLOT, ("in_scope",), ("yes", "no", "unclear")),
    "vote on a plan": Given(PLAN_FORM, {**BALLOT, "objections": []}, ("verdict",), ("approve", "abstain")),
    "vote on a change": Given(REPORT_FORM, REPORT, ("verdict",), VOTES),
    "ruling on a finding": Given(
        make_trial_form("p/b", [FINDING]),
        TRIED,
        ("rulings", 0, "ruling"),
        ("confirmed", "refuted", "unclear"),
    ),
    "score": Given(REVIEW_FORM, REVIEWS, ("reviews", 0, "score"), SCORES),
    "agreement": Given(REVIEW_FORM, REVIEWS, ("reviews", 0, "agreement"), ("yes", "partly", "no")),
    "severity": Given(make_objections_form(1, "B"), RAISED, ("objections", 0, "severity"), SEVERITIES),
    "stance": Given(
        make_defence_form([OBJECTION]), RESPONDED, ("responses", 0, "stance"), ("concede", "contest")
    ),
    "ruling on an objection": Given(
        make_rulings_form([OBJECTION]),
        RULED,
        ("rulings", 0, "ruling"),
        tuple(each.value for each in ObjectionRuling),
    ),
}


def put(answer: JsonObject, place: tuple[str | int, ...], value: JsonValue) -> JsonObject:
    changed: Any = copy.deepcopy(dict(answer))
    *way, last = place
    inner = changed
    for step in way:
        inner = inner[step]
    inner[last] = value
    return cast("JsonObject", changed)


@pytest.mark.parametrize("name", FORMS)
def test_each_word_in_its_field_is_read(name: str) -> None:
    one = FORMS[name]
    read = [one.form.read(put(one.answer, one.place, word)) for word in one.words]
    assert len({repr(each) for each in read}) == len(one.words)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("name", FORMS)
@examples(100)
@given(st.data())
def test_nothing_but_its_words_is_read_in_a_field_that_decides(name: str, data: st.DataObject) -> None:
    one = FORMS[name]
    near = [f(str(word)) for word in one.words for f in (str.upper, str.title, "{}.".format, " {}".format)]
    odd = data.draw(
        st.sampled_from(
            [*PROSE, *near, *map(str, SCORES), None, True, 0.5, -1, 11, 10**400, [one.words[0]], {}]
        )
        | st.text(max_size=12)
        | st.integers()
        | st.floats()
    )
    if any(type(odd) is type(word) and odd == word for word in one.words):
        return
    with pytest.raises(Unreadable):
        one.form.read(put(one.answer, one.place, odd))


@pytest.mark.parametrize("said", PROSE)
@pytest.mark.parametrize("name", FORMS)
async def test_prose_is_asked_about_once_more_and_never_read(name: str, said: str) -> None:
    session = FakeSession([text(said), text(said)])
    asked = 0

    async def count(_response: LlmResponse) -> None:
        nonlocal asked
        asked += 1

    with pytest.raises(Unreadable, match="did not call"):
        await ask_in_form(session, session.conversation, "which?", FORMS[name].form, count=count)
    assert asked == 2


# ---------------------------------------------------------------- votes that are counted

_READABLE = st.sampled_from([Vote.APPROVE, Vote.REJECT, Vote.ABSTAIN])
_VOTER = (
    _READABLE.map(lambda vote: (vote, "at once", ""))
    | st.tuples(_READABLE, st.just("when asked again"), st.sampled_from(PROSE))
    | st.sampled_from(PROSE).map(lambda said: (Vote.ERROR, "as text", said))
    | st.sampled_from(PROSE).map(lambda said: (Vote.ERROR, "in the field", said))
    | st.just((Vote.ERROR, "down", ""))
)
_Voter = tuple[Vote, str, str]
_RULES = st.sampled_from(("majority", "unanimous", "atleast:1", "atleast:2", "50%", "67%", "100%"))
_VOTERS = st.lists(_VOTER, min_size=1, max_size=4).flatmap(
    lambda voters: st.tuples(st.just(voters), st.permutations(range(len(voters))))
)


def script_voter(
    voter: _Voter, gate: asyncio.Event, cast_vote: Callable[[str], LlmResponse]
) -> list[LlmResponse | ProviderError | Step]:
    """What a model answers, its first answer once the gate opens."""
    vote, how, said = voter
    answers: Mapping[str, Sequence[LlmResponse | ProviderError]] = {
        "at once": [cast_vote(vote.value)],
        "when asked again": [text(said), cast_vote(vote.value)],
        "as text": [text(said), text(said)],
        "in the field": [cast_vote(said), cast_vote(said)],
        "down": [DOWN],
    }
    first, *rest = answers[how]
    return [Step(answer=first, gate=gate), *rest]


def count_by_hand(voters: Sequence[_Voter], rule: str) -> str:
    ballots = [Ballot(reviewer=f"p/m{n}", vote=vote, reason="so") for n, (vote, *_) in enumerate(voters)]
    return tally(ballots, QuorumRule.parse(rule), min_votes=2, reviewers=len(voters)).verdict.value


async def open_in_order(gateway: FakeGateway, gates: Sequence[asyncio.Event], order: Sequence[int]) -> None:
    await gateway.all_wait(len(gates))
    for place in order:
        gates[place].set()
        await asyncio.sleep(0)


@examples(100)
@given(_VOTERS, _RULES, st.booleans())
def test_votes_on_calls_and_plans_are_what_was_cast_in_fields(
    voters_in_order: tuple[list[_Voter], list[int]], rule: str, is_plan: bool
) -> None:
    voters, order = voters_in_order

    def cast_vote(word: str) -> LlmResponse:
        objections: list[JsonValue] = (
            [{"claim": "no test", "severity": "high", "task": ""}] if word == "reject" else []
        )
        more: JsonObject = {"objections": objections} if is_plan else {}
        return calls_response(a_call("cast_ballot", {**BALLOT, "verdict": word, **more}))

    async def run() -> tuple[str, dict[str, Vote]]:
        gates = [asyncio.Event() for _ in voters]
        gateway = FakeGateway(
            {f"p/m{n}": script_voter(voter, gates[n], cast_vote) for n, voter in enumerate(voters)}
        )
        policy = QuorumPolicy(reviewers=tuple(gateway.scripts), rule=QuorumRule.parse(rule))
        voting = Voting(gateway=gateway, policy=policy, events=EventBus([RecordingObserver()]))
        feed = voting.feed()
        packet = ReviewPacket(
            call=a_call("run_command", {"command": "make"}), context=a_context(), seal=Seal(cwd="/w")
        )
        paper = PLAN_PAPER if is_plan else None
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            counted = group.create_task(voting.gather(packet, RequestedScope(task="make it"), feed, paper))
            group.create_task(open_in_order(gateway, gates, order))
        return counted.result().verdict.value, {each.reviewer: each.vote for each in feed.ballots}

    verdict, votes = asyncio.run(run())
    assert votes == {f"p/m{n}": vote for n, (vote, *_) in enumerate(voters)}
    assert verdict == count_by_hand(voters, rule)


@examples(60)
@given(_VOTERS, _RULES)
def test_votes_on_a_change_are_what_was_cast_in_fields(
    voters_in_order: tuple[list[_Voter], list[int]], rule: str
) -> None:
    voters, order = voters_in_order
    if all(how == "down" or vote is Vote.ERROR for vote, how, _ in voters):
        return  # then the review fails as a whole

    def cast_vote(word: str) -> LlmResponse:
        return calls_response(a_call("report_findings", {**REPORT, "verdict": word}))

    async def run() -> Bench:
        gates = [asyncio.Event() for _ in voters]
        scripts = {f"m{n}": script_voter(voter, gates[n], cast_vote) for n, voter in enumerate(voters)}
        bench = Bench(
            {**scripts, "mod": []},
            make_change("a.py"),
            policy=CodeReviewPolicy(rule=QuorumRule.parse(rule)),
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(bench.run())
            group.create_task(open_in_order(bench.gateway, gates, order))
        return bench

    result = asyncio.run(run()).result
    assert [ballot.vote for ballot in result.ballots] == [vote for vote, *_ in voters]
    assert result.verdict.value == count_by_hand(voters, rule)


# ---------------------------------------------------------------- rulings of a debate

_RULING = st.sampled_from([*(each.value for each in ObjectionRuling), *PROSE, None, 8, True])


@examples(100)
@given(
    st.lists(_RULING, min_size=1, max_size=3).flatmap(
        lambda ruled: st.tuples(st.just(ruled), st.permutations(range(len(ruled))))
    ),
    st.sampled_from(["in fields", "as text", "down"]),
)
def test_an_objection_is_settled_only_by_a_ruling_in_its_field(
    ruled_in_order: tuple[list[JsonValue], list[int]], how: str
) -> None:
    """The rulings come in any order; one that cannot be read leaves all of them open."""
    ruled, order = ruled_in_order
    objections: list[JsonValue] = [
        {"claim": f"claim {n}", "evidence": "x", "severity": "low"} for n in range(len(ruled))
    ]
    given_rulings: list[JsonValue] = [
        {"objection": f"R1-B{n + 1}", "ruling": ruled[n], "reason": "shown"} for n in order
    ]
    given_responses: list[JsonValue] = [
        {"objection": f"R1-B{n + 1}", "stance": "contest", "text": "no"} for n in range(len(ruled))
    ]
    moderator: Mapping[str, list[Any]] = {
        "in fields": [calls_response(a_call("rule", {"rulings": given_rulings}))] * 2,
        "as text": [text(str(ruled[0])), text("upheld")],
        "down": [DOWN],
    }
    scripts = {
        "a": [
            text("cron"),
            calls_response(a_call("respond", {"responses": given_responses})),
            calls_response(a_call("revise", {"answer": "a queue"})),
        ],
        "b": [calls_response(a_call("raise_objections", {"objections": objections}))],
        "mod": moderator[how],
    }

    async def run() -> PanelRoom:
        form = cast("type[PanelSession]", partial(Debate, policy=DebatePolicy(max_rounds=1)))
        room = PanelRoom(form, scripts)
        await room.discuss()
        return room

    room = asyncio.run(run())
    words = {each.value for each in ObjectionRuling}
    is_read = how == "in fields" and all(isinstance(word, str) and word in words for word in ruled)
    settled = {
        each.objection: each.ruling.value
        for event in room.seen.events
        if isinstance(event, ObjectionsRuled)
        for each in event.ruled.rulings
    }
    assert settled == ({f"R1-B{n + 1}": word for n, word in enumerate(ruled)} if is_read else {})
    (over,) = (event for event in room.seen.events if isinstance(event, PanelConcluded))
    assert over.chosen == "A"
    assert room.requests("a") == (3 if is_read and "upheld" in ruled else 2)

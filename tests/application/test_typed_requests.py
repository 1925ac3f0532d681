"""Which messages guards may read: those that the person typed by hand, of this turn, and none else."""

from __future__ import annotations

from typing import Any

import pytest

from quorum.application.calls.tool_runtime import ToolBatch
from quorum.application.event_bus import EventBus
from quorum.application.review.ballot_paper import QuorumPolicy
from quorum.application.review.review import Review
from quorum.application.review.rule_book import RuleBook
from quorum.application.review.voting import Voting
from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.replacing import replace
from quorum.domain.review.decision import Decision
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Answer, Subject
from quorum.domain.review.plain_request import PlainRequest
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.subagent_task import Asker
from quorum.infrastructure.execution.shell.script import read_script
from tests.application.test_quorum_review import Bench as RuntimeBench
from tests.application.test_run_agent import Bench
from tests.support.builders import a_call, a_context
from tests.support.fake_gateway import FakeGateway
from tests.support.fake_ports import FakePerson

_DELETION = Subject(
    tool="run_command",
    risk=RiskLevel.HIGH,
    access=EXCLUSIVE,
    arguments={"command": "rm -r build"},
    command="rm -r build",
)


class _NobodyThere(FakePerson):
    is_there = False


def _review(person: FakePerson) -> Review:
    events = EventBus([])
    policy = QuorumPolicy(reviewers=())
    return Review(
        person=person,
        paths=PathPolicy(roots=("/ws",)),
        mode=Mode.AUTO,
        events=events,
        rules=RuleBook([], read_script=read_script),
        voting=Voting(gateway=FakeGateway({}), policy=policy, events=events),
    )


def test_a_typed_request_answers_a_guard_where_the_person_is_there() -> None:
    request = PlainRequest("Delete build.")

    assert _review(FakePerson()).decide(_DELETION).answer is Answer.ASK
    assert _review(FakePerson()).decide(_DELETION, request=request).answer is Answer.ALLOW


def test_where_nobody_is_there_nobody_has_asked() -> None:
    assert _review(_NobodyThere()).decide(_DELETION, request=PlainRequest("Delete build.")).answer is Answer.ASK


async def test_only_a_prompt_that_was_typed_by_hand_is_a_request() -> None:
    bench = Bench(LlmResponse.from_text("done"), LlmResponse.from_text("done"))

    await bench.agent.execute("delete a", is_typed=True)
    assert bench.agent.scope.typed == "delete a"
    await bench.agent.execute("delete b")
    assert (bench.agent.scope.typed, "delete a" in bench.agent.scope.task) == ("", True)


async def test_the_request_reaches_the_decision_about_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, requests = RuntimeBench("aa"), list[str]()
    decide = Review.decide

    def note(review: Review, *args: Any, request: PlainRequest, **more: Any) -> Decision:
        requests.append(request.text)
        return decide(review, *args, request=request, **more)

    monkeypatch.setattr(Review, "decide", note)
    calls = ((a_context(0), a_call("write", {"cell": "x", "text": "new"})),)
    scope = RequestedScope(task="an earlier one\n\ndelete build", typed="delete build")
    await bench.runtime.run(ToolBatch(id="batch-1", calls=calls, scope=scope))

    assert set(requests) == {"delete build"}


def test_what_a_subagent_is_told_is_no_request_and_neither_is_that_of_its_owner() -> None:
    owner = RequestedScope(task="delete build", typed="delete build")

    assert Asker(scope=owner).widen(RequestedScope(task="x", typed="delete src")).typed == ""
    assert Asker().widen(replace(owner, typed="")).typed == ""

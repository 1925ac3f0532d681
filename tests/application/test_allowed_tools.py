"""What a custom command allows its turn, and what works on after that turn."""

from __future__ import annotations

from quorum.application.event_bus import EventBus
from quorum.application.review.review import Review
from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.review.mode import Mode
from quorum.domain.review.permission_rules import AllowedTools, Answer, Subject
from tests.support.fake_ports import FakePerson
from tests.support.reviews import a_review

WRITES = Subject(tool="write", risk=RiskLevel.HIGH, access=EXCLUSIVE)
NOTHING = AllowedTools.parse("look", [])


def a_review_of_a_subagent(owner: Review) -> Review:
    return a_review(person=FakePerson(), events=EventBus([]), within=owner)


def test_a_subagent_that_works_on_after_the_turn_of_a_command_is_held_to_what_it_allows() -> None:
    owner = a_review(person=FakePerson(), events=EventBus([]), mode=Mode.AUTO)
    owner.allowed_tools = NOTHING
    subagent = a_review_of_a_subagent(owner)
    assert subagent.decide(WRITES).answer is Answer.DENY

    owner.allowed_tools = None

    assert subagent.decide(WRITES).answer is Answer.DENY
    assert owner.decide(WRITES).answer is Answer.ALLOW


def test_what_a_command_allows_holds_for_a_subagent_that_began_before_it() -> None:
    owner = a_review(person=FakePerson(), events=EventBus([]), mode=Mode.AUTO)
    subagent = a_review_of_a_subagent(owner)
    assert subagent.decide(WRITES).answer is Answer.ALLOW

    owner.allowed_tools = NOTHING

    assert subagent.decide(WRITES).answer is Answer.DENY

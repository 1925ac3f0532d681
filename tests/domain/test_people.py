"""People who sign: whose signatures a call takes, and which of those given count."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec import UNSET

from quorum.domain.conversation.history import UserMessage
from quorum.domain.events.event import (
    GoalSet,
    MessageAdded,
    PromptsQueued,
    ReviewDecided,
    SessionRewound,
    TurnStarted,
    UserCommandStarted,
)
from quorum.domain.fact import PersonInput
from quorum.domain.review.people import PeoplePolicy, Person, SigningRule
from quorum.domain.review.permission_rules import Answer, Rule
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.signing import ApprovalSignature, SigningDemand, SigningTerms, tally_signatures
from quorum.domain.sessions.replay import Replay
from tests.support.builders import a_context

DEPLOY = Rule.parse("run_command(deploy *)", Answer.ASK, "the policy")
PAY = Rule.parse("run_command(pay *)", Answer.ASK, "the policy")
NAMES = ("ada", "bob", "cyn")


def a_policy(*rules: SigningRule) -> PeoplePolicy:
    people = {name: Person(name=name, keys=(), accounts=(f"{name}-account",)) for name in NAMES}
    return PeoplePolicy(people=people, rules=rules)


def a_signature(person: str, digest: str = "5f", session_id: str = "s") -> ApprovalSignature:
    return ApprovalSignature(session_id=session_id, digest=digest, person=person, at_ms=1, signature="AB")


TWO_OF_THREE = SigningRule(rule=DEPLOY, needed=2, people=NAMES)


def test_who_asks_for_a_call_is_not_among_those_who_sign_it() -> None:
    terms = a_policy(TWO_OF_THREE).find_terms([f"rule {DEPLOY.id}"], {"ada-account"})

    assert terms == SigningTerms(demands=(SigningDemand(2, ("bob", "cyn")),), requester="ada")
    assert terms.describe() == "it takes the signatures of bob, cyn; ada asked for it and does not count"
    assert terms.is_met(["bob", "cyn"])
    assert not terms.is_met(["ada", "bob"])


def test_where_nobody_is_known_to_ask_one_more_signs() -> None:
    terms = a_policy(TWO_OF_THREE).find_terms([f"rule {DEPLOY.id}"], {"some-service"})

    assert terms == SigningTerms(demands=(SigningDemand(3, NAMES),), unnamed=1)
    assert not terms.is_met(["ada", "bob"])
    assert terms.is_met(NAMES)


def test_nobody_who_asked_in_the_session_is_among_those_who_sign() -> None:
    policy, spoke = a_policy(TWO_OF_THREE), [f"rule {DEPLOY.id}"]

    terms = policy.find_terms(spoke, {"ada-account", "bob-account"})

    assert terms == SigningTerms(demands=(SigningDemand(2, ("cyn",)),), requester="ada", others=("bob",))
    assert "ada, bob asked for it and do not count; the policy names too few people" in terms.describe()
    assert "ask for it in a new session" in terms.describe()
    for signed in (NAMES, ["ada", "cyn"], ["bob", "cyn"]):
        assert not terms.is_met([name for name in signed if name not in terms.asked])
    assert tally_signatures(terms, [a_signature("bob")], {}, session_id="s", digest="5f").problems == (
        "bob asked for it, and so does not count",
    )


def test_each_account_that_is_nobodys_may_be_another_of_those_who_sign() -> None:
    policy, spoke = a_policy(TWO_OF_THREE), [f"rule {DEPLOY.id}"]

    assert policy.find_terms(spoke, {"", "ada-account"}) == SigningTerms(
        demands=(SigningDemand(3, ("bob", "cyn")),), requester="ada", unnamed=1
    )
    terms = policy.find_terms(spoke, {"ci", "deployer"})
    assert terms == SigningTerms(demands=(SigningDemand(4, NAMES),), unnamed=2)
    assert "2 more than the policy says, as it is not known who asked" in terms.describe()
    assert "ask for it in a new session, under the account of one person" in terms.describe()


def test_a_call_that_no_rule_of_the_policy_is_about_takes_no_signature() -> None:
    policy = a_policy(TWO_OF_THREE)

    assert policy.find_terms(["mode ask", "rule ask run_command(make *)"], {"ada-account"}) is None
    assert PeoplePolicy().find_terms([f"rule {DEPLOY.id}"], {"ada-account"}) is None


def test_of_two_rules_about_a_call_each_is_met() -> None:
    of_cyn = SigningRule(rule=PAY, needed=1, people=("cyn",))
    terms = a_policy(TWO_OF_THREE, of_cyn).find_terms([f"rule {DEPLOY.id}", f"rule {PAY.id}"], {"bob-account"})

    assert terms is not None
    assert terms.people == ("ada", "cyn")
    assert not terms.is_met(["ada"])
    assert terms.describe_missing(["ada"]) == "still to sign: cyn, and cyn"
    assert terms.is_met(["ada", "cyn"])


def test_too_few_people_are_said_to_be_too_few() -> None:
    rule = SigningRule(rule=DEPLOY, needed=1, people=("ada",))
    terms = a_policy(rule).find_terms([f"rule {DEPLOY.id}"], {"ada-account"})

    assert terms is not None
    assert not terms.is_met(NAMES)
    assert "nobody can approve it" in terms.describe()


@pytest.mark.parametrize(
    ("given", "problem", "said"),
    [
        (a_signature("bob", digest="60"), {}, "is about something else"),
        (a_signature("bob", session_id="t"), {}, "is about something else"),
        (a_signature("ada"), {}, "ada asked for it"),
        (a_signature("dan"), {}, "dan is not among those who may sign it"),
        (a_signature("bob"), {a_signature("bob"): "it is revoked"}, "does not count: it is revoked"),
    ],
)
def test_what_does_not_count_is_named(
    given: ApprovalSignature, problem: Mapping[ApprovalSignature, str], said: str
) -> None:
    terms = SigningTerms(demands=(SigningDemand(1, ("bob", "cyn")),), requester="ada")

    tally = tally_signatures(terms, [given], problem, session_id="s", digest="5f")

    assert tally.signed == ()
    assert said in tally.problems[0]


def test_one_person_counts_once() -> None:
    terms = SigningTerms(demands=(SigningDemand(2, NAMES),))
    twice = [a_signature("bob"), a_signature("bob")]

    tally = tally_signatures(terms, twice, {}, session_id="s", digest="5f")

    assert tally.signed == ("bob",)


def test_nothing_else_that_is_approved_has_the_same_statement() -> None:
    whole = a_signature("bob")
    others = [
        a_signature("cyn"),
        a_signature("bob", digest="60"),
        a_signature("bob", session_id="t"),
        ApprovalSignature(session_id="s", digest="5f", person="bob", at_ms=2),
        ApprovalSignature(session_id='s","x":"', digest="5f", person="bob", at_ms=1),
    ]

    assert whole.statement not in {each.statement for each in others}
    assert whole.statement == (
        b'{"approves":true,"at_ms":1,"digest":"5f","format":"quorum-approval","person":"bob","session":"s"}'
    )


def decided(decision: DecisionLabel, **more: str) -> ReviewDecided:
    return ReviewDecided(
        context=a_context(), digest="d", decision=decision, reason="so", reply=more.get("reply", UNSET)
    )


SAID = (
    TurnStarted(prompt="deploy"),
    PromptsQueued(prompts=("deploy",)),
    MessageAdded(message=UserMessage("deploy"), steers=True),
    UserCommandStarted(command_id="c", command="cat plan", told=True),
    GoalSet(text="deployed", manifest="m"),
    decided(DecisionLabel.EDITED),
    ReviewDecided(
        context=a_context(), digest="d", decision=DecisionLabel.APPROVED, reason=None, reply="deploy"
    ),
)
UNSAID = (
    TurnStarted(prompt=""),
    PromptsQueued(prompts=()),
    MessageAdded(message=UserMessage("a notice"), is_notice=True),
    UserCommandStarted(command_id="c", command="cat plan", told=False),
    decided(DecisionLabel.APPROVED),
    decided(DecisionLabel.REJECTED),
)


@pytest.mark.parametrize("event", SAID, ids=lambda event: event.type)
def test_whatever_a_person_says_into_a_session_makes_them_one_who_asked(event: PersonInput) -> None:
    replay = Replay()
    replay.apply(TurnStarted(prompt="begin").name_asker({"ada"}), 1)
    replay.apply(event.name_asker({"bob"}), 2)
    replay.apply(SessionRewound(turn=0, conversation=True, files=False), 3)

    assert replay.askers == {"ada", "bob"}


@pytest.mark.parametrize("event", UNSAID, ids=lambda event: event.type)
def test_who_says_nothing_asked_for_nothing(event: PersonInput) -> None:
    replay = Replay()
    replay.apply(event.name_asker({"bob"}), 1)

    assert not replay.askers

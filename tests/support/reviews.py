"""A review over fakes, for tests that are about something else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from quorum.application.event_bus import EventBus
from quorum.application.ports.people import Approver
from quorum.application.review.ballot_paper import QuorumPolicy
from quorum.application.review.review import Review, UnaskedSampling
from quorum.application.review.rule_book import RuleBook
from quorum.application.review.voting import Voting
from quorum.domain.review.guards import GuardSettings
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Answer, Rule
from quorum.domain.review.rule_offers import ReadCommand
from quorum.domain.review.signing import SigningTerms
from tests.support.fake_gateway import Answers, FakeGateway


def a_review(
    *,
    person: Approver,
    events: EventBus,
    mode: Mode = Mode.ASK,
    root: str = "/ws",
    allow: Sequence[str] = (),
    ask: Sequence[str] = (),
    deny: Sequence[str] = (),
    votes: Mapping[str, Answers] | None = None,
    escalate_below: float | None = None,
    guards: GuardSettings | None = None,
    refusal: Callable[[Mode], Awaitable[str | None]] | None = None,
    read_command: ReadCommand | None = None,
    gateway: FakeGateway | None = None,
    max_plan_revisions: int = 3,
    sampling: UnaskedSampling | None = None,
    within: Review | None = None,
    find_signing: Callable[[Collection[str]], SigningTerms | None] = lambda _spoke: None,
) -> Review:
    """`votes` scripts each reviewer by its model; `gateway` has them all in the place
    of `votes`. The rules are as they would be written in the settings.

    With `read_command`, rules are proposed and offered for commands.
    """
    gateway = gateway or FakeGateway(votes or {})
    policy = QuorumPolicy(
        reviewers=tuple(gateway.scripts),
        escalate_below=escalate_below,
        max_plan_revisions=max_plan_revisions,
    )
    written = ((Answer.ALLOW, allow), (Answer.ASK, ask), (Answer.DENY, deny))
    rules = [Rule.parse(text, answer, "the test") for answer, texts in written for text in texts]
    return Review(
        person=person,
        paths=PathPolicy(roots=(root,)),
        mode=mode,
        events=events,
        rules=RuleBook(rules)
        if read_command is None
        else RuleBook(rules, paths=PathPolicy(roots=(root,)), read_command=read_command),
        voting=Voting(gateway=gateway, policy=policy, events=events),
        guards=guards,
        refusal=refusal,
        sampling=sampling,
        within=within,
        find_signing=find_signing,
    )

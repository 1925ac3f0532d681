"""The managed policy while a session runs: what its commands and its models cannot get around."""

from __future__ import annotations

from decimal import Decimal

import pytest

from quorum.application.event_bus import EventBus
from quorum.application.spend_limiter import SpendLimiter
from quorum.domain.conversation.cost import Price, PriceTable, SpendCap, SpendCaps, Spending
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import ConfigError, ModeRefused, ProviderError, SpendCapReached
from quorum.domain.events.masking import SecretMask
from quorum.domain.review.ballot import Ballot, InScope, QuorumRule, Verdict, Vote, tally
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Answer
from quorum.domain.review.questions import RuleScope
from quorum.infrastructure.bootstrap import build_unused
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.container import Container, build_container
from quorum.infrastructure.managed_policy import build_folder_check
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.session_inputs import SessionInputs
from quorum.infrastructure.trust_decisions import open_trust_decisions
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.records import no_record
from tests.support.settings_machine import Machine


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("machine"))


def a_session(machine: Machine, loaded: LoadedSettings) -> Container:
    return build_container(
        SessionInputs(
            record=no_record(),
            mask=SecretMask(),
            loaded=loaded,
            asked=AskedModels(models=("offline/offline",)),
            root=machine.repository,
            environ=machine.environ,
            approver=FakePerson(),
            observer=RecordingObserver(),
            trust=open_trust_decisions(machine.environ),
        )
    )


@pytest.mark.parametrize(
    ("policy", "reviewers", "mode"),
    [
        ('review.modes = ["ask", "quorum"]', ["anthropic/a", "openai/b"], Mode.AUTO),
        ('review.modes = ["ask", "quorum"]', ["anthropic/a", "openai/b"], Mode.ACCEPT_EDITS),
        ("quorum.min_reviewers = 3", ["anthropic/a", "openai/b"], Mode.QUORUM),
        ("quorum.min_families = 2", ["anthropic/claude-a", "anthropic/claude-b"], Mode.QUORUM),
    ],
)
async def test_the_mode_command_chooses_none_that_is_not_allowed(
    machine: Machine, policy: str, reviewers: list[str], mode: Mode
) -> None:
    machine.policy(policy)
    review = a_session(machine, machine.load(overrides={"models.review": reviewers})).review()

    with pytest.raises(ModeRefused, match=r"requirements\.toml:1"):
        await review.set_mode(mode)
    await review.accept_mode(Mode.ACCEPT_EDITS)
    await review.set_mode(Mode.READ_ONLY)

    assert review.mode is Mode.READ_ONLY


async def test_a_mode_that_cannot_be_had_gives_way_to_an_allowed_one(machine: Machine) -> None:
    machine.policy('review.modes = ["sandboxed"]')
    loaded = machine.load(overrides={"review.mode": "sandboxed", "tools.run_command.sandbox": "off"})
    review = a_session(machine, loaded).review()

    assert "the mode is read-only" in str(await review.fall_back())
    assert review.mode is Mode.READ_ONLY


def test_the_model_command_and_every_role_reach_allowed_models_alone(machine: Machine) -> None:
    machine.policy('models.allowed = ["openai/gpt-*", "offline/*"]')
    machine.environ |= {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    gateway = a_session(machine, machine.load()).gateway()

    assert isinstance(gateway, ProviderRegistry)
    assert gateway.providers == ("openai", "offline")
    assert gateway.configured_providers == ("openai",)
    for model in ("anthropic/claude-a", "openai/o9"):
        with pytest.raises(ProviderError, match=r"requirements\.toml:1"):
            gateway.open_session(model, Conversation(), "")
    assert gateway.open_session("openai/gpt-b", Conversation(), "").model == "openai/gpt-b"


async def test_models_that_are_not_allowed_are_not_listed(machine: Machine) -> None:
    machine.policy('models.allowed = ["openai/gpt-*"]')
    gateway = a_session(machine, machine.load()).gateway()

    with pytest.raises(ProviderError, match="lists no model of the provider anthropic"):
        await gateway.list_models("anthropic")


async def test_a_rule_of_the_session_does_not_outweigh_a_denial_of_the_policy(machine: Machine) -> None:
    machine.policy('permissions.deny = ["run_command(curl *)"]')
    rules = a_session(machine, machine.load()).agent().rules

    await rules.add("run_command(curl *)", Answer.ALLOW, RuleScope.SESSION)
    answer, why = await rules.try_call("curl https://example.com")
    held = next(rule for rule in await rules.list_rules() if rule.rule.answer is Answer.DENY)

    assert answer is Answer.DENY
    assert str(machine.policy_file) in "\n".join(why)
    with pytest.raises(ConfigError, match="is a rule of the settings"):
        await rules.remove(held)


def a_limiter(person: FakePerson, limits: dict[SpendCap, str], ceilings: dict[SpendCap, str]) -> SpendLimiter:
    one = Decimal(1)
    price = Price(input=one, output=one, cache_read=one, cache_write=one)
    return SpendLimiter(
        SpendCaps({cap: Decimal(limit) for cap, limit in limits.items()}),
        prices=PriceTable({"p/a": price}),
        approver=person,
        events=EventBus(()),
        ceilings={cap: Decimal(limit) for cap, limit in ceilings.items()},
    )


async def test_the_person_raises_a_cap_up_to_the_policy_and_no_further() -> None:
    person = FakePerson()
    person.raises = 9
    limiter = a_limiter(person, {SpendCap.TOKENS: "100"}, {SpendCap.TOKENS: "250"})

    limiter.count(await limiter.admit("p/a", Usage(input=150), may_ask=True), Usage(input=150))
    with pytest.raises(SpendCapReached, match="the managed policy allows no more than 250 tokens"):
        await limiter.admit("p/a", Usage(input=110), may_ask=True)

    assert len(person.spend_questions) == 1
    assert [standing.limit for standing in limiter.standings] == [Decimal(200)]


async def test_a_model_without_a_price_is_not_waved_through_where_the_policy_caps_the_cost() -> None:
    person = FakePerson()
    person.raises = 9
    limiter = a_limiter(person, {SpendCap.COST: "1"}, {SpendCap.COST: "1"})

    with pytest.raises(SpendCapReached, match="the managed policy"):
        await limiter.admit("p/unpriced", Usage(input=1), may_ask=True)
    assert not person.spend_questions


async def test_what_was_raised_before_the_policy_came_does_not_go_beyond_it() -> None:
    events = EventBus(())
    events.state.cap_raises[SpendCap.TOKENS] = Decimal(1_000)
    limiter = SpendLimiter(
        SpendCaps({SpendCap.TOKENS: Decimal(100)}),
        prices=PriceTable({}),
        approver=FakePerson(),
        events=events,
        ceilings={SpendCap.TOKENS: Decimal(100)},
    )

    assert [standing.limit for standing in limiter.standings] == [Decimal(100)]
    assert limiter.standings[0].spent == SpendCap.TOKENS.get_amount(Spending())


def a_ballot(reviewer: str, vote: Vote = Vote.APPROVE) -> Ballot:
    return Ballot(reviewer=reviewer, vote=vote, reason="", in_scope=InScope.YES)


@pytest.mark.parametrize(
    ("voted", "verdict"),
    [
        (("anthropic/claude-a", "anthropic/claude-b", "openai/gpt-c"), Verdict.APPROVED),
        (("anthropic/claude-a", "anthropic/claude-b"), Verdict.UNCLEAR),
    ],
)
def test_an_approval_needs_votes_of_as_many_families_as_are_demanded(
    voted: tuple[str, ...], verdict: Verdict
) -> None:
    counted = tally(
        [a_ballot(model) for model in voted],
        QuorumRule.parse("majority"),
        min_votes=2,
        reviewers=3,
        min_families=2,
    )

    assert counted.verdict is verdict


def test_a_session_that_is_only_looked_at_is_held_to_it_too(machine: Machine) -> None:
    machine.policy('models.allowed = ["offline/*"]')
    unused = build_unused(
        machine.load(), machine.repository, approver=FakePerson(), observer=RecordingObserver()
    )

    assert unused.gateway().providers == ("offline",)
    assert unused.parts().reviews.review_gateway.providers == ("offline",)


def test_folders_are_added_only_where_commands_may_write(machine: Machine) -> None:
    inside, outside = machine.home / "data/set", machine.home / "notes"
    for folder in (inside, outside):
        folder.mkdir(parents=True)
    (machine.home / "data/link").symlink_to(outside)
    paths = PathPolicy(roots=(str(machine.repository),))
    assert build_folder_check(paths, machine.load().policy, machine.environ).resolve(str(outside)) == str(
        outside
    )
    machine.policy('tools.run_command.sandbox_writable = ["~/data"]')
    check = build_folder_check(paths, machine.load().policy, machine.environ)

    for refused in (outside, machine.home / "data/link"):
        with pytest.raises(ConfigError, match=r"requirements\.toml:1 bounds what commands may write"):
            check.resolve(str(refused))
    assert check.resolve(str(inside)) == str(inside)

"""What the settings say, in the terms of those that it concerns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path

from quorum.application.review.ballot_paper import QuorumPolicy
from quorum.domain.conversation.cost import SpendCap, SpendCaps
from quorum.domain.panel.debate_record import DebatePolicy
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import QuorumRule, parse_lens
from quorum.domain.secrets.patterns import CLOUD_KEYS
from quorum.infrastructure.config.command_template import CustomToolDeclaration
from quorum.infrastructure.config.model_tables import ProviderTable
from quorum.infrastructure.config.policy_table import NO_POLICY, ManagedPolicy
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.tools_table import build_declaration
from quorum.infrastructure.models.shared.api_client import ProviderSettings


def build_quorum_policy(settings: Settings, managed: ManagedPolicy = NO_POLICY) -> QuorumPolicy:
    """Who votes, and how the votes are counted. Raises ConfigError for a calibration that cannot be read."""
    policy = QuorumPolicy(
        reviewers=settings.models.review,
        rule=QuorumRule.parse(settings.quorum.rule),
        min_votes=settings.quorum.min_votes,
        vote_timeout_secs=settings.quorum.vote_timeout_secs,
        efforts=settings.models.effort,
        lenses={name: parse_lens(text) for name, text in settings.quorum.lenses.items()},
        escalate_below=settings.quorum.escalate_below if settings.quorum.escalate else None,
        min_families=managed.min_families,
        max_plan_revisions=settings.agent.max_plan_revisions,
    )
    if not settings.quorum.calibration or not policy.reviewers:
        return policy
    from quorum.infrastructure.benchmark.calibration_file import load_calibration

    path = Path(settings.quorum.calibration).expanduser()
    return replace(policy, calibration=load_calibration(path, policy))


def build_spend_caps(settings: Settings) -> SpendCaps:
    """The spend caps that are set: 0 is none."""
    table = settings.agent
    figures = {
        SpendCap.COST: table.max_cost_usd,
        SpendCap.TOKENS: table.max_tokens,
        SpendCap.TURN_COST: table.max_cost_usd_per_turn,
        SpendCap.TURN_TOKENS: table.max_tokens_per_turn,
    }
    return SpendCaps({cap: Decimal(repr(figure)) for cap, figure in figures.items() if figure})


def build_free_model_test(providers: Mapping[str, ProviderTable]) -> Callable[[str], bool]:
    """Answers whether "provider/model" runs in this process and costs nothing."""
    free = frozenset(name for name, table in providers.items() if table.type == "offline")
    return lambda model: model.partition("/")[0] in free


def build_provider_settings(tables: Mapping[str, ProviderTable]) -> dict[str, ProviderSettings]:
    return {
        name: ProviderSettings(
            type=table.type,
            client=table.client,
            region=table.region or None,
            project=table.project or None,
            api_version=table.api_version or None,
            program=table.program or None,
            base_url=table.base_url or None,
            api_key_env=table.api_key_env,
            timeout_secs=table.timeout_secs,
            content_timeout_secs=table.content_timeout_secs,
            max_retries=table.max_retries,
            requests_per_minute=table.requests_per_minute,
            max_output_tokens=table.max_output_tokens or None,
            headers=table.headers,
            tool_parser=table.tool_parser,
        )
        for name, table in tables.items()
    }


def list_key_names(settings: Settings) -> frozenset[str]:
    """The environment variables that hold keys, which no command may see."""
    names = {table.api_key_env for table in settings.providers.values()} | {settings.tools.web.search_key_env}
    names |= {table.bearer_token_env for table in settings.mcp.servers.values()}
    names |= settings.tools.run_command.secrets.keys()
    return frozenset(names - {""}) | CLOUD_KEYS


def list_custom_declarations(settings: Settings) -> tuple[CustomToolDeclaration, ...]:
    return tuple(build_declaration(name, table) for name, table in settings.tools.custom.items())


def build_debate_policy(settings: Settings) -> DebatePolicy:
    """How debates go."""
    table = settings.debate
    return DebatePolicy(
        max_rounds=table.max_rounds,
        intensity=table.intensity,
        allow_interjection=table.allow_interjection,
    )

"""Which model does what: as set, as a resumed session had it, and what follows for roles for which none is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from quorum.application.event_bus import EventBus
from quorum.application.session.session_record import SessionRecord
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.session_kind import SessionKind, name_external_model
from quorum.domain.errors import ConfigError
from quorum.domain.events.event import ModelChanged, SessionResumed, SessionStarted
from quorum.domain.panel.panel_answer import Consensus, check_consensus
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.text.fuzzy import find_nearest_word
from quorum.infrastructure.config.loading import DEFAULT_ORIGIN, LoadedSettings, is_flag
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.toml_text import format_literal
from quorum.infrastructure.provider_types import get_traits

if TYPE_CHECKING:
    from quorum.application.panel.panel_session import ConsensusChoice

LIST_ROLES = ("decision_fallback", "review", "participants")
_ANSWERING_ROLES = ("review", "participants", "moderator")
ROLES = ("decision", "exploration", "ask", "moderator", *LIST_ROLES)
DEFAULT_MODELS = {"anthropic": "anthropic/claude-sonnet-5-5", "openai": "openai/gpt-5.4"}
OFFLINE_MODEL = "offline/offline"
StoredKey: TypeAlias = Callable[[str], str | None]
"""The key of a provider that is kept elsewhere than in the environment. Raises ConfigError."""
_SIGNS_OF_A_SETUP = ("type", "base_url", "client", "program")


class ModelChoice(Struct, frozen=True):
    """A model as "provider/model", and why it was chosen."""

    model: str
    reason: str

    @property
    def provider(self) -> str:
        """The provider's name in the settings."""
        return self.model.partition("/")[0]


class ModelRoles(Struct, frozen=True, kw_only=True):
    """The model of every role. Without `review` no model votes, and without `decision_fallback` none stands in
    for another; `participants` are one at least.
    """

    decision: ModelChoice
    exploration: ModelChoice
    ask: ModelChoice
    moderator: ModelChoice
    decision_fallback: tuple[ModelChoice, ...]
    review: tuple[ModelChoice, ...]
    participants: tuple[ModelChoice, ...]

    def get_choices(self, role: str) -> tuple[ModelChoice, ...]:
        found: ModelChoice | tuple[ModelChoice, ...] = getattr(self, role)
        return found if isinstance(found, tuple) else (found,)

    def group_by_model(self) -> Mapping[str, tuple[str, ...]]:
        """Every model that does something, with its roles; in the order of ROLES."""
        found: dict[str, tuple[str, ...]] = {}
        for role in ROLES:
            for model in dict.fromkeys(choice.model for choice in self.get_choices(role)):
                found[model] = (*found.get(model, ()), role)
        return found


def find_no_stored_key(_provider: str) -> None:
    """Keys are kept nowhere but in the environment."""


def choose_model(
    loaded: LoadedSettings, environ: Mapping[str, str], stored_key: StoredKey = find_no_stored_key
) -> ModelChoice:
    """Choose the model of the decision role. `stored_key` is asked only where nothing else says which.

    Raises ConfigError where the set one has no provider, and where something is configured from which no
    model follows: the offline interpreter is never a silent stand-in for a model that someone set up.
    """
    settings = loaded.settings
    if model := settings.models.decision:
        if problem := _explain_unfit(loaded, "decision", model):
            raise ConfigError(problem)
        return ModelChoice(model, _explain_setting(loaded, "decision"))
    for name, model in _list_allowed_defaults(loaded):
        table = settings.providers[name]
        # a cloud has names of its own for the models it serves
        if not table.client and table.api_key_env and environ.get(table.api_key_env, "").strip():
            return ModelChoice(model, f"models.decision is not set, and {table.api_key_env} is")
    if configured := _list_configured(loaded):
        name, why = configured[0]
        raise ConfigError(
            f"the provider {name} is configured ({why}), but no model is chosen; set models.decision = "
            f'"{name}/MODEL" in quorum.toml, or say -m {name}/MODEL'
        )
    return _choose_by_stored_key(loaded, stored_key)


def _list_allowed_defaults(loaded: LoadedSettings) -> list[tuple[str, str]]:
    """The default models that the managed policy allows, each with its provider."""
    providers = loaded.settings.providers
    return [
        (name, model)
        for name, model in DEFAULT_MODELS.items()
        if loaded.policy.explain_model_refusal(model, providers) is None
    ]


def _choose_by_stored_key(loaded: LoadedSettings, stored_key: StoredKey) -> ModelChoice:
    try:
        for name, model in _list_allowed_defaults(loaded):
            if not loaded.settings.providers[name].client and stored_key(name) is not None:
                return ModelChoice(model, f"models.decision is not set, and the keyring has a key for {name}")
    except ConfigError as trouble:
        return ModelChoice(OFFLINE_MODEL, f"no key is set and no server is configured; {trouble}")
    return ModelChoice(OFFLINE_MODEL, "no key is set and no server is configured")


def choose_roles(
    loaded: LoadedSettings, environ: Mapping[str, str], stored_key: StoredKey = find_no_stored_key
) -> ModelRoles:
    """Choose the model of every role.

    Raises ConfigError as `choose_model`, and where the model set for another role has no provider: a typing
    error is reported at the start and not when the first vote is due.
    """
    problems = [
        problem
        for role in ROLES
        for model in _read_setting(loaded.settings, role)
        if (problem := _explain_unfit(loaded, role, model))
    ]
    if problems:
        raise ConfigError("\n".join(dict.fromkeys(problems)))
    decision = choose_model(loaded, environ, stored_key)
    models = loaded.settings.models
    return ModelRoles(
        decision=decision,
        exploration=_choose_one(loaded, "exploration", decision),
        ask=_choose_one(loaded, "ask", decision),
        moderator=_choose_one(loaded, "moderator", decision),
        decision_fallback=_choose_several(loaded, "decision_fallback"),
        review=_choose_several(loaded, "review"),
        participants=_choose_several(loaded, "participants")
        if models.participants
        else (_follow_decision("participants", decision),),
    )


def parse_model_overrides(options: Sequence[str]) -> Mapping[str, str | list[str]]:
    """The overrides that `-m MODEL` and `-m ROLE=MODEL` mean.

    Of two for one role the later counts; a role that has a list gets all of them, in place of the list in
    the settings, and none at all by `-m ROLE=`. Raises ConfigError for a role that does not exist.
    """
    overrides: dict[str, str | list[str]] = {}
    lists: dict[str, list[str]] = {}
    for option in options:
        role, equals, model = option.partition("=")
        if not equals or "/" in role:
            role, model = "decision", option
        if role not in ROLES:
            raise ConfigError(_explain_unknown_role(option, role))
        if role in LIST_ROLES:
            models = lists.setdefault(role, [])
            models += [model] if model else []
            overrides[f"models.{role}"] = models
        else:
            overrides[f"models.{role}"] = model
    return overrides


def _choose_one(loaded: LoadedSettings, role: str, decision: ModelChoice) -> ModelChoice:
    found = _read_setting(loaded.settings, role)
    return ModelChoice(found[0], _explain_setting(loaded, role)) if found else _follow_decision(role, decision)


def _choose_several(loaded: LoadedSettings, role: str) -> tuple[ModelChoice, ...]:
    return tuple(
        ModelChoice(model, _explain_setting(loaded, role)) for model in _read_setting(loaded.settings, role)
    )


def _follow_decision(role: str, decision: ModelChoice) -> ModelChoice:
    return ModelChoice(decision.model, f"models.{role} is not set, so that of decision counts")


def _read_setting(settings: Settings, role: str) -> tuple[str, ...]:
    """What the settings say themselves, before any fallback."""
    found: str | tuple[str, ...] = getattr(settings.models, role)
    if isinstance(found, str):
        return (found,) if found else ()
    return found


def _explain_setting(loaded: LoadedSettings, role: str) -> str:
    return f"models.{role} says so ({loaded.origins[f'models.{role}']})"


def _explain_unknown_role(option: str, role: str) -> str:
    like = find_nearest_word(role, ROLES)
    hint = f"did you mean {like}? " if like else ""
    problem = f"-m {format_literal(option)}: there is no role {format_literal(role)}"
    return f"{problem}; {hint}the roles are {', '.join(ROLES)}"


def _explain_unfit(loaded: LoadedSettings, role: str, model: str) -> str | None:
    """Why the model that is set for a role cannot have it."""
    if problem := _explain_unknown_provider(loaded, role, model):
        return problem
    table = loaded.settings.providers[model.partition("/")[0]]
    if role in _ANSWERING_ROLES or not get_traits(table.type).only_answers:
        return None
    return (
        f"models.{role} = {format_literal(model)} ({loaded.origins[f'models.{role}']}) has to call tools, and "
        f"this model only answers; it can be in {', '.join(f'models.{each}' for each in _ANSWERING_ROLES)}"
    )


def _explain_unknown_provider(loaded: LoadedSettings, role: str, model: str) -> str | None:
    """What is wrong where a role's model names a provider that does not exist."""
    name, _, own_name = model.partition("/")
    providers = tuple(loaded.settings.providers)
    if name in providers:
        return None
    like = find_nearest_word(name, providers)
    hint = f"did you mean {like}/{own_name}?" if like else f"declare [providers.{name}]"
    key = f"models.{role}"
    said = f"{format_literal(model)} in {key}" if role in LIST_ROLES else f"{key} = {format_literal(model)}"
    return (
        f"{said} ({loaded.origins[key]}) names a provider that does not exist; known are "
        f"{', '.join(providers)}; {hint}"
    )


def _list_configured(loaded: LoadedSettings) -> list[tuple[str, str]]:
    """Providers that someone set up, and where: own ones, and those of which something was changed."""
    found = []
    for name, table in loaded.settings.providers.items():
        changed = (loaded.origins[f"providers.{name}.{key}"] for key in _SIGNS_OF_A_SETUP)
        places = [origin for origin in changed if origin != DEFAULT_ORIGIN]
        if places and table.type != "offline" and not get_traits(table.type).only_answers:
            found.append((name, places[0]))
    return found


class AskedModels(Struct, frozen=True, kw_only=True):
    """The models of a session as "provider/model": the first of `models` that can be had answers it.

    `participants` are asked one question, `debaters` debate it, `moderator` puts their answers together.
    """

    models: Sequence[str] = ()
    efforts: Mapping[str, Effort] = field(default_factory=dict)
    participants: Sequence[str] = ()
    debaters: Sequence[str] = ()
    moderator: str = ""


def choose_asked_models(loaded: LoadedSettings, record: SessionRecord, roles: ModelRoles) -> AskedModels:
    models = _choose_models(loaded, record, roles)
    debaters = _choose_debaters(loaded, roles)
    return AskedModels(
        models=models,
        efforts=find_former_efforts(loaded, record.records, models),
        participants=_choose_participants(record.form, roles, debaters),
        debaters=debaters,
        moderator=roles.moderator.model,
    )


def _choose_debaters(loaded: LoadedSettings, roles: ModelRoles) -> tuple[str, ...]:
    """The models that debate: those of the settings, where the command line names no participants."""
    is_overridden = is_flag(loaded.origins, "models.participants")
    named = () if is_overridden else loaded.settings.debate.models
    return named or tuple(choice.model for choice in roles.participants)


def _choose_participants(kind: SessionKind, roles: ModelRoles, debaters: tuple[str, ...]) -> tuple[str, ...]:
    """The models that are asked one question. Those that vote on calls review changes, if there are any."""
    if kind is SessionKind.DEBATE:
        return debaters
    reviewers = roles.review if kind is SessionKind.REVIEW else ()
    return tuple(choice.model for choice in reviewers or roles.participants)


def _choose_models(loaded: LoadedSettings, record: SessionRecord, roles: ModelRoles) -> tuple[str, ...]:
    """The model the session had, where no other is asked for now, before the one it would have anyway."""
    match record.form:
        case SessionKind.EXTERNAL:
            return (name_external_model(record.external_agent),)
        case SessionKind.AGENT:
            usual = roles.decision.model
        case SessionKind.ASK:
            usual = roles.ask.model
        case SessionKind.DISCUSS | SessionKind.DEBATE | SessionKind.REVIEW:
            usual = roles.moderator.model
    former = _find_former_model(record.records)
    if former is None or former == usual or is_flag(loaded.origins, "models.decision"):
        return (usual,)
    return (former, usual)


def _find_former_model(records: tuple[LedgerRecord, ...]) -> str | None:
    for record in reversed(records):
        if isinstance(record.event, ModelChanged | SessionResumed | SessionStarted):
            return record.event.model
    return None


def find_former_efforts(
    loaded: LoadedSettings, records: tuple[LedgerRecord, ...], models: tuple[str, ...]
) -> Mapping[str, Effort]:
    """The effort that each model of the session had last, or the one that a flag asks of all `models`."""
    if is_flag(loaded.origins, "models.effort.decision"):
        return dict.fromkeys(models, loaded.settings.models.effort["decision"])
    chosen: dict[str, Effort] = {}
    for record in records:
        match record.event:
            case ModelChanged(model=model, effort=Effort() as effort):
                chosen[model] = effort
            case (
                SessionStarted(model=model, effort=Effort() as effort)
                | SessionResumed(model=model, effort=Effort() as effort)
            ) if effort is not Effort.DEFAULT:
                chosen[model] = effort
    return chosen


def choose_consensus(
    loaded: LoadedSettings, asked: AskedModels, kind: SessionKind, events: EventBus
) -> ConsensusChoice:
    """Without participants at all, as in a session of a subagent, there is no choice."""
    from quorum.application.panel.panel_session import ConsensusChoice  # most commands open no session

    if kind is SessionKind.EXTERNAL:
        refusal = "the agent of this session answers alone; open another with /tab"
        return ConsensusChoice(Consensus(), events=events, refusal=refusal)
    if kind is not SessionKind.AGENT:
        refusal = f"this session is for /{kind}, and its models are chosen for that; open another with /tab"
        return ConsensusChoice(Consensus(), events=events, refusal=refusal)
    if not asked.participants:
        return ConsensusChoice(Consensus(), events=events, refusal="one model answers in this session")
    table, origins, state = loaded.settings.agent, loaded.origins, events.state
    former = state.consensus or Consensus(level=table.consensus_level, strategy=table.strategy)
    wanted = former.change(
        level=table.consensus_level if is_flag(origins, "agent.consensus_level") else None,
        strategy=table.strategy if is_flag(origins, "agent.strategy") else None,
    )
    is_former = bool(state.session_id) and not is_flag(origins, "agent.phase_scope")
    scope = state.phase.scope if is_former else table.phase_scope
    return ConsensusChoice(
        wanted, events=events, notices=check_consensus(wanted, is_fast=scope is PhaseScope.FAST)
    )

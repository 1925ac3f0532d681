"""What a session is asked with: what one that is resumed had before, where no flag wants something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from quorum.application.event_bus import EventBus
from quorum.application.panel.panel_session import ConsensusChoice
from quorum.application.session.session_record import SessionRecord
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.session_kind import SessionKind, name_external_model
from quorum.domain.events.event import ModelChanged, SessionResumed, SessionStarted
from quorum.domain.panel.panel_answer import Consensus, check_consensus
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.infrastructure.config.loading import LoadedSettings, is_flag
from quorum.infrastructure.config.model_choice import ModelRoles


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
    return ConsensusChoice(wanted, events=events, notices=check_consensus(wanted, scope))

"""What lets several models answer: between the calls of a session and its conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from application.events.event_bus import EventBus
from application.panel.consensus_choice import ConsensusChoice
from application.panel.panel import Panel
from domain.conversation.session_kind import SessionKind
from domain.panel.consensus import Consensus, check_consensus
from domain.panel.debate_record import DebatePolicy
from domain.sessions.state import SessionState
from infrastructure.changes.opening import choose_answer_timeout
from infrastructure.config.loading import FLAG_ORIGIN
from infrastructure.config.schema import AgentTable
from infrastructure.injection import providers
from infrastructure.prices.model_figures import build_output_lookup
from infrastructure.tool_container import ToolContainer


def build_consensus_choice(
    settings: AgentTable,
    origins: Mapping[str, str],
    *,
    state: SessionState,
    kind: SessionKind,
    participants: Sequence[str],
    events: EventBus,
) -> ConsensusChoice:
    """A session that is resumed keeps its choice, unless a flag asks for another. One without `participants` at
    all, as that of a subagent, has none."""
    if kind is not SessionKind.AGENT:
        refusal = f"this session is for /{kind}, and its models are chosen for that; open another with /tab"
        return ConsensusChoice(Consensus(), events=events, refusal=refusal)
    if not participants:
        return ConsensusChoice(Consensus(), events=events, refusal="one model answers in this session")
    former = state.consensus or Consensus(level=settings.consensus_level, strategy=settings.strategy)
    wanted = former.change(
        level=settings.consensus_level if origins.get("agent.consensus_level") == FLAG_ORIGIN else None,
        strategy=settings.strategy if origins.get("agent.strategy") == FLAG_ORIGIN else None,
    )
    is_former = bool(state.session_id) and origins.get("agent.phase_scope") != FLAG_ORIGIN
    scope = state.phase.scope if is_former else settings.phase_scope
    return ConsensusChoice(wanted, events=events, notices=check_consensus(wanted, scope))


def join_calls(*calls: Callable[[], None]) -> Callable[[], None]:
    """Calls all of these, in this order."""

    def call_all() -> None:
        for call in calls:
            call()

    return call_all


_PANEL = {
    "gateway": ToolContainer.metered,
    "events": ToolContainer.events,
    "prices": ToolContainer.prices,
    "efforts": ToolContainer.settings.provided.models.effort,
    "shape": ToolContainer.hooks.provided.on_message_send,
    "longest_answer": providers.Callable(build_output_lookup, ToolContainer.settings.provided.providers),
}
"""What panels have in common, whatever time they give an answer."""


class PanelContainer(ToolContainer):
    """Who answers a prompt, and how several models are asked."""

    consensus = providers.Singleton(
        build_consensus_choice,
        ToolContainer.settings.provided.agent,
        ToolContainer.origins,
        state=ToolContainer.state,
        kind=ToolContainer.kind,
        participants=ToolContainer.participants,
        events=ToolContainer.events,
    )
    begin_turn = providers.Callable(
        join_calls, ToolContainer.spending.provided.begin_turn, consensus.provided.begin_turn
    )
    debate_policy = providers.Singleton(
        DebatePolicy,
        max_rounds=ToolContainer.settings.provided.debate.max_rounds,
        intensity=ToolContainer.settings.provided.debate.intensity,
        allow_interjection=ToolContainer.settings.provided.debate.allow_interjection,
    )
    panel = providers.Singleton(
        Panel,
        timeout_secs=providers.Callable(choose_answer_timeout, ToolContainer.settings, ToolContainer.kind),
        **_PANEL,
    )
    review_panel = providers.Singleton(
        Panel, timeout_secs=ToolContainer.settings.provided.code_review.answer_timeout_secs, **_PANEL
    )

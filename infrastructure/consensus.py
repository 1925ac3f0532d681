"""The choice of how many models answer, as a session begins with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from application.events.event_bus import EventBus
from application.panel.consensus_choice import ConsensusChoice
from domain.conversation.session_kind import SessionKind
from domain.panel.consensus import Consensus, check_consensus
from domain.sessions.state import SessionState
from infrastructure.config.loading import FLAG_ORIGIN
from infrastructure.config.schema import AgentTable


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

"""What lets several models answer: between the calls of a session and its conversation."""

from __future__ import annotations

from application.panel.panel import Panel
from domain.panel.debate_record import DebatePolicy
from infrastructure.changes.opening import choose_answer_timeout
from infrastructure.consensus import build_consensus_choice, join_calls
from infrastructure.injection import providers
from infrastructure.prices.model_figures import build_output_lookup
from infrastructure.tool_container import ToolContainer

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

"""Opens what sends a conversation to models, or has several of them answer it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from quorum.application.conversation_session import ShapedExchange
from quorum.application.events.event_bus import EventBus
from quorum.application.instructions.system_prompt import SystemPrompt
from quorum.application.panel.consensus_choice import ConsensusChoice
from quorum.application.panel.consensus_session import ConsensusSession, PromptPanels
from quorum.application.panel.drafts import DraftPolicy
from quorum.application.panel.panel import Panel
from quorum.application.ports.models import LlmExchange, MessageShaper
from quorum.application.turn.switchable_session import OpenExchange
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.panel.consensus import Strategy
from quorum.domain.panel.debate_record import DebatePolicy

if TYPE_CHECKING:  # what several models answer is loaded where they do
    from quorum.application.panel.debate import Debate
    from quorum.application.panel.discussion import Discussion
    from quorum.application.panel.draft_ensemble import DraftEnsemble
    from quorum.application.panel.ensemble import Ensemble
    from quorum.application.panel.panel_session import PanelSession
    from quorum.application.panel.plan_ensemble import PlanEnsemble


class Opening(Struct, frozen=True):
    """The first way to a model; `notices` say which other one was wanted and why it cannot be had."""

    exchange: LlmExchange
    notices: tuple[str, ...] = ()


def make_exchange_opener(open_exchange: OpenExchange, shape: MessageShaper) -> OpenExchange:
    """Opens what sends requests to models, with their messages shaped before."""
    return lambda model: ShapedExchange(open_exchange(model), shape)


def make_prompt_panels(
    panel: Panel,
    *,
    system_prompt: SystemPrompt,
    participants: Sequence[str],
    debaters: Sequence[str],
    debate_policy: DebatePolicy,
    draft_policy: DraftPolicy,
    moderator: str,
    events: EventBus,
    root: Path,
) -> PromptPanels:
    """What makes the panels that answer prompts, in a session that works in `root`."""

    def open_ensemble() -> Ensemble:
        from quorum.application.panel.ensemble import Ensemble
        from quorum.application.panel.ensemble_forms import ANSWERING_ROLE

        return Ensemble(
            panel,
            system=system_prompt.with_role(ANSWERING_ROLE),
            moderator=moderator,
            models=participants,
            events=events,
        )

    def open_debate() -> Debate:
        return _open_debate(
            panel,
            system_prompt=system_prompt,
            moderator=moderator,
            debaters=debaters,
            events=events,
            policy=debate_policy,
        )

    def open_plan_ensemble() -> PlanEnsemble:
        from quorum.application.panel.plan_ensemble import PlanEnsemble
        from quorum.application.panel.plan_ensemble_forms import PLANNING_ROLE

        return PlanEnsemble(
            panel,
            system=system_prompt.with_role(PLANNING_ROLE),
            moderator=moderator,
            models=participants,
            events=events,
            policy=draft_policy,
        )

    def open_draft_ensemble() -> DraftEnsemble:
        from quorum.application.panel.draft_ensemble import INSTRUCTION_FILE, DraftEnsemble
        from quorum.application.panel.draft_ensemble_forms import DRAFTING_ROLE

        return DraftEnsemble(
            panel,
            system=system_prompt.with_role(DRAFTING_ROLE),
            moderator=moderator,
            models=participants,
            events=events,
            policy=draft_policy,
            is_there=(root / INSTRUCTION_FILE).is_file,
        )

    answer: Mapping[Strategy, Callable[[], PanelSession]] = {
        Strategy.QUORUM: open_ensemble,
        Strategy.DEBATE: open_debate,
    }
    return PromptPanels(answer=answer, plan=open_plan_ensemble, draft=open_draft_ensemble)


def _open_debate(
    panel: Panel,
    *,
    system_prompt: SystemPrompt,
    moderator: str,
    debaters: Sequence[str],
    events: EventBus,
    policy: DebatePolicy,
) -> Debate:
    from quorum.application.panel.debate import Debate
    from quorum.application.panel.debate_forms import DEBATING_ROLE

    return Debate(
        panel,
        system=system_prompt.with_role(DEBATING_ROLE),
        moderator=moderator,
        models=debaters,
        events=events,
        policy=policy,
    )


def make_consensus_opener(
    open_alone: OpenExchange,
    *,
    panels: PromptPanels,
    choice: ConsensusChoice,
    events: EventBus,
) -> OpenExchange:
    """Opens what has a model answer, or as it was chosen the participants."""
    return lambda model: ConsensusSession(open_alone(model), panels, choice=choice, events=events)


def make_discussion_opener(
    panel: Panel,
    *,
    system_prompt: SystemPrompt,
    participants: Sequence[str],
    events: EventBus,
) -> OpenExchange:
    """Opens discussions, each with the model that is to be its moderator."""

    def open_discussion(model: str) -> Discussion:
        from quorum.application.panel.discussion import Discussion

        return Discussion(
            panel,
            system=system_prompt.text,
            moderator=model,
            models=participants,
            events=events,
        )

    return open_discussion


def make_debate_opener(
    panel: Panel,
    *,
    system_prompt: SystemPrompt,
    participants: Sequence[str],
    events: EventBus,
    policy: DebatePolicy,
) -> OpenExchange:
    """Opens debates, each with the model that is to be its moderator."""
    return lambda model: _open_debate(
        panel,
        system_prompt=system_prompt,
        moderator=model,
        debaters=participants,
        events=events,
        policy=policy,
    )


def open_first(open_exchange: OpenExchange, models: Sequence[str]) -> Opening:
    """Open what sends requests to the first of these models that can be had. Raises ProviderError where none
    can."""
    notices: list[str] = []
    for model, following in pairwise(models):
        try:
            return Opening(open_exchange(model), tuple(notices))
        except ProviderError as error:
            notices.append(
                f"The session's model, {model}, cannot be used, so {following} continues it: {error}"
            )
    return Opening(open_exchange(models[-1]), tuple(notices))


def check_fallbacks(open_exchange: OpenExchange, models: Sequence[str]) -> tuple[str, ...]:
    """What is wrong with the models that replace others: reported at the start, not when they are needed."""
    return _find_problems(open_exchange, models, "in models.decision_fallback cannot stand in")


def check_participants(open_exchange: OpenExchange, models: Sequence[str]) -> tuple[str, ...]:
    """What is wrong with the participants of a discussion: reported at the start as well.

    Raises ProviderError where none of them can be had.
    """
    problems = _find_problems(open_exchange, models, "in models.participants cannot take part")
    if models and len(problems) == len(models):
        raise ProviderError("; ".join(problems), kind=ProviderErrorKind.CONFIGURATION)
    return problems


def _find_problems(open_exchange: OpenExchange, models: Sequence[str], consequence: str) -> tuple[str, ...]:
    problems: list[str] = []
    for model in models:
        try:
            open_exchange(model)
        except ProviderError as error:
            problems.append(f"{model} {consequence}: {error}")
    return tuple(problems)

"""Opens what sends a conversation to models, or has several of them answer it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from quorum.application.conversation_session import ShapedExchange
from quorum.application.event_bus import EventBus
from quorum.application.instructions.system_prompt import SystemPrompt
from quorum.application.panel.panel import Panel
from quorum.application.panel.panel_session import ConsensusChoice, ConsensusSession, PromptPanels
from quorum.application.panel.participant_work import DraftPolicy
from quorum.application.ports.models import LlmExchange, LlmGateway, LlmRequest, MessageShaper, OnStreamEvent
from quorum.application.ports.workspace import ChangeSource
from quorum.application.turn.switchable_session import OpenExchange
from quorum.domain.code_review.change import CodeReviewPolicy
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.conversation.session_kind import SessionKind, name_external_model
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.panel.debate_record import DebatePolicy
from quorum.domain.panel.panel_answer import Strategy
from quorum.infrastructure.config.model_choice import AskedModels

if TYPE_CHECKING:  # what several models answer is loaded where they do
    from quorum.application.panel.code_review import CodeReview
    from quorum.application.panel.debate import Debate
    from quorum.application.panel.discussion import Discussion
    from quorum.application.panel.ensemble import DraftEnsemble, Ensemble
    from quorum.application.panel.plan_ensemble import PlanEnsemble


class Opening(Struct, frozen=True):
    """The first way to a model; `notices` say which other one was wanted and why it cannot be had."""

    exchange: LlmExchange
    notices: tuple[str, ...] = ()


class ExternalModel:
    """Implements `LlmExchange` where an agent of another vendor answers: nothing is sent to it here. Raises
    ProviderError for another model."""

    def __init__(self, agent: str, model: str) -> None:
        self.model = name_external_model(agent)
        if model != self.model:
            raise self._refuse(f"the agent {agent} works in this session: /agent chooses among its own models")

    async def exchange(self, request: LlmRequest, on_event: OnStreamEvent) -> LlmResponse:
        raise self._refuse("the agent of this session keeps its own conversation")

    def _refuse(self, why: str) -> ProviderError:
        return ProviderError(why, kind=ProviderErrorKind.CONFIGURATION)


class PanelForms(Struct, frozen=True, kw_only=True, eq=False):
    """The forms in which the models of a panel answer, each loaded where it is opened."""

    panel: Panel
    system_prompt: SystemPrompt
    asked: AskedModels
    debate_policy: DebatePolicy
    draft_policy: DraftPolicy
    review_policy: CodeReviewPolicy
    events: EventBus
    root: Path

    def list_prompt_panels(self) -> PromptPanels:
        """What makes the panels that answer prompts."""
        return PromptPanels(
            answer={
                Strategy.QUORUM: self.open_ensemble,
                Strategy.DEBATE: lambda: self.open_debate(self.asked.moderator, self.asked.debaters),
            },
            plan=self.open_plan_ensemble,
            draft=self.open_draft_ensemble,
        )

    def choose_opener(
        self,
        kind: SessionKind,
        gateway: LlmGateway,
        *,
        agent: str,
        shape: MessageShaper,
        choice: ConsensusChoice,
        read_source: Callable[[], ChangeSource],
    ) -> OpenExchange:
        """What opens the way to a model, in the form that a session of this kind is for. `agent` is that of
        another vendor, empty where none works in it; `shape` is what `ShapedExchange` takes."""

        def open_exchange(model: str) -> LlmExchange:
            return ShapedExchange(gateway.open_exchange(model), shape)

        match kind:
            case SessionKind.ASK:
                return open_exchange
            case SessionKind.EXTERNAL:
                return lambda model: ExternalModel(agent, model)
            case SessionKind.AGENT:
                panels = self.list_prompt_panels()
                return lambda model: ConsensusSession(
                    open_exchange(model), panels, choice=choice, events=self.events
                )
            case SessionKind.DISCUSS:
                return self.open_discussion
            case SessionKind.DEBATE:
                return lambda model: self.open_debate(model, self.asked.participants)
            case SessionKind.REVIEW:
                source = read_source()
                return lambda model: self.open_code_review(model, source)

    def open_ensemble(self) -> Ensemble:
        from quorum.application.panel.ensemble import ANSWERING_ROLE, Ensemble

        return Ensemble(
            self.panel,
            system=self.system_prompt.with_role(ANSWERING_ROLE),
            moderator=self.asked.moderator,
            models=self.asked.participants,
            events=self.events,
        )

    def open_plan_ensemble(self) -> PlanEnsemble:
        from quorum.application.panel.plan_ensemble import PLANNING_ROLE, PlanEnsemble

        return PlanEnsemble(
            self.panel,
            system=self.system_prompt.with_role(PLANNING_ROLE),
            moderator=self.asked.moderator,
            models=self.asked.participants,
            events=self.events,
            policy=self.draft_policy,
        )

    def open_draft_ensemble(self) -> DraftEnsemble:
        from quorum.application.panel.ensemble import DRAFTING_ROLE, INSTRUCTION_FILE, DraftEnsemble

        return DraftEnsemble(
            self.panel,
            system=self.system_prompt.with_role(DRAFTING_ROLE),
            moderator=self.asked.moderator,
            models=self.asked.participants,
            events=self.events,
            policy=self.draft_policy,
            is_there=(self.root / INSTRUCTION_FILE).is_file,
        )

    def open_discussion(self, moderator: str) -> Discussion:
        from quorum.application.panel.discussion import Discussion

        return Discussion(
            self.panel,
            system=self.system_prompt.text,
            moderator=moderator,
            models=self.asked.participants,
            events=self.events,
        )

    def open_debate(self, moderator: str, models: Sequence[str]) -> Debate:
        from quorum.application.panel.debate import Debate
        from quorum.application.panel.debate_forms import DEBATING_ROLE

        return Debate(
            self.panel,
            system=self.system_prompt.with_role(DEBATING_ROLE),
            moderator=moderator,
            models=models,
            events=self.events,
            policy=self.debate_policy,
        )

    def open_code_review(self, moderator: str, source: ChangeSource) -> CodeReview:
        from quorum.application.panel.code_review import CodeReview

        return CodeReview(
            self.panel,
            moderator=moderator,
            models=self.asked.participants,
            events=self.events,
            source=source,
            policy=self.review_policy,
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

"""What answers the session: its models, and the forms in which several are asked."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Final

from quorum.application.instructions.system_prompt import SystemPrompt
from quorum.application.panel.consensus_choice import ConsensusChoice
from quorum.application.panel.panel import Panel
from quorum.application.session.late_secrets import mask_record
from quorum.application.session.session_models import SessionModels
from quorum.application.session.session_record import SessionRecord
from quorum.application.turn.fallback_models import FallbackModels
from quorum.application.turn.reasoning_efforts import ReasoningEfforts, list_effort_roles
from quorum.application.turn.switchable_session import OpenExchange, SwitchableSession
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.panel.consensus import Consensus, check_consensus
from quorum.domain.panel.debate_record import DebatePolicy
from quorum.domain.review.lens import list_unused_lenses
from quorum.infrastructure.changes.folder_tools import build_draft_policy, choose_folder_tools
from quorum.infrastructure.changes.opening import (
    build_code_review_policy,
    choose_answer_timeout,
    choose_source,
    make_code_review_opener,
    open_changes,
)
from quorum.infrastructure.changes.repository_changes import RepositoryChanges
from quorum.infrastructure.composition.calls import CallParts
from quorum.infrastructure.composition.decisions import CoreParts, ReviewParts, SharedParts
from quorum.infrastructure.composition.inputs import SessionInputs, SubagentTerms
from quorum.infrastructure.config.loading import FLAG_ORIGIN
from quorum.infrastructure.models.opening import (
    check_fallbacks,
    check_participants,
    make_consensus_opener,
    make_debate_opener,
    make_discussion_opener,
    make_exchange_opener,
    make_prompt_panels,
    open_first,
)
from quorum.infrastructure.prices.model_figures import build_output_lookup


class ChangeParts:
    """The changes that can be reviewed."""

    def __init__(self, given: SessionInputs, shared: SharedParts, reviews: ReviewParts) -> None:
        self._given, self._shared, self._reviews = given, shared, reviews
        self.policy: Final = build_code_review_policy(given.settings)

    @cached_property
    def changes(self) -> RepositoryChanges:
        """Made where a change is reviewed."""
        given, shared, reviews = self._given, self._shared, self._reviews
        return open_changes(
            given.root,
            given.environ,
            make_tools=choose_folder_tools(
                given.settings, voting=reviews.voting, mask=given.mask, hooks=shared.registrations
            ),
            participants=given.participants,
            policy=self.policy,
            mask=given.mask,
            paths=shared.paths,
        )


def choose_consensus(given: SessionInputs, core: CoreParts) -> ConsensusChoice:
    """A session that is resumed keeps its choice, unless a flag asks for another. One without participants at
    all, as that of a subagent, has none."""
    kind, events, state = given.record.form, core.events, core.state
    if kind is not SessionKind.AGENT:
        refusal = f"this session is for /{kind}, and its models are chosen for that; open another with /tab"
        return ConsensusChoice(Consensus(), events=events, refusal=refusal)
    if not given.participants:
        return ConsensusChoice(Consensus(), events=events, refusal="one model answers in this session")
    table, origins = given.settings.agent, given.origins
    former = state.consensus or Consensus(level=table.consensus_level, strategy=table.strategy)
    wanted = former.change(
        level=table.consensus_level if origins.get("agent.consensus_level") == FLAG_ORIGIN else None,
        strategy=table.strategy if origins.get("agent.strategy") == FLAG_ORIGIN else None,
    )
    is_former = bool(state.session_id) and origins.get("agent.phase_scope") != FLAG_ORIGIN
    scope = state.phase.scope if is_former else table.phase_scope
    return ConsensusChoice(wanted, events=events, notices=check_consensus(wanted, scope))


class ModelParts:
    """Who is asked, and the session in which that happens."""

    def __init__(
        self,
        given: SessionInputs,
        core: CoreParts,
        shared: SharedParts,
        reviews: ReviewParts,
        calls: CallParts,
        reviewed: ChangeParts,
        terms: SubagentTerms,
    ) -> None:
        settings, kind = given.settings, given.record.form
        self._given, self._core, self._reviews = given, core, reviews
        self._shared, self._reviewed, self._calls = shared, reviewed, calls
        self.consensus: Final = choose_consensus(given, core)
        self.debate_policy: Final = DebatePolicy(
            max_rounds=settings.debate.max_rounds,
            intensity=settings.debate.intensity,
            allow_interjection=settings.debate.allow_interjection,
        )
        open_panel = partial(
            Panel,
            gateway=reviews.metered,
            events=core.events,
            prices=shared.prices,
            efforts=settings.models.effort,
            shape=calls.hooks.on_message_send,
            longest_answer=build_output_lookup(settings.providers),
        )
        self.panel: Final = open_panel(timeout_secs=choose_answer_timeout(settings, kind))
        self.review_panel: Final = open_panel(timeout_secs=settings.code_review.answer_timeout_secs)
        self.system_prompt: Final = terms.system_prompt or SystemPrompt(kind)
        self.efforts: Final = ReasoningEfforts(
            settings.models.effort,
            roles=list_effort_roles(kind),
            list_efforts=shared.gateway.list_efforts,
            chosen=given.chosen_efforts,
        )
        self.open_exchange: Final = self._choose_opener()
        has_one_model = kind in {SessionKind.AGENT, SessionKind.ASK}
        self._fallbacks: Final = settings.models.decision_fallback if has_one_model else ()
        self.opening: Final = open_first(self.open_exchange, given.models)
        self.session: Final = SwitchableSession(
            self.opening.exchange,
            open_exchange=self.open_exchange,
            fallbacks=FallbackModels(self._fallbacks, events=core.events),
        )
        self.session_models: Final = SessionModels(
            self.session, gateway=shared.gateway, events=core.events, efforts=self.efforts
        )

    def _choose_opener(self) -> OpenExchange:
        """What opens the way to a model, in the form that the session is for."""
        given, events = self._given, self._core.events
        participants, prompt = given.participants, self.system_prompt
        open_alone = make_exchange_opener(
            self._reviews.metered.open_exchange, self._calls.hooks.on_message_send
        )
        match given.record.form:
            case SessionKind.ASK:
                return open_alone
            case SessionKind.AGENT:
                panels = make_prompt_panels(
                    self.panel,
                    system_prompt=prompt,
                    participants=participants,
                    debaters=given.debaters,
                    debate_policy=self.debate_policy,
                    draft_policy=build_draft_policy(
                        given.settings,
                        voting=self._reviews.voting,
                        mask=given.mask,
                        hooks=self._shared.registrations,
                        workspace=self._shared.workspace,
                        paths=self._shared.paths,
                        rules=self._shared.rules,
                    ),
                    moderator=given.moderator,
                    events=events,
                    root=given.root,
                )
                return make_consensus_opener(
                    open_alone,
                    panels=panels,
                    choice=self.consensus,
                    events=events,
                )
            case SessionKind.DISCUSS:
                return make_discussion_opener(
                    self.panel,
                    system_prompt=prompt,
                    participants=participants,
                    events=events,
                )
            case SessionKind.DEBATE:
                return make_debate_opener(
                    self.panel,
                    system_prompt=prompt,
                    participants=participants,
                    events=events,
                    policy=self.debate_policy,
                )
            case SessionKind.REVIEW:
                return make_code_review_opener(
                    self.panel,
                    participants=participants,
                    events=events,
                    source=choose_source(self._reviewed.changes, given.read_change),
                    policy=self._reviewed.policy,
                )

    def begin_turn(self) -> None:
        """What the turn may spend, and how it is answered, begin anew."""
        self._shared.spending.begin_turn()
        self.consensus.begin_turn()

    @cached_property
    def visible_record(self) -> SessionRecord:
        """The record as people may see it: without the secrets that are known by now, with what there is to say
        before the first request."""
        given, settings = self._given, self._given.settings
        reviewers, form = settings.models.review, given.record.form
        asks_several = form not in {SessionKind.AGENT, SessionKind.ASK}
        return mask_record(
            given.record,
            given.mask,
            (
                *self.opening.notices,
                *self.consensus.notices,
                *check_fallbacks(self.open_exchange, self._fallbacks),
                *list_unused_lenses(settings.quorum.lenses, reviewers, given.participants),
                *self.efforts.describe_ignored(self.opening.exchange.model),
                *check_participants(
                    self._reviews.metered.open_exchange, given.participants if asks_several else ()
                ),
                *self._calls.choice.notices,
                *self._reviews.quorum_policy.calibration.notices,
                *self._shared.spending.build_unpriced_notices((given.models[0], *reviewers)),
            ),
        )

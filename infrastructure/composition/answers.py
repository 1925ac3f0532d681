"""What answers the session: its models, and the forms in which several are asked."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Final

from quorum.application.conversation_session import ShapedExchange
from quorum.application.instructions.system_prompt import SystemPrompt
from quorum.application.panel.panel import Panel
from quorum.application.session.agent_session import SessionModels
from quorum.application.session.session_record import SessionRecord, mask_record
from quorum.application.turn.switchable_session import (
    FallbackModels,
    ReasoningEfforts,
    SwitchableSession,
    list_effort_roles,
)
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.review.ballot import list_unused_lenses
from quorum.infrastructure import settings_conversion as conversion
from quorum.infrastructure.changes.folder_tools import build_draft_policy
from quorum.infrastructure.composition.calls import CallParts
from quorum.infrastructure.composition.decisions import ReviewParts
from quorum.infrastructure.config.session_choices import choose_consensus
from quorum.infrastructure.models.opening import (
    ExternalModel,
    PanelForms,
    check_fallbacks,
    check_participants,
    open_first,
)
from quorum.infrastructure.prices.model_figures import build_output_lookup


class ModelParts:
    """Who is asked, and the session in which that happens."""

    def __init__(self, reviews: ReviewParts, calls: CallParts) -> None:
        self._reviews, self._calls = reviews, calls
        given, core, shared = reviews.given, reviews.core, reviews.shared
        settings, kind = given.settings, given.record.form
        self.consensus: Final = choose_consensus(given.loaded, given.asked, kind, core.events)
        open_panel = partial(
            Panel,
            gateway=reviews.metered,
            events=core.events,
            prices=shared.prices,
            efforts=settings.models.effort,
            shape=calls.hooks.on_message_send,
            longest_answer=build_output_lookup(settings.providers),
        )
        answers = settings.code_review if kind is SessionKind.REVIEW else settings.discussion
        self.panel: Final = open_panel(timeout_secs=answers.answer_timeout_secs)
        self.review_panel: Final = open_panel(timeout_secs=settings.code_review.answer_timeout_secs)
        self.system_prompt: Final = reviews.terms.system_prompt or SystemPrompt(kind)
        self.efforts: Final = ReasoningEfforts(
            settings.models.effort,
            roles=list_effort_roles(kind),
            list_efforts=shared.gateway.list_efforts,
            chosen=given.asked.efforts,
        )
        forms = PanelForms(
            panel=self.panel,
            system_prompt=self.system_prompt,
            participants=given.asked.participants,
            debaters=given.asked.debaters,
            moderator=given.asked.moderator,
            debate_policy=conversion.build_debate_policy(settings),
            draft_policy=build_draft_policy(
                settings, calls.looking, shared.workspace, shared.paths, shared.rules.book
            ),
            review_policy=calls.code_review_policy,
            events=core.events,
            root=given.root,
        )
        self.open_exchange: Final = forms.choose_opener(
            kind,
            partial(ExternalModel, given.record.external_agent)
            if kind is SessionKind.EXTERNAL
            else lambda model: ShapedExchange(
                reviews.metered.open_exchange(model), calls.hooks.on_message_send
            ),
            choice=self.consensus,
            read_source=lambda: given.read_change.attach(calls.changes),
        )
        has_one_model = kind in {SessionKind.AGENT, SessionKind.ASK}
        self._fallbacks: Final = settings.models.decision_fallback if has_one_model else ()
        self.opening: Final = open_first(self.open_exchange, given.asked.models)
        self.session: Final = SwitchableSession(
            self.opening.exchange,
            open_exchange=self.open_exchange,
            fallbacks=FallbackModels(self._fallbacks, events=core.events),
        )
        self.session_models: Final = SessionModels(
            self.session, gateway=shared.gateway, events=core.events, efforts=self.efforts
        )

    def begin_turn(self) -> None:
        """What the turn may spend, and how it is answered, begin anew."""
        self._reviews.shared.spending.begin_turn()
        self.consensus.begin_turn()

    @cached_property
    def visible_record(self) -> SessionRecord:
        """The record as people may see it: without the secrets that are known by now, with what there is to say
        before the first request."""
        given, reviews = self._reviews.given, self._reviews
        settings, form, reviewers = given.settings, given.record.form, given.settings.models.review
        asks_several = form not in {SessionKind.AGENT, SessionKind.ASK, SessionKind.EXTERNAL}
        return mask_record(
            given.record,
            given.mask,
            (
                *self.opening.notices,
                *self.consensus.notices,
                *check_fallbacks(self.open_exchange, self._fallbacks),
                *list_unused_lenses(settings.quorum.lenses, reviewers, given.asked.participants),
                *self.efforts.describe_ignored(self.opening.exchange.model),
                *check_participants(
                    reviews.metered.open_exchange, given.asked.participants if asks_several else ()
                ),
                *self._calls.choice.notices,
                *reviews.quorum_policy.calibration.notices,
                *self._reviews.shared.spending.build_unpriced_notices(
                    reviewers if form is SessionKind.EXTERNAL else (given.asked.models[0], *reviewers)
                ),
            ),
        )

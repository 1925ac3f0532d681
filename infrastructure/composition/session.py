"""All parts of one session, group by group: each is built when it is first asked for, after those before it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from quorum.application.ports.models import LlmGateway
from quorum.application.ports.subagents import SubagentSessions
from quorum.infrastructure.composition.decisions import CoreParts, ReviewParts, SharedParts, SubagentTerms
from quorum.infrastructure.managed_policy import open_registry
from quorum.infrastructure.session_inputs import SessionInputs

if TYPE_CHECKING:  # a decision about a call of another agent needs none of these
    from quorum.infrastructure.composition.agent import AgentParts, CallParts, ConversationParts, ModelParts


class SessionParts(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """A session; what a subagent shares with its owner is the owner's.

    `open_subagents` makes what opens the sessions of those that work for this one.
    """

    given: SessionInputs
    open_subagents: Callable[[SessionParts], SubagentSessions]
    terms: SubagentTerms = field(default_factory=SubagentTerms)

    @cached_property
    def gateway(self) -> LlmGateway:
        """Also before the rest: SDKs take long to load."""
        given = self.given
        return given.gateway or open_registry(
            given.loaded, given.environ, given.stored_key, given.record.storage
        )

    def build(self) -> None:
        """Build all that can be wrong. Raises ConfigError and ProviderError."""
        self.models.visible_record  # noqa: B018
        self.reviews.folders.require_wanted()

    @cached_property
    def core(self) -> CoreParts:
        return CoreParts(self.given, owner.core.events if (owner := self.terms.owner) else None)

    @cached_property
    def shared(self) -> SharedParts:
        if (owner := self.terms.owner) is not None:
            check = self.terms.check_layer
            return owner.shared.set_apart(self.given, self.core.events, check) if check else owner.shared
        return SharedParts(
            self.given, self.core, self.gateway, lambda: self.reviews.review.mode, lambda: self.calls.tools
        )

    @cached_property
    def reviews(self) -> ReviewParts:
        return ReviewParts(self.given, self.core, self.shared, self.terms)

    @cached_property
    def calls(self) -> CallParts:
        from quorum.infrastructure.composition.agent import CallParts

        return CallParts(
            self.reviews,
            # The window is measured with all tools in it: asked no sooner than a PDF is read.
            measure_document_room=lambda: self.conversation.gauge.compute_room_for_document(
                self.models.session.serving
            ),
            get_workers=lambda: self.agent.workers,
        )

    @cached_property
    def models(self) -> ModelParts:
        from quorum.infrastructure.composition.agent import ModelParts

        return ModelParts(self.reviews, self.calls)

    @cached_property
    def conversation(self) -> ConversationParts:
        from quorum.infrastructure.composition.agent import ConversationParts

        return ConversationParts(self.reviews, self.calls, self.models)

    @cached_property
    def agent(self) -> AgentParts:
        from quorum.infrastructure.composition.agent import AgentParts

        return AgentParts(
            self.reviews,
            self.calls,
            self.models,
            self.conversation,
            cache(lambda: self.open_subagents(self)),
        )

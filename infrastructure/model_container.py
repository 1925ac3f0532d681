"""The container of what answers: the models of a session, and the forms in which they are asked.

Read after `panel_container.py` and before `container.py`.
"""

from __future__ import annotations

from application.instructions.system_prompt import SystemPrompt
from application.session.session_models import SessionModels
from application.turn.fallback_models import FallbackModels
from application.turn.reasoning_efforts import ReasoningEfforts, list_effort_roles
from application.turn.switchable_session import SwitchableSession
from domain.review.lens import list_unused_lenses
from infrastructure import building_blocks as build
from infrastructure.changes.folder_tools import build_draft_policy, choose_folder_tools
from infrastructure.changes.opening import (
    build_code_review_policy,
    choose_plan_changes,
    choose_source,
    make_code_review_opener,
    open_changes,
)
from infrastructure.injection import providers
from infrastructure.models.opening import (
    check_fallbacks,
    check_participants,
    make_consensus_opener,
    make_debate_opener,
    make_discussion_opener,
    make_prompt_panels,
    make_session_opener,
    open_first,
)
from infrastructure.panel_container import PanelContainer
from infrastructure.tool_container import ToolContainer


class ModelContainer(PanelContainer):
    """The session with its models."""

    # The changes that can be reviewed
    code_review_policy = providers.Singleton(build_code_review_policy, ToolContainer.settings)
    changes = providers.Singleton(
        open_changes,
        ToolContainer.root,
        ToolContainer.environ,
        make_tools=providers.Callable(
            choose_folder_tools,
            ToolContainer.settings,
            voting=ToolContainer.voting,
            mask=ToolContainer.mask,
            hooks=ToolContainer.registrations,
        ),
        participants=ToolContainer.participants,
        policy=code_review_policy,
        mask=ToolContainer.mask,
        paths=ToolContainer.paths,
    )

    plan_changes = providers.Callable(
        choose_plan_changes, ToolContainer.settings, ToolContainer.kind, changes.provider
    )
    ToolContainer.plans.add_kwargs(changes=plan_changes)

    # The conversation
    system_prompt = providers.Singleton(SystemPrompt, ToolContainer.kind)
    efforts = providers.Singleton(
        ReasoningEfforts,
        ToolContainer.settings.provided.models.effort,
        roles=providers.Callable(list_effort_roles, ToolContainer.kind),
        list_efforts=ToolContainer.gateway.provided.list_efforts,
        chosen=ToolContainer.chosen_efforts,
    )
    model_opener = providers.Singleton(
        make_session_opener,
        ToolContainer.metered.provided.open_session,
        conversation=ToolContainer.conversation,
        system_prompt=system_prompt,
        shape=ToolContainer.hooks.provided.on_message_send,
        efforts=efforts,
    )
    draft_policy = providers.Singleton(
        build_draft_policy,
        ToolContainer.settings,
        voting=ToolContainer.voting,
        mask=ToolContainer.mask,
        hooks=ToolContainer.registrations,
        workspace=ToolContainer.workspace,
        paths=ToolContainer.paths,
        rules=ToolContainer.rules,
    )
    prompt_panels = providers.Singleton(
        make_prompt_panels,
        PanelContainer.panel,
        conversation=ToolContainer.conversation,
        system_prompt=system_prompt,
        participants=ToolContainer.participants,
        debaters=ToolContainer.debaters,
        debate_policy=PanelContainer.debate_policy,
        draft_policy=draft_policy,
        moderator=ToolContainer.moderator,
        events=ToolContainer.events,
        root=ToolContainer.root,
    )
    open_session = providers.Selector(
        ToolContainer.kind,
        agent=providers.Singleton(
            make_consensus_opener,
            model_opener,
            panels=prompt_panels,
            choice=PanelContainer.consensus,
            conversation=ToolContainer.conversation,
            events=ToolContainer.events,
        ),
        ask=model_opener,
        discuss=providers.Singleton(
            make_discussion_opener,
            PanelContainer.panel,
            conversation=ToolContainer.conversation,
            system_prompt=system_prompt,
            participants=ToolContainer.participants,
            events=ToolContainer.events,
        ),
        debate=providers.Singleton(
            make_debate_opener,
            PanelContainer.panel,
            conversation=ToolContainer.conversation,
            system_prompt=system_prompt,
            participants=ToolContainer.participants,
            events=ToolContainer.events,
            policy=PanelContainer.debate_policy,
        ),
        review=providers.Singleton(
            make_code_review_opener,
            PanelContainer.panel,
            conversation=ToolContainer.conversation,
            participants=ToolContainer.participants,
            events=ToolContainer.events,
            source=providers.Singleton(choose_source, changes, ToolContainer.read_change),
            policy=code_review_policy,
        ),
    )
    fallback_models = providers.Selector(
        ToolContainer.kind,
        agent=ToolContainer.settings.provided.models.decision_fallback,
        ask=ToolContainer.settings.provided.models.decision_fallback,
        discuss=providers.Object(()),
        debate=providers.Object(()),
        review=providers.Object(()),
    )
    opening = providers.Singleton(open_first, open_session, ToolContainer.models)
    visible_record = providers.Singleton(
        build.mask_record,
        ToolContainer.record,
        ToolContainer.mask,
        ToolContainer.secrets,
        opening.provided.notices,
        PanelContainer.consensus.provided.notices,
        providers.Callable(check_fallbacks, open_session, fallback_models),
        providers.Callable(
            list_unused_lenses,
            ToolContainer.settings.provided.quorum.lenses,
            ToolContainer.settings.provided.models.review,
            ToolContainer.participants,
        ),
        efforts.provided.describe_ignored.call(opening.provided.session.model),
        providers.Selector(
            ToolContainer.kind,
            agent=providers.Object(()),
            ask=providers.Object(()),
            discuss=providers.Callable(
                check_participants, ToolContainer.metered.provided.open_session, ToolContainer.participants
            ),
            debate=providers.Callable(
                check_participants, ToolContainer.metered.provided.open_session, ToolContainer.participants
            ),
            review=providers.Callable(
                check_participants, ToolContainer.metered.provided.open_session, ToolContainer.participants
            ),
        ),
        ToolContainer.tool_choice.provided.notices,
        ToolContainer.quorum_policy.provided.calibration.notices,
        providers.Callable(
            build.list_spend_notices,
            ToolContainer.spending,
            ToolContainer.models,
            ToolContainer.settings.provided.models.review,
        ),
    )
    session = providers.Singleton(
        SwitchableSession,
        opening.provided.session,
        conversation=ToolContainer.conversation,
        open_session=open_session,
        fallbacks=providers.Singleton(FallbackModels, fallback_models, events=ToolContainer.events),
    )
    session_models = providers.Singleton(
        SessionModels, session, gateway=ToolContainer.gateway, events=ToolContainer.events, efforts=efforts
    )

"""The container: everything a session is made of, read from top to bottom after `conversation_container.py`."""

from __future__ import annotations

from application.inbox.inbox import Inbox
from application.session.agent_session import AgentSession
from application.session.rewind import Rewind
from application.session.session_context import SessionContext
from application.session.session_exchanges import SessionExchanges
from application.subagents.defined_tasks import DefinedTasks
from application.subagents.plan_task_runner import PlanTaskRunner
from application.subagents.subagent_runner import SubagentRunner
from application.turn.agent_limits import AgentLimits
from application.turn.run_agent import RunAgent
from application.turn.user_commands import UserCommandRunner
from infrastructure import building_blocks as build
from infrastructure.answerer import name_answerer
from infrastructure.changes.opening import build_final_review
from infrastructure.changes.repository_files import RepositoryFiles
from infrastructure.conversation_container import ConversationContainer
from infrastructure.execution.commands.orphans import OrphanFinder
from infrastructure.execution.commands.user_shell import UserShell
from infrastructure.injection import providers
from infrastructure.model_container import ModelContainer
from infrastructure.owned_sessions import OwnedSessions
from infrastructure.panel_container import PanelContainer
from infrastructure.permissions.session_rules import SessionRuleService
from infrastructure.store.snapshots.restorer import WorkspaceRestorer
from infrastructure.tool_container import ToolContainer
from infrastructure.wall_clock import read_wall_clock_ms


class Container(ConversationContainer):
    """One session, as front ends hold it."""

    # What the person runs themselves
    user_shell = providers.Singleton(
        UserShell,
        root=ToolContainer.root,
        environ=ToolContainer.environ,
        max_output_bytes=ToolContainer.settings.provided.tools.run_command.max_output_bytes,
        open_spill=providers.Callable(build.get_spill_opener, ToolContainer.store),
    )
    user_commands = providers.Singleton(
        UserCommandRunner,
        shell=user_shell,
        events=ToolContainer.events,
        outputs=ToolContainer.outputs,
        pending_messages=ToolContainer.pending_messages,
        limits=ToolContainer.command_limits,
    )

    session_rules = providers.Singleton(
        SessionRuleService,
        ToolContainer.rules,
        file=ToolContainer.rule_file,
        folder=ToolContainer.workspace.provided.cwd,
        tools=ToolContainer.tools,
        schema=ToolContainer.schema,
        review=ToolContainer.review,
        roots=ToolContainer.paths.provided.roots,
    )

    orphan_finder = providers.Singleton(OrphanFinder)

    # Agents that it gives tasks
    __self__ = providers.Self()
    subagent_sessions = providers.Singleton(OwnedSessions, __self__)
    subagents = providers.Singleton(
        SubagentRunner,
        ToolContainer.session_id,
        sessions=subagent_sessions.provider,
        events=ToolContainer.events,
        most=ToolContainer.settings.provided.tools.task.max_parallel,
    )
    defined_tasks = providers.Singleton(
        DefinedTasks,
        ToolContainer.agents,
        ToolContainer.tool_set,
        providers.Callable(build.build_model_name_source, ModelContainer.session_models),
        ToolContainer.gateway,
        ToolContainer.events,
    )
    plan_tasks = providers.Singleton(PlanTaskRunner, ToolContainer.plans, subagents, ToolContainer.tool_set)
    # The tools are there before those who carry them out, which are made of all the rest.
    ToolContainer.task.add_kwargs(subagents=subagents.provider, tasks=defined_tasks.provider)
    ToolContainer.run_task.add_kwargs(runner=plan_tasks.provider)

    final_review = providers.Singleton(
        build_final_review,
        ModelContainer.plan_changes,
        get_panel=PanelContainer.review_panel.provider,
        moderator=ToolContainer.moderator,
        reviewers=ToolContainer.settings.provided.models.review,
        events=ToolContainer.events,
        dialogue=ConversationContainer.dialogue,
        policy=ModelContainer.code_review_policy,
    )

    # The main job, and the session as front ends hold it
    run = providers.Singleton(
        RunAgent,
        session_id=ToolContainer.session_id,
        dialogue=ConversationContainer.dialogue,
        runtime=ToolContainer.runtime,
        review=ToolContainer.review,
        events=ToolContainer.events,
        hooks=ToolContainer.hooks,
        limits=providers.Factory(
            AgentLimits,
            max_tool_turns=ToolContainer.settings.provided.agent.max_tool_turns,
            max_turn_end_retries=ToolContainer.settings.provided.agent.max_turn_end_retries,
        ),
        attachments=ToolContainer.attachments,
        instructions=ConversationContainer.instructions,
        begin_turn=PanelContainer.begin_turn,
        commands=ConversationContainer.command_terms,
        diagnostics=ToolContainer.diagnostics,
        tool_servers=ConversationContainer.tool_servers,
        spenders=providers.List(PanelContainer.panel, PanelContainer.review_panel),
        subagents=subagents,
        final_review=final_review,
    )
    subagent_sessions.add_kwargs(run=run.provider)  # they are asked about for what the person wants of this one
    rewind = providers.Singleton(
        Rewind,
        run=run,
        events=ToolContainer.events,
        keeper=ToolContainer.keeper,
        contents=ToolContainer.contents,
        jobs=ToolContainer.background_jobs,
        restorer=providers.Singleton(WorkspaceRestorer, ToolContainer.workspace, ToolContainer.reader),
        withdraw_folders=ToolContainer.folders.provided.withdraw_undone,
    )
    agent = providers.Singleton(
        AgentSession,
        run,
        cwd=providers.Callable(str, ToolContainer.root),
        models=ModelContainer.session_models,
        context=providers.Singleton(
            SessionContext, ConversationContainer.context_manager, ModelContainer.session_models
        ),
        spending=ToolContainer.spending,
        review=ToolContainer.review,
        consensus=PanelContainer.consensus,
        rules=session_rules,
        rewind=rewind,
        files=ConversationContainer.files,
        folders=ToolContainer.folders,
        user_commands=user_commands,
        exchanges=providers.Singleton(
            SessionExchanges,
            ToolContainer.session_id,
            kind=ToolContainer.kind,
            events=ToolContainer.events,
            pending_messages=ToolContainer.pending_messages,
        ),
        memory=ConversationContainer.memory,
        custom_commands=ConversationContainer.custom_commands,
        skills=ToolContainer.skills,
        agents=ToolContainer.agents,
        tool_servers=ConversationContainer.tool_servers,
        jobs=ToolContainer.background_jobs,
        plans=ToolContainer.plans,
        plan_tasks=plan_tasks,
        outputs=ToolContainer.outputs,
        reviewed_files=providers.Singleton(RepositoryFiles, ToolContainer.root, ToolContainer.environ),
        inbox=providers.Singleton(
            Inbox,
            ToolContainer.storage.archive,
            ToolContainer.answers,
            clock=providers.Object(read_wall_clock_ms),
            answered_by=providers.Callable(name_answerer),
        ),
        record=ModelContainer.visible_record,
        mask=ToolContainer.mask,
        events=ToolContainer.events,
        orphan_finder=orphan_finder,
        background=providers.List(
            ToolContainer.keeper,
            ToolContainer.early_search,
            ConversationContainer.environment,
            ConversationContainer.tool_servers,
        ),
        sandbox=ToolContainer.sandbox,
    )

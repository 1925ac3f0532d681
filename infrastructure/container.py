"""The container: everything a session is made of, read from top to bottom after `model_container.py`."""

from __future__ import annotations

from dependency_injector import providers

from application.context.context_gauge import ContextGauge
from application.context.context_manager import ContextManager
from application.context.summariser import Summariser
from application.instructions.custom_commands import CustomCommands
from application.instructions.memory import Memory
from application.instructions.project_instructions import ProjectInstructions
from application.instructions.prompt_commands import PromptCommands
from application.ports.subagents import SubagentSessions
from application.review.masking_approver import MaskingApprover
from application.session.agent_session import AgentSession
from application.session.rewind import Rewind
from application.session.server_questions import ServerQuestions
from application.session.session_context import SessionContext
from application.subagents.subagent_runner import SubagentRunner
from application.turn.agent_limits import AgentLimits
from application.turn.command_terms import CommandTerms
from application.turn.dialogue import Dialogue
from application.turn.mentions import Mentions
from application.turn.run_agent import RunAgent
from application.turn.user_commands import UserCommandRunner
from infrastructure import building_blocks as build
from infrastructure.execution.commands.environment import build_command_environment
from infrastructure.execution.commands.orphans import OrphanFinder
from infrastructure.execution.commands.user_shell import UserShell
from infrastructure.file_index.finder import WorkspaceFiles
from infrastructure.instructions.command_files import CommandFiles
from infrastructure.instructions.environment import MachineEnvironment
from infrastructure.instructions.finder import TrustedInstructions, list_former_folders
from infrastructure.instructions.memory_files import MemoryFiles
from infrastructure.instructions.trust import find_instruction_files
from infrastructure.instructions.trusted_commands import TrustedCommands
from infrastructure.mcp.pins import open_pinned_tools
from infrastructure.mcp.servers import McpServers
from infrastructure.model_container import ModelContainer
from infrastructure.panel_container import PanelContainer
from infrastructure.permissions.session_rules import SessionRuleService
from infrastructure.prices.model_figures import build_window_lookup
from infrastructure.references.github import open_references
from infrastructure.store.snapshots.restorer import WorkspaceRestorer
from infrastructure.tool_container import ToolContainer
from infrastructure.tools.mentioned_files import MentionedFiles


class Container(ModelContainer):
    """One session: its conversation, and what front ends hold of it."""

    # The conversation
    budget = providers.Singleton(build.build_context_budget, ToolContainer.settings)
    gauge = providers.Singleton(
        ContextGauge,
        ToolContainer.conversation,
        window=providers.Callable(
            build_window_lookup,
            ToolContainer.settings.provided.providers,
            ToolContainer.settings.provided.context_budget.models,
        ),
        budget=budget,
        tool_bytes=ToolContainer.tool_set.provided.measure,
        instructions=providers.Callable(build.build_prompt_measure, ModelContainer.system_prompt),
    )
    # The window is measured with all tools in it, so that it is asked no sooner than a PDF is read.
    ToolContainer.call_attachments.add_kwargs(
        room=providers.Callable(build.room_for_document, gauge.provider, ModelContainer.session.provider)
    )
    context_manager = providers.Singleton(
        ContextManager,
        conversation=ToolContainer.conversation,
        events=ToolContainer.events,
        outputs=ToolContainer.outputs,
        summariser=providers.Singleton(
            Summariser,
            gateway=ToolContainer.metered,
            events=ToolContainer.events,
            prices=ToolContainer.prices,
            shape=ToolContainer.hooks.provided.on_message_send,
        ),
        gauge=gauge,
        budget=budget,
        values=providers.Callable(build.state_values, ToolContainer.runtime),
    )
    tool_servers = providers.Singleton(
        McpServers,
        ToolContainer.settings.provided.mcp.servers,
        tools=ToolContainer.tool_set,
        pins=providers.Singleton(open_pinned_tools, ToolContainer.environ),
        questions=providers.Singleton(
            ServerQuestions,
            providers.Singleton(MaskingApprover, ToolContainer.approver, ToolContainer.mask),
            ToolContainer.events,
        ),
        attachments=ToolContainer.call_attachments,
        cwd=ToolContainer.root,
        environ=ToolContainer.environ,
        secret_names=ToolContainer.secret_names,
        is_offered=providers.Callable(build.decide_server_tools, ToolContainer.settings, ToolContainer.kind),
        learn=ToolContainer.mask.provided.learn,
    )

    mentions = providers.Singleton(
        Mentions,
        providers.Singleton(MentionedFiles, workspace=ToolContainer.workspace, seen=ToolContainer.seen),
        ToolContainer.review,
        ToolContainer.hooks,
        providers.Callable(build.build_file_measure, gauge, ModelContainer.session),
        servers=tool_servers,
        references=providers.Callable(
            open_references,
            ToolContainer.settings.provided.tools.references,
            ToolContainer.root,
            ToolContainer.environ,
        ),
    )
    dialogue = providers.Singleton(
        Dialogue,
        session=ModelContainer.session,
        schemas=ToolContainer.phase_tools.provided.schemas,
        events=ToolContainer.events,
        prices=ToolContainer.prices,
        context_keeper=context_manager,
        responses=ToolContainer.state.responses,
        secrets=ToolContainer.secrets,
        pending_messages=ToolContainer.pending_messages,
        mentions=mentions,
        offers=providers.Callable(build.build_tool_offer, ToolContainer.settings),
    )

    environment = providers.Singleton(
        MachineEnvironment,
        ToolContainer.workspace.provided.cwd,
        variables=providers.Callable(
            build_command_environment, ToolContainer.environ, ToolContainer.secret_names
        ),
        judge=ToolContainer.gate.provided.judge,
        sandbox=ToolContainer.sandbox.provided.state,
        command_timeout_secs=ToolContainer.settings.provided.tools.run_command.timeout_secs,
        max_tool_turns=ToolContainer.settings.provided.agent.max_tool_turns,
    )
    found_instructions = providers.Singleton(
        find_instruction_files,
        ToolContainer.root,
        ToolContainer.environ,
        ToolContainer.settings,
        ToolContainer.workspace.provided.folders,
    )
    instructions = providers.Singleton(
        ProjectInstructions,
        ModelContainer.system_prompt,
        finder=providers.Singleton(
            TrustedInstructions,
            found_instructions,
            seen=ToolContainer.seen,
            decisions=ToolContainer.trust,
            approver=ToolContainer.approver,
            before=providers.Callable(list_former_folders, ToolContainer.past),
        ),
        environment=environment,
        events=ToolContainer.events,
        pending_messages=ToolContainer.pending_messages,
        apply=ModelContainer.session.provided.reopen,
        max_bytes=ToolContainer.settings.provided.agent.instructions_max_bytes,
        skills=ToolContainer.skills,
        folders=ToolContainer.workspace.provided.folders,
    )

    memory = providers.Singleton(
        Memory,
        providers.Singleton(MemoryFiles, found_instructions, decisions=ToolContainer.trust),
        review=ToolContainer.review,
        events=ToolContainer.events,
        kind=ToolContainer.kind,
    )

    custom_commands = providers.Singleton(
        PromptCommands,
        providers.Singleton(
            CustomCommands,
            providers.Singleton(
                TrustedCommands,
                providers.Singleton(CommandFiles, ToolContainer.root, ToolContainer.environ),
                decisions=ToolContainer.trust,
                approver=ToolContainer.approver,
                cwd=ToolContainer.root,
            ),
            reserved=ToolContainer.reserved_commands,
        ),
        tool_servers,
    )
    command_terms = providers.Singleton(
        CommandTerms, custom_commands, ToolContainer.review, ModelContainer.session, ToolContainer.gateway
    )

    # What the person runs themselves
    user_shell = providers.Singleton(
        UserShell,
        root=ToolContainer.root,
        environ=ToolContainer.environ,
        max_output_bytes=ToolContainer.settings.provided.tools.run_command.max_output_bytes,
        open_spill=providers.Callable(build.spill_opener, ToolContainer.store),
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
    files = providers.Singleton(WorkspaceFiles, ToolContainer.workspace.provided.folders, ToolContainer.environ)

    # Agents that it gives tasks
    subagent_sessions: providers.Dependency[SubagentSessions] = providers.Dependency()
    subagents = providers.Singleton(
        SubagentRunner,
        ToolContainer.session_id,
        sessions=subagent_sessions.provider,
        events=ToolContainer.events,
        most=ToolContainer.settings.provided.tools.task.max_parallel,
    )

    # The main job, and the session as front ends hold it
    run = providers.Singleton(
        RunAgent,
        session_id=ToolContainer.session_id,
        dialogue=dialogue,
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
        instructions=instructions,
        begin_turn=PanelContainer.begin_turn,
        commands=command_terms,
        diagnostics=ToolContainer.diagnostics,
        tool_servers=tool_servers,
        spenders=providers.List(PanelContainer.panel),
        subagents=subagents,
    )
    rewind = providers.Singleton(
        Rewind,
        run=run,
        events=ToolContainer.events,
        keeper=ToolContainer.keeper,
        contents=ToolContainer.contents,
        jobs=ToolContainer.jobs,
        restorer=providers.Singleton(WorkspaceRestorer, ToolContainer.workspace, ToolContainer.reader),
        withdraw_folders=ToolContainer.folders.provided.withdraw_undone,
    )
    agent = providers.Singleton(
        AgentSession,
        run,
        cwd=providers.Callable(str, ToolContainer.root),
        models=ModelContainer.session_models,
        context=providers.Singleton(SessionContext, context_manager, ModelContainer.session_models),
        spending=ToolContainer.spending,
        review=ToolContainer.review,
        consensus=PanelContainer.consensus,
        rules=session_rules,
        rewind=rewind,
        files=files,
        folders=ToolContainer.folders,
        user_commands=user_commands,
        memory=memory,
        custom_commands=custom_commands,
        skills=ToolContainer.skills,
        tool_servers=tool_servers,
        jobs=ToolContainer.jobs,
        plans=ToolContainer.plans,
        outputs=ToolContainer.outputs,
        record=ModelContainer.visible_record,
        mask=ToolContainer.mask,
        events=ToolContainer.events,
        orphan_finder=orphan_finder,
        background=providers.List(ToolContainer.keeper, environment, tool_servers),
        sandbox=ToolContainer.sandbox,
    )

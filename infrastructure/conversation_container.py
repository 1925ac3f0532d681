"""The conversation of a session: instructions, attachments and names. After `model_container.py`."""

from __future__ import annotations

from collections.abc import Mapping

from application.context.context_gauge import ContextGauge
from application.context.context_manager import ContextManager
from application.context.summariser import Summariser
from application.instructions.custom_commands import CustomCommands
from application.instructions.init_command import InitCommand
from application.instructions.memory import Memory
from application.instructions.project_instructions import ProjectInstructions
from application.instructions.prompt_commands import PromptCommands
from application.review.masking_approver import MaskingApprover
from application.session.server_questions import ServerQuestions
from application.turn.command_terms import CommandTerms
from application.turn.dialogue import Dialogue
from application.turn.mentions import Mentions
from infrastructure import building_blocks as build
from infrastructure import session_tools
from infrastructure.execution.commands.environment import build_command_environment
from infrastructure.file_index.finder import WorkspaceFiles
from infrastructure.injection import providers
from infrastructure.instructions.command_files import CommandFiles
from infrastructure.instructions.environment import MachineEnvironment
from infrastructure.instructions.finder import TrustedInstructions, list_former_folders
from infrastructure.instructions.memory_files import MemoryFiles
from infrastructure.instructions.trust import find_instruction_files
from infrastructure.instructions.trusted_commands import TrustedCommands
from infrastructure.mcp.pins import open_pinned_tools
from infrastructure.mcp.server_credentials import ServerCredentials
from infrastructure.mcp.servers import McpServers
from infrastructure.model_container import ModelContainer
from infrastructure.prices.model_figures import build_window_lookup
from infrastructure.references.github import open_references
from infrastructure.tool_container import ToolContainer
from infrastructure.tools.mentioned_files import MentionedFiles


class ConversationContainer(ModelContainer):
    """What an agent talks with; a subagent has one of its own."""

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
        tool_bytes=ToolContainer.tool_set.provided.count_schema_bytes,
        instructions=providers.Callable(build.build_prompt_measure, ModelContainer.system_prompt),
    )
    # The window is measured with all tools in it, so that it is asked no sooner than a PDF is read.
    ToolContainer.call_attachments.add_kwargs(
        room=providers.Callable(build.build_document_measure, gauge.provider, ModelContainer.session.provider)
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
        values=providers.Callable(build.read_state_values, ToolContainer.runtime),
    )
    server_credentials: providers.Provider[Mapping[str, ServerCredentials]] = providers.Object({})
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
        is_offered=providers.Callable(
            session_tools.decide_server_tools, ToolContainer.settings, ToolContainer.kind
        ),
        learn=ToolContainer.mask.provided.learn,
        credentials=server_credentials,
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
        schemas=ToolContainer.phase_tools.provided.list_schemas,
        events=ToolContainer.events,
        prices=ToolContainer.prices,
        context_keeper=context_manager,
        responses=ToolContainer.state.responses,
        secrets=ToolContainer.secrets,
        pending_messages=ToolContainer.pending_messages,
        mentions=mentions,
        offers=providers.Callable(session_tools.build_tool_offer, ToolContainer.settings),
    )

    environment = providers.Singleton(
        MachineEnvironment,
        ToolContainer.workspace.provided.cwd,
        variables=providers.Callable(
            build_command_environment, ToolContainer.environ, ToolContainer.secret_names
        ),
        judge=ToolContainer.gate.provided.judge,
        sandbox=ToolContainer.sandbox.provided.find_state,
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
        agents=providers.Callable(
            session_tools.choose_offered_agents, ToolContainer.agents, ToolContainer.tools
        ),
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
        providers.Singleton(InitCommand, kind=ToolContainer.kind, review=ToolContainer.review),
    )
    command_terms = providers.Singleton(
        CommandTerms, custom_commands, ToolContainer.review, ModelContainer.session, ToolContainer.gateway
    )
    files = providers.Singleton(WorkspaceFiles, ToolContainer.workspace.provided.folders, ToolContainer.environ)

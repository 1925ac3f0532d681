"""The conversation of a session, and the session as front ends hold it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from quorum.application.context.context_manager import ContextGauge, ContextManager
from quorum.application.context.summariser import Summariser
from quorum.application.instructions.memory import Memory
from quorum.application.instructions.project_instructions import ProjectInstructions, PromptLimits
from quorum.application.instructions.prompt_commands import CustomCommands, InitCommand, PromptCommands
from quorum.application.ports.agents import AgentTerms
from quorum.application.ports.subagents import SubagentSessions
from quorum.application.session.agent_session import AgentSession
from quorum.application.session.rewind import Rewind
from quorum.application.session.server_questions import ServerQuestions
from quorum.application.session.session_exchanges import SessionExchanges
from quorum.application.session.session_models import SessionContext
from quorum.application.subagents.defined_tasks import DefinedTasks
from quorum.application.subagents.plan_task_runner import PlanTaskRunner
from quorum.application.subagents.subagent_runner import SubagentRunner
from quorum.application.turn.attachments import Mentions
from quorum.application.turn.dialogue import Dialogue
from quorum.application.turn.run_agent import RunAgent
from quorum.application.turn.tool_prefix import ToolPrefix
from quorum.application.turn.user_commands import CommandTerms, UserCommandRunner
from quorum.infrastructure import session_tools
from quorum.infrastructure import settings_conversion as conversion
from quorum.infrastructure.changes.opening import build_final_review
from quorum.infrastructure.changes.shown_content import RepositoryFiles
from quorum.infrastructure.composition.answers import ModelParts
from quorum.infrastructure.composition.calls import CallParts
from quorum.infrastructure.composition.decisions import ReviewParts
from quorum.infrastructure.execution.commands.orphans import OrphanFinder
from quorum.infrastructure.execution.commands.user_shell import UserShell
from quorum.infrastructure.file_finder import WorkspaceFiles
from quorum.infrastructure.github_references import open_references
from quorum.infrastructure.instructions.instruction_files import (
    TrustedInstructions,
    find_instruction_files,
    list_former_folders,
)
from quorum.infrastructure.instructions.memory_files import MemoryFiles
from quorum.infrastructure.instructions.trusted_offers import CommandFiles, TrustedCommands
from quorum.infrastructure.mcp.offer import open_pinned_tools
from quorum.infrastructure.mcp.servers import McpServers
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.permissions.in_force import SessionRuleService
from quorum.infrastructure.prices.model_figures import build_window_lookup
from quorum.infrastructure.secrets.known import open_inbox
from quorum.infrastructure.store.snapshots.restorer import WorkspaceRestorer
from quorum.infrastructure.tools.mentioned_files import MentionedFiles

if TYPE_CHECKING:
    from quorum.application.agents.agent_run import AgentRun
    from quorum.application.agents.external_turns import ExternalTurns
    from quorum.application.staging.staged_turns import StagedTurns


class ConversationParts:
    """What an agent talks with: instructions, attachments and names. A subagent has one of its own."""

    def __init__(self, reviews: ReviewParts, calls: CallParts, models: ModelParts) -> None:
        given, core, shared = reviews.given, reviews.core, reviews.shared
        settings, environ, root, kind = given.settings, given.environ, given.root, given.record.form
        folders, review, is_safe = shared.workspace.folders, reviews.review, given.loaded.is_safe
        budget = conversion.build_context_budget(settings)
        self.gauge: Final = ContextGauge(
            core.conversation,
            window=build_window_lookup(settings.providers, settings.context_budget.models),
            budget=budget,
            tool_bytes=lambda: self.tool_prefix.listed_bytes or calls.tool_set.count_schema_bytes(),
            instructions=lambda: models.system_prompt.sizes,
        )
        self.context_manager: Final = ContextManager(
            conversation=core.conversation,
            events=core.events,
            outputs=calls.outputs,
            summariser=Summariser(
                gateway=reviews.metered,
                events=core.events,
                prices=shared.prices,
                shape=calls.hooks.on_message_send,
            ),
            gauge=self.gauge,
            hooks=calls.hooks,
            budget=budget,
            values=lambda: calls.runtime.state.values,
            ask_window=shared.gateway.find_window if isinstance(shared.gateway, ProviderRegistry) else None,
        )
        self.tool_servers: Final = McpServers(
            settings.mcp.servers,
            tools=calls.tool_set,
            pins=open_pinned_tools(environ),
            questions=ServerQuestions(reviews.masking_approver, core.events),
            attachments=calls.call_attachments,
            cwd=root,
            environ=environ,
            secret_names=shared.secret_names,
            is_offered=session_tools.decide_server_tools(settings, kind),
            learn=given.mask.learn,
            credentials=given.server_credentials,
        )
        self.mentions: Final = Mentions(
            MentionedFiles(workspace=shared.workspace, seen=calls.seen),
            review,
            calls.hooks,
            room=lambda: self.gauge.compute_room_for_files(models.session.serving),
            servers=self.tool_servers,
            references=open_references(settings.tools.references, root, environ),
        )
        self.tool_prefix: Final = ToolPrefix(
            models.session,
            schemas=calls.phase_tools.list_schemas,
            events=core.events,
            pending_messages=calls.pending_messages,
            offers=session_tools.build_tool_offer(settings),
            is_wanted=self.tool_servers.is_wanted,
            has_small_window=self.context_manager.has_small_window,
            compute_room=self.gauge.compute_room_for_tools,
        )
        self.dialogue: Final = Dialogue(
            session=models.session,
            conversation=core.conversation,
            tools=self.tool_prefix,
            system=lambda: models.system_prompt.text,
            get_effort=models.efforts.get_effort,
            events=core.events,
            prices=shared.prices,
            context_keeper=self.context_manager,
            responses=core.state.responses,
            secrets=shared.secrets,
            pending_messages=calls.pending_messages,
            is_attended=lambda: reviews.review.is_person_there,
            # A subagent's prompt is a model's: what it names, the subagent reads with its tools.
            mentions=None if reviews.terms.owner else self.mentions,
        )
        found = find_instruction_files(root, environ, settings, folders, is_off=is_safe)
        self.instructions: Final = ProjectInstructions(
            models.system_prompt,
            finder=TrustedInstructions(
                found,
                seen=calls.seen,
                decisions=given.trust,
                approver=shared.approver,
                before=list_former_folders(given.record.records),
                asks_in_turns=given.layer is None,
            ),
            environment=shared.environment,
            events=core.events,
            pending_messages=calls.pending_messages,
            apply=models.session.reopen,
            limits=PromptLimits(
                settings.agent.instructions_max_bytes,
                lambda: self.context_manager.learn_whether_small(models.session.model),
            ),
            skills=calls.skills,
            agents=session_tools.choose_offered_agents(calls.agents, calls.tools),
            folders=folders,
        )
        self.memory: Final = Memory(
            MemoryFiles(found, decisions=given.trust), review=review, events=core.events, kind=kind
        )
        files, ask = CommandFiles(root, environ, is_off=is_safe), shared.approver
        commands = TrustedCommands(files, decisions=given.trust, approver=ask, cwd=root)
        self.custom_commands: Final = PromptCommands(
            CustomCommands(commands, reserved=given.reserved_commands),
            self.tool_servers,
            InitCommand(kind=kind, review=review),
        )
        self.command_terms: Final = CommandTerms(self.custom_commands, review, models.session, shared.gateway)
        self.files: Final = WorkspaceFiles(folders, environ)


class AgentParts:
    """The session as front ends hold it. `get_subagents` answers with what opens the sessions of subagents;
    `external` is an agent of another vendor that works in it."""

    def __init__(
        self,
        reviews: ReviewParts,
        calls: CallParts,
        models: ModelParts,
        conversation: ConversationParts,
        get_subagents: Callable[[], SubagentSessions],
        external: AgentRun | None = None,
    ) -> None:
        given, shared = reviews.given, reviews.shared
        settings, record, root = given.settings, given.record, given.root
        events, review = reviews.core.events, reviews.review
        self.subagents: Final = SubagentRunner(
            record.session_id, sessions=get_subagents, events=events, most=settings.tools.task.max_parallel
        )
        self.defined_tasks: Final = DefinedTasks(
            calls.agents, calls.tool_set, lambda: models.session_models.current, shared.gateway, events
        )
        self.plan_tasks: Final = PlanTaskRunner(calls.plans, self.subagents, calls.tool_set)
        turns = None if external is None else _build_external_turns(external, reviews, calls, conversation)
        staged = _open_staged_turns(reviews, calls)
        self.run: Final[RunAgent] = turns or RunAgent(
            session_id=record.session_id,
            dialogue=conversation.dialogue,
            runtime=calls.runtime,
            review=review,
            events=events,
            hooks=calls.hooks,
            limits=conversion.build_agent_limits(settings),
            attachments=calls.attachments,
            instructions=conversation.instructions,
            begin_turn=models.begin_turn,
            commands=conversation.command_terms,
            diagnostics=shared.diagnostics,
            tool_servers=conversation.tool_servers,
            spenders=[conversation.context_manager, models.panel, models.review_panel],
            subagents=self.subagents,
            is_job_running=lambda: calls.jobs.is_any_running,
            staged=staged,
            final_review=build_final_review(
                calls.plan_changes,
                panel=models.review_panel,
                moderator=given.asked.moderator,
                reviewers=settings.models.review,
                events=events,
                dialogue=conversation.dialogue,
                policy=calls.code_review_policy,
            ),
        )
        rewind = Rewind(
            run=self.run,
            events=events,
            keeper=shared.keeper,
            contents=record.contents,
            jobs=calls.jobs,
            restorer=WorkspaceRestorer(shared.workspace, shared.reader),
            withdraw_folders=reviews.folders.withdraw_undone,
        )
        shell = UserShell(
            root=root,
            environ=given.environ,
            max_output_bytes=settings.tools.run_command.max_output_bytes,
            open_spill=calls.open_spill,
        )
        self.session: Final = AgentSession(
            self.run,
            cwd=str(root),
            models=models.session_models,
            context=SessionContext(
                conversation.context_manager,
                models.session_models,
                refusal="" if turns is None else "the agent of this session keeps its own conversation",
            ),
            spending=shared.spending,
            review=review,
            consensus=models.consensus,
            rules=SessionRuleService(
                shared.rules.book,
                file=shared.rules.file,
                folder=shared.workspace.cwd,
                tools=calls.tools,
                schema=calls.schema,
                review=review,
                roots=shared.paths.roots,
            ),
            rewind=rewind,
            files=conversation.files,
            folders=reviews.folders,
            user_commands=UserCommandRunner(
                shell=shell,
                events=events,
                outputs=calls.outputs,
                pending_messages=calls.pending_messages,
                limits=conversion.build_command_limits(settings),
                hold=staged.hold if staged is not None else None,
            ),
            exchanges=SessionExchanges(
                record.session_id, kind=record.form, events=events, pending_messages=calls.pending_messages
            ),
            memory=conversation.memory,
            custom_commands=conversation.custom_commands,
            skills=calls.skills,
            agents=calls.agents,
            tool_servers=conversation.tool_servers,
            jobs=calls.jobs,
            plans=calls.plans,
            plan_tasks=self.plan_tasks,
            outputs=calls.outputs,
            reviewed_files=RepositoryFiles(root, given.environ),
            inbox=open_inbox(record.archive, record.storage.answers, settings, given.environ),
            record=models.visible_record,
            mask=given.mask,
            hooks=shared.session_hooks,
            events=events,
            orphan_finder=OrphanFinder(),
            background=[
                shared.keeper,
                calls.early_search,
                shared.environment,
                conversation.tool_servers,
                *((turns,) if turns is not None else ()),
            ],
            sandbox=shared.sandbox,
            external=turns,
            staged=staged,
        )


def _open_staged_turns(reviews: ReviewParts, calls: CallParts) -> StagedTurns | None:
    given, shared, events = reviews.given, reviews.shared, reviews.core.events
    if (layer := given.layer) is None or reviews.terms.owner:
        return None
    from quorum.infrastructure.staging.opening import open_staged_turns

    layer.on_renewal(shared.sandbox.forget_files)
    id_, protected, notes = given.record.session_id, given.settings.review.protected, calls.pending_messages
    return open_staged_turns(layer, given.environ, id_, protected, shared.paths, events, calls.jobs, notes)


def _build_external_turns(
    work: AgentRun, reviews: ReviewParts, calls: CallParts, conversation: ConversationParts
) -> ExternalTurns:
    from quorum.application.agents.external_turns import ExternalTurns

    record = reviews.given.record
    is_copy = reviews.core.state.session_id not in ("", record.session_id)
    return ExternalTurns(
        work,
        AgentTerms.as_before(record.connected, is_copy=is_copy),
        dialogue=conversation.dialogue,
        runtime=calls.runtime,
        review=reviews.review,
        events=reviews.core.events,
        hooks=calls.hooks,
        limits=conversion.build_agent_limits(reviews.given.settings),
        attachments=calls.attachments,
    )

"""What only a whole session has: its tools, what answers it, the conversation, and what front ends hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from quorum.application.background_jobs import BackgroundJobs
from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.context_manager import ContextGauge, ContextManager, Summariser
from quorum.application.goal_service import GoalService
from quorum.application.instructions.project_instructions import Memory, ProjectInstructions, PromptLimits
from quorum.application.instructions.prompt_commands import CustomCommands, InitCommand, PromptCommands
from quorum.application.instructions.system_prompt import SystemPrompt
from quorum.application.panel.panel import Panel
from quorum.application.plan_service import PhaseTools, PlanService
from quorum.application.ports.subagents import SubagentSessions
from quorum.application.session.agent_session import AgentSession, SessionModels
from quorum.application.session.rewind import Rewind
from quorum.application.session.server_questions import ServerQuestions
from quorum.application.session.session_record import SessionRecord, mask_record
from quorum.application.steering import PendingMessages
from quorum.application.subagents.plan_task_runner import DefinedTasks, PlanTaskRunner
from quorum.application.subagents.subagent_runner import SubagentRunner
from quorum.application.turn import switchable_session
from quorum.application.turn.attachments import Attachments, CallAttachments, Mentions
from quorum.application.turn.dialogue import Dialogue
from quorum.application.turn.run_agent import RunAgent, TurnParts
from quorum.application.turn.tool_prefix import ToolPrefix
from quorum.application.turn.user_commands import CommandTerms
from quorum.domain.calls.planners import PLANNERS
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.review.ballot import list_unused_lenses
from quorum.infrastructure import settings_conversion as conversion
from quorum.infrastructure.attachment_files import AttachmentFiles
from quorum.infrastructure.changes.folder_tools import LookingParts, build_draft_policy
from quorum.infrastructure.changes.opening import SessionChanges
from quorum.infrastructure.changes.shown_content import RepositoryFiles
from quorum.infrastructure.composition.decisions import ReviewParts
from quorum.infrastructure.config.loading import is_flag
from quorum.infrastructure.config.model_choice import choose_consensus
from quorum.infrastructure.execution.commands.orphans import OrphanFinder
from quorum.infrastructure.execution.commands.user_shell import build_user_commands
from quorum.infrastructure.execution.sandbox.sandbox import EarlySearch
from quorum.infrastructure.file_finder import WorkspaceFiles
from quorum.infrastructure.github_references import open_references
from quorum.infrastructure.inbox import open_inbox
from quorum.infrastructure.instructions import instruction_files
from quorum.infrastructure.instructions.agent_catalog import AgentCatalog
from quorum.infrastructure.instructions.skill_catalog import SkillCatalog
from quorum.infrastructure.instructions.trusted_offers import OfferTerms, TrustedCommands
from quorum.infrastructure.mcp.pinned_tools import open_pinned_tools
from quorum.infrastructure.mcp.servers import McpServers
from quorum.infrastructure.models import opening
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.prices.model_figures import build_output_lookup, build_window_lookup
from quorum.infrastructure.store.snapshots.restorer import WorkspaceRestorer
from quorum.infrastructure.tools.built_in_tools import MODULES
from quorum.infrastructure.tools.builtin.parts import ToolParts, Workers
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from quorum.infrastructure.tools.json_schema import JsonSchema
from quorum.infrastructure.tools.mentioned_files import MentionedFiles
from quorum.infrastructure.tools.registration import build_tool_offer, choose_tools, decide_server_tools

if TYPE_CHECKING:
    from quorum.application.staging.staged_turns import StagedTurns


class CallParts:
    """The tools are there before those who carry some of them out: these are asked for when a call runs."""

    def __init__(
        self,
        reviews: ReviewParts,
        *,
        measure_document_room: Callable[[], int],
        get_workers: Callable[[], Workers],
    ) -> None:
        given, core, shared, terms = reviews.given, reviews.core, reviews.shared, reviews.terms
        settings, environ, record, root = given.settings, given.environ, given.record, given.root
        limits = settings.tools.output.limits
        self.outputs: Final = Outputs(store=shared.store, limits=limits, kept=core.events.state.blobs)
        self.looking: Final = LookingParts(
            voting=reviews.voting, limits=limits, mask=given.mask, hooks=shared.registrations
        )
        self.pending_messages: Final = PendingMessages()
        self.attachments: Final = Attachments(
            AttachmentFiles(shared.workspace.cwd, shared.paths, environ),
            record.contents,
            hide=core.events.hide,
            past=[entry.event for entry in record.records if entry.event is not None],
        )
        self.call_attachments: Final = CallAttachments(
            self.attachments, self.pending_messages, room=measure_document_room
        )
        self.jobs: Final = BackgroundJobs(
            events=core.events,
            outputs=self.outputs,
            pending_messages=self.pending_messages,
            most=settings.tools.run_command.max_jobs,
        )
        self.changes: Final = SessionChanges(
            settings,
            given.asked,
            record.form,
            root=root,
            environ=environ,
            looking=self.looking,
            paths=shared.paths,
        )
        self.plans: Final = PlanService(
            events=core.events,
            kind=record.form,
            scope=settings.agent.phase_scope,
            is_asked_for=is_flag(given.loaded.origins, "agent.phase_scope"),
            changes=self.changes.of_plans,
        )
        self.goals: Final = GoalService(
            core.events, shared.keeper, str(root), record.form, lambda: self.tool_set, settings.agent
        )
        self.offers: Final = OfferTerms(root, environ, given.trust, shared.approver, given.loaded.is_safe)
        self.skills: Final = SkillCatalog(self.offers)
        self.agents: Final = AgentCatalog(self.offers)

        # The tools
        self.seen: Final = SeenFiles(core.conversation)
        self.tool_parts: Final = ToolParts(
            settings=settings,
            environ=environ,
            root=root,
            workspace=shared.workspace,
            paths=shared.paths,
            gate=shared.gate,
            sandbox=shared.sandbox,
            secret_names=shared.secret_names,
            seen=self.seen,
            attachments=self.call_attachments,
            jobs=self.jobs,
            plans=self.plans,
            goals=self.goals,
            outputs=self.outputs,
            load_skill=self.skills.load if self.skills.has_any else None,
            language_servers=shared.language_servers,
            is_owned=terms.owner is not None,
            asker=terms.asker,
            get_workers=get_workers,
            get_tool_set=lambda: self.tool_set,
        )
        self.choice: Final = choose_tools(
            self.tool_parts, form=record.form, loaded=given.loaded, wanted=terms.wanted_tools
        )
        self.tools: Final = self.choice.tools
        self.schema: Final = JsonSchema()
        self.tool_set: Final = ToolSet(self.tools, self.schema)

        # The runtime
        self.hooks: Final = HookChain(registrations=shared.registrations, events=core.events)
        self.runtime: Final = ToolRuntime(
            hooks=self.hooks,
            outputs=self.outputs,
            tools=self.tool_set,
            schema=self.schema,
            review=reviews.review,
            events=core.events,
            planner=PLANNERS[settings.tools.planner],
            cwd=str(root),
            keeper=shared.keeper,
            secrets=shared.secrets,
            edits=shared.diagnostics,
            asker=terms.asker,
            one_session=terms.one_session,
        )


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
        self.efforts: Final = switchable_session.ReasoningEfforts(
            settings.models.effort,
            roles=switchable_session.list_effort_roles(kind),
            list_efforts=shared.gateway.list_efforts,
            chosen=given.asked.efforts,
        )
        forms = opening.PanelForms(
            panel=self.panel,
            system_prompt=self.system_prompt,
            asked=given.asked,
            debate_policy=conversion.build_debate_policy(settings),
            draft_policy=build_draft_policy(
                settings, calls.looking, shared.workspace, shared.paths, shared.rules.book
            ),
            review_policy=calls.changes.policy,
            events=core.events,
            root=given.root,
        )
        self.open_exchange: Final = forms.choose_opener(
            kind,
            reviews.metered,
            agent=given.record.external_agent,
            shape=calls.hooks.on_message_send,
            choice=self.consensus,
            read_source=lambda: given.read_change.attach(calls.changes.opened),
        )
        self._fallbacks: Final = settings.models.decision_fallback if kind.has_one_model else ()
        self.opening: Final = opening.open_first(self.open_exchange, given.asked.models)
        self.session: Final = switchable_session.SwitchableSession(
            self.opening.exchange,
            open_exchange=self.open_exchange,
            fallbacks=switchable_session.FallbackModels(self._fallbacks, events=core.events),
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
        return mask_record(
            given.record,
            given.mask,
            (
                *self.opening.notices,
                *self.consensus.notices,
                *opening.check_fallbacks(self.open_exchange, self._fallbacks),
                *list_unused_lenses(settings.quorum.lenses, reviewers, given.asked.participants),
                *self.efforts.describe_ignored(self.opening.exchange.model),
                *opening.check_participants(
                    reviews.metered.open_exchange, given.asked.participants if form.asks_several else ()
                ),
                *self._calls.choice.notices,
                *reviews.quorum_policy.calibration.notices,
                *self._reviews.shared.spending.build_unpriced_notices(
                    reviewers if form is SessionKind.EXTERNAL else (given.asked.models[0], *reviewers)
                ),
            ),
        )


class ConversationParts:
    """What an agent talks with: instructions, attachments and names. A subagent has one of its own."""

    def __init__(self, reviews: ReviewParts, calls: CallParts, models: ModelParts) -> None:
        given, core, shared = reviews.given, reviews.core, reviews.shared
        settings, environ, root, kind = given.settings, given.environ, given.root, given.record.form
        folders, review = shared.workspace.folders, reviews.review
        self.gauge: Final = ContextGauge(
            core.conversation,
            window=build_window_lookup(settings.providers, settings.context_budget.models),
            budget=settings.context_budget,
            tool_bytes=lambda: self.tool_prefix.listed_bytes or calls.tool_set.count_schema_bytes(),
            instructions=lambda: models.system_prompt.sizes,
        )
        self.context_manager: Final = ContextManager(
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
            is_offered=decide_server_tools(settings, kind),
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
            schemas=PhaseTools(core.events, calls.tool_set).list_schemas,
            names=lambda: (*calls.tool_set.names, *MODULES, *self.tool_servers.list_names()),
            events=core.events,
            pending_messages=calls.pending_messages,
            offers=build_tool_offer(settings),
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
            secrets=shared.secrets,
            pending_messages=calls.pending_messages,
            is_attended=lambda: reviews.review.is_person_there,
            # A subagent's prompt is a model's: what it names, the subagent reads with its tools.
            mentions=None if reviews.terms.owner else self.mentions,
        )
        self.turn_parts: Final = TurnParts(
            session_id=given.record.session_id,
            dialogue=self.dialogue,
            runtime=calls.runtime,
            review=review,
            events=core.events,
            hooks=calls.hooks,
            limits=settings.agent,
            attachments=calls.attachments,
        )
        found = instruction_files.find_instruction_files(
            root, environ, settings, folders, is_off=given.loaded.is_safe
        )
        self.instructions: Final = ProjectInstructions(
            models.system_prompt,
            finder=instruction_files.TrustedInstructions(
                found,
                seen=calls.seen,
                decisions=given.trust,
                approver=shared.approver,
                past=given.record.records,
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
            agents=calls.agents if "task" in calls.tools else None,  # which the model has no other use for
            folders=folders,
        )
        self.memory: Final = Memory(
            instruction_files.MemoryFiles(found, decisions=given.trust),
            review=review,
            events=core.events,
            kind=kind,
        )
        self.custom_commands: Final = PromptCommands(
            CustomCommands(TrustedCommands(calls.offers), reserved=given.reserved_commands),
            self.tool_servers,
            InitCommand(kind=kind, review=review),
        )
        self.command_terms: Final = CommandTerms(self.custom_commands, review, models.session, shared.gateway)
        self.files: Final = WorkspaceFiles(folders, environ)


class AgentParts:
    """The session as front ends hold it. `get_subagents` answers with what opens the sessions of subagents."""

    def __init__(
        self,
        reviews: ReviewParts,
        calls: CallParts,
        models: ModelParts,
        conversation: ConversationParts,
        get_subagents: Callable[[], SubagentSessions],
    ) -> None:
        given, shared = reviews.given, reviews.shared
        settings, record, root = given.settings, given.record, given.root
        events, review = reviews.core.events, reviews.review
        self.subagents: Final = SubagentRunner(
            record.session_id, sessions=get_subagents, events=events, most=settings.tools.task.max_parallel
        )
        self.workers: Final = Workers(
            subagents=self.subagents,
            tasks=DefinedTasks(
                calls.agents.find, calls.tool_set, lambda: models.session_models.current, shared.gateway, events
            ),
            plan_tasks=PlanTaskRunner(calls.plans, self.subagents, calls.tool_set),
        )
        turns = given.build_external(conversation.turn_parts) if given.build_external is not None else None
        staged = _open_staged_turns(reviews, calls, conversation.tool_servers)
        self.run: Final[RunAgent] = turns or RunAgent(
            conversation.turn_parts,
            instructions=conversation.instructions,
            begin_turn=models.begin_turn,
            commands=conversation.command_terms,
            diagnostics=shared.diagnostics,
            tool_servers=conversation.tool_servers,
            spenders=[conversation.context_manager, models.panel, models.review_panel],
            subagents=self.subagents,
            is_job_running=lambda: calls.jobs.is_any_running,
            staged=staged,
            goals=calls.goals,
            final_review=calls.changes.build_final_review(conversation.turn_parts, models.review_panel),
        )
        rewind = Rewind(
            run=self.run,
            events=events,
            keeper=shared.keeper,
            contents=record.contents,
            jobs=calls.jobs,
            restorer=WorkspaceRestorer(shared.reader),
            withdraw_folders=reviews.folders.withdraw_undone,
        )
        self.session: Final = AgentSession(
            self.run,
            cwd=str(root),
            models=models.session_models,
            context_manager=conversation.context_manager,
            spending=shared.spending,
            review=review,
            consensus=models.consensus,
            rules=shared.rules.serve(calls.tools, calls.schema, review),
            rewind=rewind,
            files=conversation.files,
            folders=reviews.folders,
            user_commands=build_user_commands(
                settings.tools.run_command,
                root,
                given.environ,
                events=events,
                outputs=calls.outputs,
                pending_messages=calls.pending_messages,
                hold=staged.hold if staged is not None else None,
            ),
            memory=conversation.memory,
            custom_commands=conversation.custom_commands,
            skills=calls.skills,
            agents=calls.agents,
            tool_servers=conversation.tool_servers,
            jobs=calls.jobs,
            plans=calls.plans,
            plan_tasks=self.workers.plan_tasks,
            outputs=calls.outputs,
            reviewed_files=RepositoryFiles(root, given.environ),
            inbox=open_inbox(record.archive, record.storage.answers, given.loaded, given.environ),
            record=models.visible_record,
            mask=given.mask,
            hooks=shared.session_hooks,
            events=events,
            orphan_finder=OrphanFinder(),
            background=[
                shared.keeper,
                EarlySearch(shared.sandbox, shared.workspace.folders),
                shared.environment,
                conversation.tool_servers,
                *(work for work in (turns, shared.language_servers) if work is not None),
            ],
            sandbox=shared.sandbox,
            external=turns,
            staged=staged,
            language_servers=shared.language_servers,
        )


def _open_staged_turns(reviews: ReviewParts, calls: CallParts, servers: McpServers) -> StagedTurns | None:
    given, shared, events, terms = reviews.given, reviews.shared, reviews.core.events, reviews.terms
    if (layer := given.layer) is None or terms.owner:
        return None
    from quorum.infrastructure.staging.opening import open_staged_turns

    own = given.environ, given.record, given.settings.review.protected, shared.paths, reviews.review, events
    more = calls.jobs.stop_with_turn, shared.language_servers, calls.pending_messages, servers.suspended
    return open_staged_turns(layer, *own, *more, shared.sandbox, shared.keeper, terms.one_session)

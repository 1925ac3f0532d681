"""What the calls of a session run on: its tools and the runtime."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final

from quorum.application.background_jobs import BackgroundJobs
from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.plan_service import PhaseTools, PlanService
from quorum.application.ports.subagents import SubagentPort
from quorum.application.subagents.defined_tasks import DefinedTasks
from quorum.application.subagents.plan_task_runner import PlanTaskRunner
from quorum.application.turn.attachments import Attachments, CallAttachments
from quorum.application.turn.steering import PendingMessages
from quorum.domain.calls.planners import PLANNERS
from quorum.domain.calls.tool import ToolSpec
from quorum.infrastructure import session_tools
from quorum.infrastructure import settings_conversion as conversion
from quorum.infrastructure.attachment_files import AttachmentFiles
from quorum.infrastructure.changes.folder_tools import choose_folder_tools
from quorum.infrastructure.changes.opening import build_code_review_policy, choose_plan_changes, open_changes
from quorum.infrastructure.changes.repository_changes import RepositoryChanges
from quorum.infrastructure.composition.decisions import ReviewParts
from quorum.infrastructure.config.loading import is_flag
from quorum.infrastructure.execution.sandbox.sandbox import EarlySearch
from quorum.infrastructure.instructions.agent_catalog import AgentCatalog, AgentFiles
from quorum.infrastructure.instructions.skill_catalog import SkillCatalog, SkillFolders
from quorum.infrastructure.tools.built_in_tools import build_tools
from quorum.infrastructure.tools.builtin.parts import ToolParts
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from quorum.infrastructure.tools.custom_tool import build_custom_tools
from quorum.infrastructure.tools.json_schema import JsonSchema
from quorum.infrastructure.tools.registration import ToolSource, choose_tools


class CallParts:
    """The tools are there before those who carry some of them out: these are asked for when a call runs."""

    def __init__(
        self,
        reviews: ReviewParts,
        *,
        measure_document_room: Callable[[], int],
        get_subagents: Callable[[], SubagentPort],
        get_tasks: Callable[[], DefinedTasks],
        get_plan_tasks: Callable[[], PlanTaskRunner],
    ) -> None:
        self._reviews: Final = reviews
        given, core, shared, terms = reviews.given, reviews.core, reviews.shared, reviews.terms
        settings, environ, record, root = given.settings, given.environ, given.record, given.root
        workspace, command_table = shared.workspace, settings.tools.run_command
        self.open_spill: Final = shared.store.open_spill if shared.store is not None else None
        self.outputs: Final = Outputs(
            store=shared.store, limits=conversion.build_output_limits(settings), kept=core.state.blobs
        )
        self.pending_messages: Final = PendingMessages()
        self.attachments: Final = Attachments(
            AttachmentFiles(workspace.cwd, shared.paths, environ),
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
            most=command_table.max_jobs,
        )
        self.code_review_policy: Final = build_code_review_policy(settings)
        self.plan_changes: Final = choose_plan_changes(settings, record.form, lambda: self.changes)
        self.plans: Final = PlanService(
            events=core.events,
            kind=record.form,
            scope=settings.agent.phase_scope,
            is_asked_for=is_flag(given.loaded.origins, "agent.phase_scope"),
            changes=self.plan_changes,
        )
        off, trust, ask = given.loaded.is_safe, given.trust, shared.approver
        skill_folders, agents = SkillFolders(root, environ, is_off=off), AgentFiles(root, environ, is_off=off)
        self.skills: Final = SkillCatalog(skill_folders, decisions=trust, approver=ask, cwd=root)
        self.agents: Final = AgentCatalog(agents, decisions=trust, approver=ask, cwd=root)

        # The tools
        self.seen: Final = SeenFiles(core.conversation)
        parts = self.tool_parts = ToolParts(
            settings=settings,
            environ=environ,
            root=root,
            workspace=workspace,
            paths=shared.paths,
            gate=shared.gate,
            sandbox=shared.sandbox,
            secret_names=shared.secret_names,
            command_limits=conversion.build_command_limits(settings),
            seen=self.seen,
            attachments=self.call_attachments,
            jobs=self.jobs,
            plans=self.plans,
            outputs=self.outputs,
            store=shared.store,
            open_spill=self.open_spill,
            skills=self.skills if skill_folders.find() else None,
            is_owned=terms.owner is not None,
            asker=terms.asker,
            get_subagents=get_subagents,
            get_tasks=get_tasks,
            get_plan_tasks=get_plan_tasks,
            get_tool_set=lambda: self.tool_set,
        )
        custom = build_custom_tools(
            conversion.list_custom_declarations(settings),
            root=workspace.cwd,
            resources=lambda named: workspace.locate(named).resources,
            max_output_bytes=command_table.max_output_bytes,
            secret_names=shared.secret_names,
            sandbox=shared.sandbox,
            open_spill=self.open_spill,
        )
        self.choice: Final = choose_tools(
            form=record.form,
            loaded=given.loaded,
            cwd=workspace.cwd,
            sources=(
                ToolSource("quorum itself", build_tools(parts)),
                ToolSource("[tools.custom] in the settings", custom),
            ),
        )
        self.tools: Final = session_tools.keep_wanted_tools(self.choice.tools, terms.wanted_tools)
        self.spec: Final = ToolSpec(tool.definition for tool in self.tools.values())
        self.schema: Final = JsonSchema()
        self.tool_set: Final = ToolSet(self.tools, self.schema)
        self.phase_tools: Final = PhaseTools(core.events, self.tool_set)

        # The runtime
        self.early_search: Final = EarlySearch(shared.sandbox, workspace.folders)
        self.hooks: Final = HookChain(registrations=shared.registrations, events=core.events)
        self.planner: Final = PLANNERS[settings.tools.planner]
        self.runtime: Final = ToolRuntime(
            hooks=self.hooks,
            outputs=self.outputs,
            tools=self.tool_set,
            schema=self.schema,
            review=reviews.review,
            events=core.events,
            planner=self.planner,
            cwd=str(root),
            keeper=shared.keeper,
            secrets=shared.secrets,
            edits=shared.diagnostics,
            asker=terms.asker,
            one_session=terms.one_session,
        )

    @cached_property
    def changes(self) -> RepositoryChanges:
        """The changes that can be reviewed, made where one is."""
        given, shared = self._reviews.given, self._reviews.shared
        return open_changes(
            given.root,
            given.environ,
            make_tools=choose_folder_tools(
                given.settings, voting=self._reviews.voting, mask=given.mask, hooks=shared.registrations
            ),
            participants=given.asked.participants,
            policy=self.code_review_policy,
            mask=given.mask,
            paths=shared.paths,
        )

"""What the calls of a session run on: its tools and the runtime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from application.calls.hook_chain import HookChain
from application.calls.outputs import Outputs
from application.calls.tool_runtime import ToolRuntime
from application.calls.tool_set import ToolSet
from application.jobs.background_jobs import BackgroundJobs
from application.plan.plan_service import PhaseTools, PlanService
from application.ports.subagents import SubagentPort
from application.ports.tools import Tool
from application.subagents.defined_tasks import DefinedTasks
from application.subagents.plan_task_runner import PlanTaskRunner
from application.turn.attachments import Attachments
from application.turn.call_attachments import CallAttachments
from application.turn.steering import PendingMessages
from domain.calls.planners import PLANNERS
from domain.calls.tool import ToolSpec
from infrastructure import session_tools
from infrastructure import settings_conversion as conversion
from infrastructure.attachments.files import AttachmentFiles
from infrastructure.changes.opening import choose_plan_changes
from infrastructure.changes.repository_changes import RepositoryChanges
from infrastructure.composition.decisions import CoreParts, ReviewParts, SharedParts
from infrastructure.composition.inputs import SessionInputs, SubagentTerms
from infrastructure.config.loading import is_flag
from infrastructure.execution.commands.run_command import RunCommand
from infrastructure.execution.sandbox.sandbox import EarlySearch
from infrastructure.instructions.agent_catalog import AgentCatalog
from infrastructure.instructions.agent_files import AgentFiles
from infrastructure.instructions.skill_catalog import SkillCatalog
from infrastructure.instructions.skill_folders import SkillFolders
from infrastructure.tools.builtin.apply_patch import ApplyPatch
from infrastructure.tools.builtin.create_plan import CreatePlan
from infrastructure.tools.builtin.edit_file import EditFile
from infrastructure.tools.builtin.glob_search import GlobSearch
from infrastructure.tools.builtin.grep_search import GrepSearch
from infrastructure.tools.builtin.jobs import Jobs
from infrastructure.tools.builtin.list_directory import ListDirectory
from infrastructure.tools.builtin.read_file import ReadFile
from infrastructure.tools.builtin.seen import SeenFiles
from infrastructure.tools.builtin.update_plan import UpdatePlan
from infrastructure.tools.builtin.update_task import UpdateTask
from infrastructure.tools.builtin.write_file import WriteFile
from infrastructure.tools.choice import choose_tools
from infrastructure.tools.custom.tool import build_custom_tools
from infrastructure.tools.json_schema import JsonSchema
from infrastructure.tools.web.selection import build_web_fetch, build_web_search


class CallParts:
    """The tools are there before those who carry some of them out: these are asked for when a call runs."""

    def __init__(
        self,
        given: SessionInputs,
        core: CoreParts,
        shared: SharedParts,
        reviews: ReviewParts,
        terms: SubagentTerms,
        *,
        get_changes: Callable[[], RepositoryChanges],
        measure_document_room: Callable[[], int],
        get_subagents: Callable[[], SubagentPort],
        get_tasks: Callable[[], DefinedTasks],
        get_plan_tasks: Callable[[], PlanTaskRunner],
    ) -> None:
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
        self.plan_changes: Final = choose_plan_changes(settings, record.form, get_changes)
        self.plans: Final = PlanService(
            events=core.events,
            kind=record.form,
            scope=settings.agent.phase_scope,
            is_asked_for=is_flag(given.origins, "agent.phase_scope"),
            changes=self.plan_changes,
        )
        skill_folders = SkillFolders(root, environ)
        self.skills: Final = SkillCatalog(
            skill_folders, decisions=given.trust, approver=given.approver, cwd=root
        )
        self.agents: Final = AgentCatalog(
            AgentFiles(root, environ), decisions=given.trust, approver=given.approver, cwd=root
        )

        # The tools, in the order in which they are offered; None for one that the session has no use for
        self.seen: Final = SeenFiles(core.conversation)
        run_command = RunCommand(
            jobs=self.jobs,
            root=root,
            resolve_directory=lambda named: Path(workspace.locate(named).path),
            timeout_secs=command_table.timeout_secs,
            max_output_bytes=command_table.max_output_bytes,
            limits=conversion.build_command_limits(settings),
            secret_names=shared.secret_names,
            open_spill=self.open_spill,
            judge=shared.gate.judge,
            sandbox=shared.sandbox,
        )
        built_in: list[Tool | None] = [
            ReadFile(workspace, self.seen, self.call_attachments),
            ListDirectory(workspace),
            GlobSearch(workspace),
            GrepSearch(workspace, policy=shared.paths),
            WriteFile(workspace, self.seen),
            EditFile(workspace, self.seen),
            ApplyPatch(workspace, self.seen),
            run_command,
            Jobs(self.jobs),
            UpdatePlan(),
            CreatePlan(self.plans, str(root), tools=lambda: self.tool_set),
            UpdateTask(self.plans),
            session_tools.build_load_skill(skill_folders, self.skills),
            session_tools.build_inspect(shared.store, self.outputs),
            session_tools.build_task(
                terms.owner_review,
                subagents=get_subagents,
                tasks=get_tasks,
            ),
            session_tools.build_run_task(terms.owner_review, self.plans, runner=get_plan_tasks),
            session_tools.build_fail_task(terms.owner_review, terms.asker),
        ]
        web_settings = conversion.build_web_settings(settings)
        web = [build_web_fetch(web_settings), build_web_search(web_settings, environ)]
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
            covered=given.covered,
            settings=settings,
            cwd=workspace.cwd,
            sources=session_tools.list_tool_sources(built_in, web, custom),
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

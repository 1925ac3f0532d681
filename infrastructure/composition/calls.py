"""What the calls of a session run on: its tools and the runtime."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from quorum.application.background_jobs import BackgroundJobs
from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.goal_service import GoalService
from quorum.application.plan_service import PlanService
from quorum.application.steering import PendingMessages
from quorum.application.turn.attachments import Attachments, CallAttachments
from quorum.domain.calls.planners import PLANNERS
from quorum.infrastructure import settings_conversion as conversion
from quorum.infrastructure.attachment_files import AttachmentFiles
from quorum.infrastructure.changes.folder_tools import LookingParts, choose_folder_tools
from quorum.infrastructure.changes.opening import build_code_review_policy, choose_plan_changes, open_changes
from quorum.infrastructure.composition.decisions import ReviewParts
from quorum.infrastructure.config.loading import is_flag
from quorum.infrastructure.instructions.agent_catalog import AgentCatalog
from quorum.infrastructure.instructions.skill_catalog import SkillCatalog
from quorum.infrastructure.tools.builtin.parts import ToolParts, Workers
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from quorum.infrastructure.tools.json_schema import JsonSchema
from quorum.infrastructure.tools.registration import choose_tools

if TYPE_CHECKING:
    from quorum.infrastructure.changes.repository_changes import RepositoryChanges


class CallParts:
    """The tools are there before those who carry some of them out: these are asked for when a call runs."""

    def __init__(
        self,
        reviews: ReviewParts,
        *,
        measure_document_room: Callable[[], int],
        get_workers: Callable[[], Workers],
    ) -> None:
        self._reviews: Final = reviews
        given, core, shared, terms = reviews.given, reviews.core, reviews.shared, reviews.terms
        settings, environ, record, root = given.settings, given.environ, given.record, given.root
        limits = conversion.build_output_limits(settings)
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
        self.code_review_policy: Final = build_code_review_policy(settings)
        self.plan_changes: Final = choose_plan_changes(settings, record.form, lambda: self.changes)
        self.plans: Final = PlanService(
            events=core.events,
            kind=record.form,
            scope=settings.agent.phase_scope,
            is_asked_for=is_flag(given.loaded.origins, "agent.phase_scope"),
            changes=self.plan_changes,
        )
        secs = settings.agent.check_timeout_secs
        self.goals: Final = GoalService(
            core.events, shared.keeper, str(root), record.form, lambda: self.tool_set, secs
        )
        off, trust, ask = given.loaded.is_safe, given.trust, shared.approver
        self.skills: Final = SkillCatalog(root, environ, decisions=trust, approver=ask, is_off=off)
        self.agents: Final = AgentCatalog(root, environ, decisions=trust, approver=ask, is_off=off)

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
            make_tools=choose_folder_tools(given.settings, self.looking),
            participants=given.asked.participants,
            policy=self.code_review_policy,
            mask=given.mask,
            paths=shared.paths,
        )

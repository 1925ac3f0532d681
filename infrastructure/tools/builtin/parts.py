"""What the built-in tools of a session are made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from msgspec import Struct

from quorum.application.background_jobs import BackgroundJobs
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_set import ToolSet
from quorum.application.plan.plan_service import PlanService
from quorum.application.ports.instructions import SkillPort
from quorum.application.ports.storage import BlobStore, Spill
from quorum.application.ports.subagents import SubagentPort
from quorum.application.subagents.defined_tasks import DefinedTasks
from quorum.application.subagents.plan_task_runner import PlanTaskRunner
from quorum.application.turn.attachments import CallAttachments
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.subagents.subagent_task import Asker
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.execution.shell.gate import ShellGate
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.builtin.seen import SeenFiles


class ToolParts(Struct, frozen=True, kw_only=True, eq=False):
    """Parts of a session, for the function `build` of each tool's module.

    `skills` is there where the session begins with some, `store` where outputs can be kept. `is_owned`: the
    session works for another, whose `asker` it is. What is a function is there once the session is complete.
    """

    settings: Settings
    environ: Mapping[str, str]
    root: Path
    workspace: Workspace
    paths: PathPolicy
    gate: ShellGate
    sandbox: Sandbox
    secret_names: Collection[str]
    command_limits: OutputLimits
    seen: SeenFiles
    attachments: CallAttachments
    jobs: BackgroundJobs
    plans: PlanService
    outputs: Outputs
    store: BlobStore | None
    open_spill: Callable[[], Spill] | None
    skills: SkillPort | None
    is_owned: bool
    asker: Asker
    get_subagents: Callable[[], SubagentPort]
    get_tasks: Callable[[], DefinedTasks]
    get_plan_tasks: Callable[[], PlanTaskRunner]
    get_tool_set: Callable[[], ToolSet]

    @property
    def has_servers(self) -> bool:
        """Whether the settings name an MCP server that is not switched off."""
        return any(server.enabled for server in self.settings.mcp.servers.values())

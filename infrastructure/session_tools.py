"""Which tools a session has, put together from its settings and its parts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from application.calls.outputs import Outputs
from application.plan.plan_service import PlanService
from application.ports.storage import BlobStore
from application.ports.subagents import SubagentPort
from application.ports.tools import Tool
from application.review.review import Review
from application.subagents.defined_tasks import DefinedTasks
from application.subagents.plan_task_runner import PlanTaskRunner
from domain.calls.tool import ToolSpec
from domain.calls.tool_dialects import is_offered
from domain.conversation.session_kind import SessionKind
from domain.subagents.subagent_task import Asker
from infrastructure.config.schema import Settings
from infrastructure.instructions.agent_catalog import AgentCatalog
from infrastructure.instructions.skill_catalog import SkillCatalog
from infrastructure.instructions.skill_folders import SkillFolders
from infrastructure.tools.builtin.fail_task import FailTask
from infrastructure.tools.builtin.inspect import Inspect
from infrastructure.tools.builtin.load_skill import LoadSkill
from infrastructure.tools.builtin.run_task import RunTask
from infrastructure.tools.builtin.task import Task
from infrastructure.tools.registration import ToolSource


def build_tool_spec(tools: Mapping[str, Tool]) -> ToolSpec:
    return ToolSpec(tool.definition for tool in tools.values())


def build_tool_offer(settings: Settings) -> Callable[[str, str], bool]:
    """Whether a tool is offered to a model: what `tools.enabled` names always is."""
    enabled = frozenset(settings.tools.enabled)
    return lambda tool, model: tool in enabled or is_offered(tool, model)


def decide_server_tools(settings: Settings, kind: SessionKind) -> Callable[[str, bool], bool]:
    """Whether a session of this kind has a tool of an MCP server, by its name and whether it only reads."""
    enabled, disabled = frozenset(settings.tools.enabled), frozenset(settings.tools.disabled)

    def is_offered(name: str, reads_only: bool) -> bool:
        if name in disabled or (enabled and name not in enabled):
            return False
        match kind:
            case SessionKind.AGENT:
                return True
            case SessionKind.ASK:
                return reads_only
            case SessionKind.DISCUSS | SessionKind.DEBATE | SessionKind.REVIEW:
                return False

    return is_offered


def build_inspect(store: BlobStore | None, outputs: Outputs) -> Inspect | None:
    """The tool that opens stored outputs: there only where there is a store."""
    return Inspect(store, outputs.refers_to) if store is not None else None


def build_task(
    owner_review: Review | None, subagents: Callable[[], SubagentPort], tasks: Callable[[], DefinedTasks]
) -> Task | None:
    """The tool that gives tasks to subagents. A subagent, whose owner reviews its calls, has none."""
    return Task(subagents, tasks) if owner_review is None else None


def build_run_task(
    owner_review: Review | None, plans: PlanService, runner: Callable[[], PlanTaskRunner]
) -> RunTask | None:
    """The tool that gives subagents the tasks of a plan; none for a subagent, as `build_task` says."""
    return RunTask(plans, runner) if owner_review is None else None


def build_fail_task(owner_review: Review | None, asker: Asker) -> FailTask | None:
    """With this, a subagent that carries out a task of a plan can say that it failed."""
    return FailTask() if owner_review is not None and asker.plan_task else None


def build_load_skill(folders: SkillFolders, skills: SkillCatalog) -> LoadSkill | None:
    """The tool that loads skills: there only where the session begins with some, trusted or not. Blocks."""
    return LoadSkill(skills) if folders.find() else None


def keep_wanted_tools(tools: Mapping[str, Tool], wanted: Collection[str] | None) -> Mapping[str, Tool]:
    """The tools of these names; without names all."""
    return tools if wanted is None else {name: tool for name, tool in tools.items() if name in wanted}


def choose_offered_agents(agents: AgentCatalog, tools: Mapping[str, Tool]) -> AgentCatalog | None:
    """The agents that are offered to the model: none where it cannot give tasks."""
    return agents if "task" in tools else None


def list_tool_sources(
    built_in: Sequence[Tool | None], web: Sequence[Tool | None], custom: Sequence[object]
) -> tuple[ToolSource, ...]:
    """All tools there are with where they come from, as a conflict of names says it."""
    return (
        ToolSource("quorum itself", [tool for tool in built_in if tool is not None]),
        ToolSource("[tools.web] in the settings", [tool for tool in web if tool is not None]),
        ToolSource("[tools.custom] in the settings", custom),
    )

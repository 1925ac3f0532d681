"""What the built-in tools share: the parts of their session, reading of arguments, and the access they declare.

The schema has checked arguments already; reading them here keeps the types honest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from quorum.application.background_jobs import BackgroundJobs
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_set import ToolSet
from quorum.application.goal_service import GoalService
from quorum.application.plan_service import PlanService
from quorum.application.ports.subagents import SubagentPort
from quorum.application.subagents.plan_task_runner import DefinedTasks, PlanTaskRunner
from quorum.application.turn.attachments import CallAttachments
from quorum.domain.calls.access import Access
from quorum.domain.calls.tool import ToolParameter
from quorum.domain.errors import ToolError
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.subagent_task import Asker
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.execution.shell.gate import ShellGate
from quorum.infrastructure.execution.shell.repository import is_secret_settings
from quorum.infrastructure.files.file_metadata import find_other_names, list_known_names
from quorum.infrastructure.files.workspace import Location, Workspace
from quorum.infrastructure.tools.builtin.seen import SeenFiles

if TYPE_CHECKING:
    from quorum.infrastructure.language_servers.servers import LanguageServers

FILE_PARAMETER = ToolParameter(name="path", type="path", required=True)
"""Which file a call is about. What a relative one starts from is in the system prompt."""


def require_text(arguments: JsonObject, name: str, default: str | None = None) -> str:
    """A string argument. Raises ToolError if it is missing without a default, or no string."""
    value = arguments.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise ToolError(f"{name} must be a string")
    return value


def require_integer(arguments: JsonObject, name: str, default: int, *, minimum: int) -> int:
    """An integer argument of at least `minimum`. Raises ToolError if it is something else."""
    value = arguments.get(name)
    if value is None:
        return default
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or (isinstance(value, float) and not value.is_integer())
        or value < minimum
    ):
        raise ToolError(f"{name} must be a whole number of at least {minimum}")
    return int(value)


def require_flag(arguments: JsonObject, name: str) -> bool:
    """A boolean argument, false where it is missing. Raises ToolError if it is something else."""
    value = arguments.get(name)
    if value is not None and not isinstance(value, bool):
        raise ToolError(f"{name} must be true or false")
    return bool(value)


class Workers(Struct, frozen=True, kw_only=True, eq=False):
    """What has subagents work for a session: at tasks of the model, which may name an agent, and of a plan."""

    subagents: SubagentPort
    tasks: DefinedTasks
    plan_tasks: PlanTaskRunner


class ToolParts(Struct, frozen=True, kw_only=True, eq=False):
    """Parts of a session, for the function `build` of each tool's module.

    `load_skill` is there where the session begins with skills, `language_servers` where the settings name some.
    `is_owned`: the session works for another, whose `asker` it is. What is a function is there once the session
    is complete.
    """

    settings: Settings
    environ: Mapping[str, str]
    root: Path
    workspace: Workspace
    paths: PathPolicy
    gate: ShellGate
    sandbox: Sandbox
    secret_names: Collection[str]
    seen: SeenFiles
    attachments: CallAttachments
    jobs: BackgroundJobs
    plans: PlanService
    goals: GoalService
    outputs: Outputs
    load_skill: Callable[[str, str], Awaitable[str]] | None
    language_servers: LanguageServers | None
    is_owned: bool
    asker: Asker
    get_workers: Callable[[], Workers]
    get_tool_set: Callable[[], ToolSet]

    @property
    def has_servers(self) -> bool:
        """Whether the settings name an MCP server that is not switched off."""
        return any(server.enabled for server in self.settings.mcp.servers.values())


def declare_reading(location: Location) -> Access:
    """The access of a call that shows what stands in a file, also under its other names, or below a folder."""
    names = () if location.is_outside else list_known_names(location.path, location.root)
    return Access.of(
        reads=(*location.resources, *names),
        secret=filter(is_secret_settings, location.resources),
        outside=location.outside,
    )


def declare_listing(location: Location) -> Access:
    """The access of a call that shows the names below a folder."""
    return Access.of(reads=location.resources, outside=location.outside)


def declare_writing(locations: Iterable[Location]) -> Access:
    """The access of a call that changes these files, also under their other names."""
    places = tuple(locations)
    return Access.of(
        writes=(path for place in places for path in (*place.resources, *(find_other_names(place) or ()))),
        outside=(path for place in places for path in place.outside),
    )

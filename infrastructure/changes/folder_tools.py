"""Tools for reviewers: they look at a copy of the repository, and nothing of them reaches beyond it.

Their calls go through the same runtime as all others, in the mode `read-only`, with the hooks of the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from application.calls.hook_chain import HookChain
from application.calls.hooks import HookRegistration
from application.calls.outputs import Outputs
from application.calls.tool_runtime import ToolRuntime, build_batch
from application.calls.tool_set import ToolSet
from application.events.event_bus import EventBus
from application.ports.changes import OnLook, OpenTools
from application.ports.tools import Tool, ToolSchemaPort
from application.review.non_interactive_approver import NonInteractiveApprover
from application.review.review import Review
from application.review.rule_book import RuleBook
from application.review.voting import Voting
from domain.calls.planners import plan_serializable
from domain.calls.tool import ToolCall, ToolResultMessage
from domain.conversation.history import Conversation
from domain.errors import HookAborted
from domain.events.event import CallFinished, CallStarted, Event
from domain.events.masking import SecretMask
from domain.review.mode import Mode
from domain.review.path_policy import PathPolicy
from domain.review.requested_scope import RequestedScope
from domain.text.json_value import JsonObject
from domain.text.output import OutputLimits
from infrastructure.building_blocks import build_output_limits
from infrastructure.config.schema import Settings
from infrastructure.files.workspace import Workspace
from infrastructure.tools.builtin.glob_search import GlobSearch
from infrastructure.tools.builtin.grep_search import GrepSearch
from infrastructure.tools.builtin.list_directory import ListDirectory
from infrastructure.tools.builtin.read_file import ReadFile
from infrastructure.tools.builtin.seen import SeenFiles
from infrastructure.tools.json_schema import JsonSchema

_SCOPE = RequestedScope(task="review a change")


class FolderTools:
    """Implements `AnswerTools` for one conversation."""

    def __init__(self, runtime: ToolRuntime, tools: ToolSet, most_rounds: int, mask: SecretMask) -> None:
        self._runtime = runtime
        self._tools = tools
        self._most_rounds = most_rounds
        self._mask = mask

    @property
    def schemas(self) -> tuple[JsonObject, ...]:
        """The neutral schemas of the tools."""
        return self._tools.schemas()

    @property
    def most_rounds(self) -> int:
        """After so many answers that call them the model has to give its own."""
        return self._most_rounds

    async def run(self, calls: Sequence[ToolCall], round_index: int) -> tuple[ToolResultMessage, ...]:
        """A result for each call, in their order, without secrets. Raises HookAborted."""
        if not calls:
            return ()
        result = await self._runtime.run(build_batch(calls, turn_index=round_index, scope=_SCOPE))
        if result.aborted is not None:
            raise HookAborted(result.aborted)
        if result.interrupted:
            raise asyncio.CancelledError
        return tuple(replace(one, output=self._mask.text(one.output)) for one in result.results)


class _Looks:
    """Observes the calls of one conversation, and tells how each ended."""

    def __init__(self, on_look: OnLook) -> None:
        self._on_look = on_look
        self._arguments: dict[str, JsonObject] = {}

    def notify(self, event: Event) -> None:
        match event:
            case CallStarted():
                self._arguments[event.context.call_id] = event.arguments
            case CallFinished():
                arguments = self._arguments.pop(event.context.call_id, {})
                self._on_look(event.tool, arguments, event.outcome, len(event.output))
            case _:
                return


def make_folder_tools(
    *,
    voting: Voting,
    limits: OutputLimits,
    mask: SecretMask,
    hooks: Sequence[HookRegistration],
    sensitive: Sequence[str],
    most_rounds: int,
) -> Callable[[Path], OpenTools]:
    """Makes the tools for a folder, and of these some for each conversation. `sensitive` are the patterns of
    files that are not shown."""

    def open_folder(folder: Path) -> OpenTools:
        workspace = Workspace([folder])
        paths = PathPolicy(roots=(str(workspace.cwd),), sensitive=tuple(sensitive))

        def open_tools(on_look: OnLook) -> FolderTools:
            events = EventBus([_Looks(on_look)], mask=mask)
            schema: ToolSchemaPort = JsonSchema()
            built: list[Tool] = [
                ReadFile(workspace=workspace, seen=SeenFiles(Conversation())),
                ListDirectory(workspace=workspace),
                GlobSearch(workspace=workspace),
                GrepSearch(workspace=workspace, policy=paths),
            ]
            tools = ToolSet({tool.definition.name: tool for tool in built}, schema)
            review = Review(
                person=NonInteractiveApprover(),  # what would be asked, as a file outside, is withheld
                paths=paths,
                mode=Mode.READ_ONLY,
                events=events,
                rules=RuleBook(),
                voting=voting,
            )
            runtime = ToolRuntime(
                tools=tools,
                schema=schema,
                review=review,
                events=events,
                planner=plan_serializable,
                hooks=HookChain(hooks, events),
                outputs=Outputs(None, limits),
                cwd=str(workspace.cwd),
            )
            return FolderTools(runtime, tools, most_rounds, mask)

        return open_tools

    return open_folder


def choose_folder_tools(
    settings: Settings,
    *,
    voting: Voting,
    mask: SecretMask,
    hooks: Sequence[HookRegistration],
) -> Callable[[Path], OpenTools] | None:
    """The tools that the settings give to reviewers; None where they give none."""
    if settings.code_review.max_tool_rounds == 0:
        return None
    return make_folder_tools(
        voting=voting,
        limits=build_output_limits(settings),
        mask=mask,
        hooks=hooks,
        sensitive=settings.review.sensitive,
        most_rounds=settings.code_review.max_tool_rounds,
    )

"""Tools that only look: of reviewers at a copy of the repository, of planning models at the workspace.

Nothing of them reaches beyond. Their calls go through the same runtime as all others, in the mode `read-only`,
with the hooks of the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from quorum.application.calls.hook_chain import HookChain, HookRegistration
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import ToolRuntime, build_batch
from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.application.panel.participant_work import DraftPolicy
from quorum.application.ports.tools import Tool, ToolSchemaPort
from quorum.application.ports.workspace import OnLook, OpenTools
from quorum.application.review.approvers import NonInteractiveApprover
from quorum.application.review.review import Review
from quorum.application.review.rule_book import RuleBook
from quorum.application.review.voting import Voting
from quorum.domain.calls.planners import plan_serializable
from quorum.domain.calls.tool import ToolCall, ToolResultMessage
from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import HookAborted
from quorum.domain.events.event import CallFinished, CallStarted, Event
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.builtin.glob_search import GlobSearch
from quorum.infrastructure.tools.builtin.grep_search import GrepSearch
from quorum.infrastructure.tools.builtin.list_directory import ListDirectory
from quorum.infrastructure.tools.builtin.read_file import ReadFile
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from quorum.infrastructure.tools.json_schema import JsonSchema


class LookingParts(Struct, frozen=True, kw_only=True):
    """What tools that only look have of their session, and what one look is for. `hooks` are the session's."""

    voting: Voting
    limits: OutputLimits
    mask: SecretMask
    hooks: Sequence[HookRegistration]
    most_rounds: int = 0
    scope: RequestedScope = RequestedScope(task="look at the project")


class FolderTools:
    """Implements `AnswerTools` for one conversation."""

    def __init__(self, runtime: ToolRuntime, tools: ToolSet, parts: LookingParts) -> None:
        self._runtime = runtime
        self._tools = tools
        self._parts = parts

    @property
    def schemas(self) -> tuple[JsonObject, ...]:
        """The neutral schemas of the tools: nothing that would have to be reviewed is offered."""
        return self._tools.list_low_risk_schemas()

    @property
    def most_rounds(self) -> int:
        return self._parts.most_rounds

    async def run(self, calls: Sequence[ToolCall], round_index: int) -> tuple[ToolResultMessage, ...]:
        """A result for each call, in their order, without secrets. Raises HookAborted."""
        if not calls:
            return ()
        result = await self._runtime.run(build_batch(calls, turn_index=round_index, scope=self._parts.scope))
        if result.aborted is not None:
            raise HookAborted(result.aborted)
        if result.interrupted:
            raise asyncio.CancelledError
        return tuple(replace(one, output=self._parts.mask.mask_text(one.output)) for one in result.results)


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


def make_looking_tools(
    parts: LookingParts, workspace: Workspace, paths: PathPolicy, rules: RuleBook
) -> OpenTools:
    """Makes tools that look at this workspace, some for each conversation. What `rules` and `paths` would have
    a person asked about, as a file outside, is withheld."""

    def open_tools(on_look: OnLook) -> FolderTools:
        events = EventBus([_Looks(on_look)], mask=parts.mask)
        schema: ToolSchemaPort = JsonSchema()
        built: list[Tool] = [
            ReadFile(workspace=workspace, seen=SeenFiles(Conversation())),
            ListDirectory(workspace=workspace),
            GlobSearch(workspace=workspace),
            GrepSearch(workspace=workspace, policy=paths),
        ]
        tools = ToolSet({tool.definition.name: tool for tool in built}, schema)
        review = Review(
            person=NonInteractiveApprover(),
            paths=paths,
            mode=Mode.READ_ONLY,
            events=events,
            rules=rules,
            voting=parts.voting,
        )
        runtime = ToolRuntime(
            tools=tools,
            schema=schema,
            review=review,
            events=events,
            planner=plan_serializable,
            hooks=HookChain(parts.hooks, events),
            outputs=Outputs(None, parts.limits),
            cwd=str(workspace.cwd),
        )
        return FolderTools(runtime, tools, parts)

    return open_tools


def make_folder_tools(parts: LookingParts, *, sensitive: Sequence[str]) -> Callable[[Path], OpenTools]:
    """Makes the tools for a folder beside the workspace. `sensitive` are the patterns of files that are not
    shown."""

    def open_folder(folder: Path) -> OpenTools:
        workspace = Workspace([folder])
        paths = PathPolicy(roots=(str(workspace.cwd),), sensitive=tuple(sensitive))
        return make_looking_tools(parts, workspace, paths, RuleBook())

    return open_folder


def choose_folder_tools(settings: Settings, looking: LookingParts) -> Callable[[Path], OpenTools] | None:
    """The tools that the settings give to reviewers; None where they give none."""
    if settings.code_review.max_tool_rounds == 0:
        return None
    parts = replace(
        looking,
        most_rounds=settings.code_review.max_tool_rounds,
        scope=RequestedScope(task="review a change"),
    )
    return make_folder_tools(parts, sensitive=settings.review.sensitive)


def build_draft_policy(
    settings: Settings, looking: LookingParts, workspace: Workspace, paths: PathPolicy, rules: RuleBook
) -> DraftPolicy:
    """How participants look at the workspace of a session before they write a plan or a draft."""
    table = settings.drafting
    parts = replace(
        looking,
        most_rounds=table.max_tool_rounds,
        scope=RequestedScope(task="look at the project, before a plan or a draft is written"),
    )
    open_tools = make_looking_tools(parts, workspace, paths, rules) if table.max_tool_rounds else None
    return DraftPolicy(open_tools=open_tools, timeout_secs=table.answer_timeout_secs)

"""Tools that stand for what another agent would run: sealed here, carried out by the caller."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from msgspec import Struct

from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.packet import ProposedCall
from quorum.domain.calls.tool import RiskLevel, ToolDefinition
from quorum.domain.calls.tool_traits import CallEffect
from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import StaleSeal, ToolError
from quorum.domain.replacing import replace
from quorum.domain.review.hazards.typed_programs import find_typed_program
from quorum.domain.shell.command_line import ShellVerdict, ShellVerdictKind
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import ToolOutput
from quorum.infrastructure.execution.commands.sealing import seal_command
from quorum.infrastructure.execution.shell.script import read_script
from quorum.infrastructure.files.workspace import Location, Workspace, escape_path
from quorum.infrastructure.tools.builtin.apply_patch import ApplyPatch
from quorum.infrastructure.tools.builtin.drafting import (
    Draft,
    build_seal,
    decode_file,
    encode_file,
    read_content,
)
from quorum.infrastructure.tools.builtin.edit_file import replace_text
from quorum.infrastructure.tools.builtin.parts import declare_reading
from quorum.infrastructure.tools.builtin.seen import SeenFiles

_UNKNOWN = "the new content is not known: the caller changes one part of the file by its own rules"


def draft_change(call: ProposedCall, workspace: Workspace, location: Location) -> tuple[Draft, str | None]:
    """The file before and after, and what that leaves open. Raises ToolError where it cannot be made."""
    before = read_content(workspace, location)
    if call.effect is CallEffect.WRITE:
        content = str(call.arguments["content"]).encode("utf-8", "surrogatepass")
        return Draft(location=location, before=before, after=content, create_folders=True), None
    edits = call.arguments.get("edits")
    if not isinstance(edits, list | tuple):
        return Draft(location=location, before=before, after=before or b""), _UNKNOWN
    name = workspace.format_path(location.path)
    if before is None:
        first = edits[0] if edits else None
        if isinstance(first, Mapping) and first.get("old_text") == "":  # how some callers make a file
            return _apply(edits[1:], str(first["new_text"]), location, before, name), None
        raise ToolError(f"{name} does not exist, so nothing in it can be replaced")
    encoding, content_before = decode_file(before, name)
    edited = _replace_all(edits, content_before, name)
    return Draft(location=location, before=before, after=encode_file(edited, encoding, name)), None


def _apply(
    edits: list[object] | tuple[object, ...], content: str, location: Location, before: bytes | None, name: str
) -> Draft:
    after = _replace_all(edits, content, name).encode("utf-8", "surrogatepass")
    return Draft(location=location, before=before, after=after, create_folders=True)


def _replace_all(edits: object, content: str, name: str) -> str:
    if not isinstance(edits, list | tuple):
        raise ToolError("edits must be a list")
    for edit in edits:
        if not isinstance(edit, Mapping):
            raise ToolError("each of the edits must be an object")
        content, _ = replace_text(
            content,
            str(edit["old_text"]),
            str(edit["new_text"]),
            everywhere=edit.get("replace_all") is True,
            name=name,
        )
    return content


_SCHEMA: JsonObject = {"type": "object"}


async def _leave_to_caller(_seal: Seal | None, _context: ToolExecutionContext) -> str:
    return "allowed: the caller runs it"


_UNSEALED = (
    "what the caller does with its tool {tool} is not known beforehand, and no sandbox of quorum holds it"
)
_GIT = "git may run programs that a repository names: the caller's environment does not keep it from that"
_COMMAND = "further effects of the command are not known beforehand, and no sandbox of quorum holds it"


class CallerWorld(Struct, frozen=True, kw_only=True):
    """What calls of a caller are looked at with.

    `workspace` places paths anywhere on the machine, `root` is the folder that counts as the workspace.
    `judge` takes a command apart. `learn` has the secrets of a file masked, if it is sensitive. `perform` is
    awaited once an allowed call is found to be as it was sealed, and answers what came of it.
    """

    workspace: Workspace
    root: Path
    judge: Callable[[str, Path], Awaitable[ShellVerdict]]
    learn: Callable[[str], object]
    perform: Callable[[Seal | None, ToolExecutionContext], Awaitable[str | ToolOutput]] = _leave_to_caller

    def locate(self, call: ProposedCall, path: str) -> Location:
        """Where a path of the call leads, links resolved. Raises ToolError."""
        return self.workspace.locate(os.path.join(call.cwd, path))

    def is_inside(self, location: Location) -> bool:
        """Whether it lies in the workspace."""
        return Path(location.path).is_relative_to(self.root)


class CallerTool:
    """Implements `StandIn` for one proposed call. `execute` runs nothing: it checks that what is answered is
    about what was proposed, and that this is still as it was sealed."""

    def __init__(
        self, call: ProposedCall, world: CallerWorld, *, access: Access, risk: RiskLevel, doubt: str = ""
    ) -> None:
        self.doubt = doubt
        self._call = call
        self._world = world
        self._definition = ToolDefinition(
            name=call.tool,
            description=f"The tool {call.caller_tool} of the agent that asks.",
            parameters=(),
            input_schema=_SCHEMA,
            risk=risk,
            access=lambda _arguments: access,
            is_callers=True,
        )

    @property
    def definition(self) -> ToolDefinition:
        return self._definition

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """What is known of the effects of the call. Raises ToolError."""
        self._require_proposed(arguments)
        return Seal(cwd=self._call.cwd, unsealed=_UNSEALED.format(tool=self._call.caller_tool))

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str | ToolOutput:
        """Leave it to the caller. Raises StaleSeal where it is no longer what was approved, and ToolError."""
        self._require_proposed(arguments)
        approved = context.controls.seal
        if approved is not None and approved != await self.seal(arguments, {}):
            raise StaleSeal("what the call would touch changed since the approval")
        return await self._world.perform(approved, context)

    def _require_proposed(self, arguments: JsonObject) -> None:
        if arguments != self._call.arguments:
            raise ToolError(
                "the arguments were changed here, and the caller would run them as they were: have the call "
                "made anew as it should be"
            )


class CallerCommand(CallerTool):
    """A shell command of the caller."""

    def find_command(self, arguments: JsonObject) -> str | None:
        """The shell text."""
        command = arguments.get("command")
        return command if isinstance(command, str) else None

    async def judge(self, arguments: JsonObject) -> ShellVerdict | None:
        """What is known of the command. A proof counts only with the environment that it takes for granted."""
        command = self.find_command(arguments)
        if command is None:
            return None
        verdict = await self._world.judge(command, Path(self._call.cwd))
        if self._call.is_typed_into and (program := find_typed_program(read_script(command))) is not None:
            reason = f"{program} runs what is typed into it, which the caller asks nobody about"
            return replace(
                verdict, kind=ShellVerdictKind.ASK, reason=reason, sandbox_gap=reason, environment={}
            )
        if arguments.get("outside_sandbox") is True:
            return replace(verdict, leaves_sandbox=True)
        if not verdict.is_read_only or not (doubt := await asyncio.to_thread(self._explain_doubt, verdict)):
            return verdict
        parts = tuple(replace(part, objection=part.objection or doubt) for part in verdict.parts)
        return replace(verdict, kind=ShellVerdictKind.ASK, reason=doubt, parts=parts, environment={})

    def _name_outside(self) -> str:
        """Why it runs outside the workspace, or may."""
        if self._call.folder_doubt:
            return self._call.folder_doubt
        is_inside = Path(self._call.cwd).resolve().is_relative_to(self._world.root)
        return "" if is_inside else f"it runs in {self._call.cwd}, outside the workspace"

    def _explain_doubt(self, verdict: ShellVerdict) -> str:
        """Why a proof that it only reads does not hold where the caller runs it; empty where it does."""
        if outside := self._name_outside():
            return outside
        environment = self._call.environment
        words = {word.rpartition("/")[2] for part in verdict.parts for word in part.command.words}
        for name, value in verdict.environment.items():
            if name.startswith("GIT_"):
                if "git" in words and environment.get(name) != value:
                    return _GIT
            elif environment.get(name, "") != value:
                return f"the caller's environment sets {name}"
        return ""

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """The folder, programs and workspace files that the command plainly names. Raises ToolError."""
        self._require_proposed(arguments)
        command, cwd = self.find_command(arguments) or "", Path(self._call.cwd)
        if not await asyncio.to_thread(cwd.is_dir):
            raise ToolError(f"its folder {cwd} is not there any more")
        if outside := await asyncio.to_thread(self._name_outside):  # rules are about commands in the workspace
            raise ToolError(outside)
        environment = {"PATH": "", **self._call.environment}
        seal = await asyncio.to_thread(
            seal_command,
            command,
            cwd=cwd,
            root=self._world.root,
            inherited=environment,
            environment=environment,
            projected=projected,
        )
        return replace(seal, unsealed=_COMMAND)


class CallerOther(CallerTool):
    """A call whose effects are not known. What reads like a command is looked at as one, to tighten only."""

    def find_command(self, arguments: JsonObject) -> str | None:
        """The shell text that its arguments may hold."""
        return self._call.shell_text

    async def judge(self, arguments: JsonObject) -> ShellVerdict | None:
        """Nothing is proved of it; of a tool that is not known no mode says that it may run."""
        verdict: ShellVerdict | None = None
        if (text := self._call.shell_text) is not None:
            verdict = await self._world.judge(text, Path(self._call.cwd))
            verdict = replace(verdict, kind=ShellVerdictKind.ASK, reason=self.doubt, environment={})
        if self._call.is_known:
            return verdict
        verdict = verdict or ShellVerdict(kind=ShellVerdictKind.ASK, reason=self.doubt)
        return replace(verdict, sandbox_gap=self.doubt)


class CallerEdit(CallerTool):
    """A change of one file by the caller."""

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """The file as it is, and the full diff. Raises ToolError where the change cannot be made."""
        self._require_proposed(arguments)
        return await asyncio.to_thread(self._seal)

    def _seal(self) -> Seal:
        world, call = self._world, self._call
        location = world.locate(call, str(call.arguments["path"]))
        world.learn(location.path)
        draft, unsealed = draft_change(call, world.workspace, location)
        return replace(build_seal(world.workspace, draft), cwd=call.cwd, unsealed=unsealed)


class CallerPatch(CallerTool):
    """A patch of several files by the caller, read as our own tool reads it."""

    def __init__(self, call: ProposedCall, world: CallerWorld) -> None:
        self._patch = ApplyPatch(world.workspace, SeenFiles(Conversation()))
        access = self._patch.definition.determine_access(call.arguments)
        super().__init__(call, world, access=access, risk=RiskLevel.HIGH)

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """The files as they are, and the full diff. Raises ToolError where the patch does not fit."""
        self._require_proposed(arguments)
        if await asyncio.to_thread(os.path.realpath, self._call.cwd) != str(self._world.root):
            raise ToolError(f"its paths count from {self._call.cwd}, and not from the workspace")
        return await self._patch.seal(arguments, projected)


async def build_caller_tool(call: ProposedCall, world: CallerWorld) -> CallerTool:
    """The tool that stands for a call. What cannot be placed is of high risk, and touches anything."""
    try:
        return await _build_tool(call, world)
    except (ToolError, OSError) as error:
        return CallerTool(call, world, access=EXCLUSIVE, risk=RiskLevel.HIGH, doubt=str(error))


async def _build_tool(call: ProposedCall, world: CallerWorld) -> CallerTool:
    match call.effect:
        case CallEffect.COMMAND:
            return CallerCommand(call, world, access=EXCLUSIVE, risk=RiskLevel.HIGH)
        case CallEffect.WRITE | CallEffect.EDIT:
            location = await asyncio.to_thread(world.locate, call, str(call.arguments["path"]))
            return CallerEdit(call, world, access=Access.of(writes=location.resources), risk=RiskLevel.HIGH)
        case CallEffect.PATCH:
            return await asyncio.to_thread(CallerPatch, call, world)
        case CallEffect.READ | CallEffect.LIST:
            locations = await asyncio.to_thread(_locate_all, call, world)
            return _build_reader(call, world, _declare(locations), _find_doubt(world, locations))
        case CallEffect.SEARCH:
            return await _search(call, world)
        case CallEffect.NOTE:
            return CallerTool(call, world, access=Access(), risk=RiskLevel.LOW)
        case CallEffect.OTHER:
            doubt = f"what the tool {call.caller_tool} would do with this is not known"
            return CallerOther(call, world, access=EXCLUSIVE, risk=RiskLevel.HIGH, doubt=doubt)


def _locate_all(call: ProposedCall, world: CallerWorld) -> list[Location]:
    """Where `path` leads, or each of `paths`. Raises ToolError."""
    paths = call.arguments.get("paths")
    named = paths if isinstance(paths, list | tuple) else [call.arguments["path"]]
    return [world.locate(call, str(path)) for path in named]


def _declare(locations: Sequence[Location]) -> Access:
    found = [declare_reading(location) for location in locations]
    return Access.of(
        reads=chain.from_iterable(each.reads for each in found),
        secret=chain.from_iterable(each.secret for each in found),
        outside=chain.from_iterable(each.outside for each in found),
    )


def _find_doubt(world: CallerWorld, locations: Sequence[Location]) -> str:
    outside = next((each for each in locations if not world.is_inside(each)), None)
    return "" if outside is None else f"{escape_path(outside.path)} lies outside the workspace"


def _build_reader(call: ProposedCall, world: CallerWorld, access: Access, doubt: str) -> CallerTool:
    risk = RiskLevel.HIGH if doubt else RiskLevel.LOW
    return CallerTool(call, world, access=access, risk=risk, doubt=doubt)


async def _search(call: ProposedCall, world: CallerWorld) -> CallerTool:
    """A search shows lines of sensitive files too: whether there are any, the gate for commands finds out."""
    locations = await asyncio.to_thread(_locate_all, call, world)
    access = _declare(locations)
    if doubt := _find_doubt(world, locations):
        return _build_reader(call, world, access, doubt)
    paths = (location.path for location in locations)
    verdict = await world.judge(shlex.join(["grep", "-r", "x", "--", *paths]), world.root)
    found = Access.of(reads=access.reads | set(verdict.paths_read), secret=access.secret)
    return _build_reader(call, world, found, "" if verdict.is_read_only else verdict.reason)

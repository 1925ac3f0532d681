"""Composes what decides about the calls of one session of another agent."""

from __future__ import annotations

import asyncio
import os
import shlex
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, Never

from msgspec import Struct

from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.gate.call_gate import CallGate
from quorum.application.gate.decision_watch import DecisionWatch
from quorum.application.ports.people import Approver, Observer
from quorum.application.ports.tools import Tool
from quorum.application.ports.workspace import FileKeeper
from quorum.application.session.session_record import SessionRecord
from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.hook import HookPoint
from quorum.domain.calls.planners import PLANNERS
from quorum.domain.calls.proposed_call import CallEffect, ProposedCall
from quorum.domain.calls.seal import Seal
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolSpec
from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import LedgerError, StaleSeal, ToolError
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.sessions.past_session import ContinuedSession
from quorum.domain.shell.command_line import ShellVerdict, ShellVerdictKind
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.composition.inputs import SessionInputs
from quorum.infrastructure.composition.session import SessionParts
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.execution.commands.sealing import seal_command
from quorum.infrastructure.files.workspace import Location, Workspace, escape_path
from quorum.infrastructure.remote.session_release import ask_residents_to_release
from quorum.infrastructure.secrets.key_ring import KeyRing
from quorum.infrastructure.settings_conversion import build_output_limits
from quorum.infrastructure.storage import open_record
from quorum.infrastructure.tools.builtin.apply_patch import ApplyPatch
from quorum.infrastructure.tools.builtin.drafting import Draft, build_seal, read_content
from quorum.infrastructure.tools.builtin.file_text import decode_file, encode_file
from quorum.infrastructure.tools.builtin.matching import replace_text
from quorum.infrastructure.tools.builtin.reading import declare_reading
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from quorum.infrastructure.trust.decisions import open_trust_decisions

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


async def _leave_to_caller(_seal: Seal | None) -> str:
    return "allowed: the caller runs it"


_UNSEALED = "what the caller does with its tool {tool} is not sealed, and no sandbox of quorum holds it"
_GIT = "git may run programs that a repository names: the caller's environment does not keep it from that"
_COMMAND = "further effects of the command are not sealed, and no sandbox of quorum holds it"


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
    perform: Callable[[Seal | None], Awaitable[str]] = _leave_to_caller

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
        )

    @property
    def definition(self) -> ToolDefinition:
        return self._definition

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """What is known of the effects of the call. Raises ToolError."""
        self._require_proposed(arguments)
        return Seal(cwd=self._call.cwd, unsealed=_UNSEALED.format(tool=self._call.caller_tool))

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """Leave it to the caller. Raises StaleSeal where it is no longer what was approved, and ToolError."""
        self._require_proposed(arguments)
        approved = context.controls.seal
        if approved is not None and approved != await self.seal(arguments, {}):
            raise StaleSeal("what the call would touch changed since the approval")
        return await self._world.perform(approved)

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
        if arguments.get("outside_sandbox") is True:
            return replace(verdict, leaves_sandbox=True)
        if not verdict.is_read_only or not (doubt := await asyncio.to_thread(self._explain_doubt, verdict)):
            return verdict
        parts = tuple(replace(part, objection=part.objection or doubt) for part in verdict.parts)
        return replace(verdict, kind=ShellVerdictKind.ASK, reason=doubt, parts=parts, environment={})

    def _explain_doubt(self, verdict: ShellVerdict) -> str:
        """Why a proof that it only reads does not hold where the caller runs it; empty where it does."""
        if not Path(self._call.cwd).resolve().is_relative_to(self._world.root):
            return f"it runs in {self._call.cwd}, outside the workspace"
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
            location = await asyncio.to_thread(world.locate, call, str(call.arguments["path"]))
            return _build_reader(call, world, declare_reading(location), _find_doubt(world, location))
        case CallEffect.SEARCH:
            return await _search(call, world)
        case CallEffect.NOTE:
            return CallerTool(call, world, access=Access(), risk=RiskLevel.LOW)
        case CallEffect.OTHER:
            doubt = f"what the tool {call.caller_tool} would do with this is not known"
            return CallerOther(call, world, access=EXCLUSIVE, risk=RiskLevel.HIGH, doubt=doubt)


def _find_doubt(world: CallerWorld, location: Location) -> str:
    return "" if world.is_inside(location) else f"{escape_path(location.path)} lies outside the workspace"


def _build_reader(call: ProposedCall, world: CallerWorld, access: Access, doubt: str) -> CallerTool:
    risk = RiskLevel.HIGH if doubt else RiskLevel.LOW
    return CallerTool(call, world, access=access, risk=risk, doubt=doubt)


async def _search(call: ProposedCall, world: CallerWorld) -> CallerTool:
    """A search shows lines of sensitive files too: whether there are any, the gate for commands finds out."""
    location = await asyncio.to_thread(world.locate, call, str(call.arguments["path"]))
    access = declare_reading(location)
    if doubt := _find_doubt(world, location):
        return _build_reader(call, world, access, doubt)
    verdict = await world.judge(shlex.join(["grep", "-r", "x", "--", location.path]), world.root)
    found = Access.of(reads=access.reads | set(verdict.paths_read), secret=access.secret)
    return _build_reader(call, world, found, "" if verdict.is_read_only else verdict.reason)


_SPACE = uuid.UUID("6f0f2c1c-6f0b-5d0e-9d3b-2f7d0a5b9c11")
_PAUSE_SECS = 0.05
_MOST_WAITING_SECS = 5.0  # another process takes no longer for a decision without models


class NoSchema:
    """Implements `ToolSchemaPort` for calls whose form was checked where they came in."""

    def tool_to_schema(self, definition: ToolDefinition) -> JsonObject:
        """No model is offered these tools."""
        return {"name": definition.name}

    def all_tools_schema(self, spec: ToolSpec) -> tuple[JsonObject, ...]:
        """No model is offered these tools."""
        return ()

    def low_risk_tools_schema(self, spec: ToolSpec) -> tuple[JsonObject, ...]:
        """No model is offered these tools."""
        return ()

    def find_problems(self, definition: ToolDefinition, arguments: JsonObject) -> tuple[str, ...]:
        """There are none left."""
        return ()

    def repair(self, definition: ToolDefinition, arguments: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
        """What the caller runs is what it sent."""
        return arguments, ()

    def give_example(self, definition: ToolDefinition, arguments: JsonObject) -> str:
        """No model reads one."""
        return "{}"


def identify_session(caller: str, session: str, root: Path) -> str:
    """The id of our session for one of a caller's in a folder. What the caller sends cannot name another's."""
    return str(uuid.uuid5(_SPACE, f"{caller}\0{session}\0{root}".encode("utf-8", "surrogateescape").hex()))


async def open_caller_record(loaded: LoadedSettings, root: Path, *, caller: str, session: str) -> SessionRecord:
    """The record of a caller's session, begun or continued. A process that keeps it open is asked for it.

    One that decides in it is waited for, yet not for long: then the record is that of another session beside
    it, of this process. Raises LedgerError where none can be had, and ConfigError for a place that cannot be.
    """
    session_id, until = identify_session(caller, session, root), time.monotonic() + _MOST_WAITING_SECS
    while True:
        await asyncio.to_thread(ask_residents_to_release, session_id)  # sooner than they are found to have it
        record = await _open_record(loaded, root, session_id)
        if not record.in_use:
            return record
        await record.release()
        if time.monotonic() > until:
            break
        await asyncio.sleep(_PAUSE_SECS)
    beside = identify_session(caller, f"{session}\0{os.getpid()}", root)
    record = await _open_record(loaded, root, beside)
    if record.in_use:
        await record.release()
        raise LedgerError(record.in_use)
    return record


async def _open_record(loaded: LoadedSettings, root: Path, session_id: str) -> SessionRecord:
    choice = ContinuedSession(session_id)
    return await asyncio.to_thread(open_record, loaded.settings.storage, os.environ, choice, cwd=str(root))


def _refuse_subagents(_parts: SessionParts) -> Never:
    raise LookupError("nobody works for a session of another agent")


class CallerParts:
    """What the calls of one session of another agent are decided with. Raises ConfigError."""

    def __init__(
        self,
        loaded: LoadedSettings,
        root: Path,
        *,
        approver: Approver,
        observer: Observer,
        record: SessionRecord,
        hook_environ: Mapping[str, str] | None,
        mask: SecretMask,
    ) -> None:
        self._settings, self._root = loaded.settings, root
        self._parts: Final = SessionParts(
            given=SessionInputs(
                loaded=loaded,
                root=root,
                environ=os.environ,
                hook_environ=hook_environ,
                approver=approver,
                observer=observer,
                record=record,
                mask=mask,
                trust=open_trust_decisions(os.environ),
                stored_key=KeyRing(mask.learn).get_key,
            ),
            open_subagents=_refuse_subagents,
        )
        self.shared: Final = self._parts.shared
        self.events: Final = self._parts.core.events
        self.review: Final = self._parts.reviews.review
        self._outputs: Final = Outputs(
            store=self.shared.store,
            limits=build_output_limits(loaded.settings),
            kept=self._parts.core.state.blobs,
        )
        self._hooks: Final = HookChain(
            [
                replace(one, points=one.points & {HookPoint.BEFORE_TOOL_CALL})
                for one in self.shared.registrations  # what comes after a call happens at the caller's
            ],
            self.events,
        )
        self._schema: Final = NoSchema()
        self.world: Final = CallerWorld(
            workspace=Workspace((root, Path("/"))),
            root=root,
            judge=self.shared.gate.judge,
            learn=self.shared.secrets.learn_if_sensitive,
        )

    def build_runtime(self, tool: Tool, *, keeper: FileKeeper | None = None) -> ToolRuntime:
        """The runtime that has exactly this tool. A `keeper` looks what changes while it is at work."""
        return ToolRuntime(
            tools=ToolSet({tool.definition.name: tool}, self._schema),
            schema=self._schema,
            review=self.review,
            events=self.events,
            planner=PLANNERS[self._settings.tools.planner],
            hooks=self._hooks,
            outputs=self._outputs,
            cwd=str(self._root),
            secrets=self.shared.secrets,
            keeper=keeper,
        )

    async def release(self) -> None:
        """Let go of the connections to models, and of what hooks in the sandbox shared."""
        await self._parts.gateway.aclose()
        await self.shared.sandbox.close()


def build_call_gate(
    loaded: LoadedSettings,
    root: Path,
    *,
    caller: str,
    approver: Approver,
    record: SessionRecord,
    hook_environ: Mapping[str, str],
) -> CallGate:
    """What decides about the calls of the session that `record` is of. `hook_environ` is what hooks may get of
    the environment. Raises ConfigError.
    """
    watch = DecisionWatch()
    parts = CallerParts(
        loaded,
        root,
        approver=approver,
        observer=watch,
        record=record,
        hook_environ=hook_environ,
        mask=SecretMask(),
    )

    async def stand_in(call: ProposedCall) -> CallerTool:
        return await build_caller_tool(call, parts.world)

    return CallGate(
        session_id=record.session_id,
        caller=caller,
        cwd=str(root),
        review=parts.review,
        events=parts.events,
        watch=watch,
        build_caller_tool=stand_in,
        build_runtime=parts.build_runtime,
        begin_turn=parts.shared.spending.begin_turn,
        release=parts.release,
    )

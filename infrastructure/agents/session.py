"""Composes a session in which an agent of another vendor works."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from quorum.application.agents.agent_run import AgentRun, AllowedEffects, Perform
from quorum.application.agents.external_turns import ExternalTurns
from quorum.application.ports.agents import AgentTerms, ReportedCall, StartedCommand, TerminalState
from quorum.application.ports.people import Approver, Observer
from quorum.application.ports.tools import Tool
from quorum.application.session.session_record import SessionRecord
from quorum.application.turn.run_agent import TurnParts
from quorum.domain.calls.execution import CallControls, Seal, ToolExecutionContext
from quorum.domain.calls.packet import ProposedCall
from quorum.domain.calls.summary import extract_text
from quorum.domain.calls.tool_traits import CallEffect
from quorum.domain.conversation.session_kind import name_external_model
from quorum.domain.errors import ToolError
from quorum.domain.events.masking import SecretMask
from quorum.domain.events.report import JobRecord
from quorum.domain.replacing import replace
from quorum.domain.review.permission_rules import COMMAND_TOOL
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import ToolOutput
from quorum.infrastructure.agents.acp_agent import DrivenAgent
from quorum.infrastructure.agents.channel import Confine
from quorum.infrastructure.agents.launch import AgentLaunch, ExternalAgent
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.composition.agent import CallParts
from quorum.infrastructure.composition.session import SessionParts
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.event_observers import log_events, send_telemetry
from quorum.infrastructure.execution.commands.running_command import RunningCommand
from quorum.infrastructure.execution.program import close_process_to_inspection
from quorum.infrastructure.execution.sandbox.opening import open_identity_store
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.files.workspace import escape_path
from quorum.infrastructure.gate.caller_tools import CallerWorld, build_caller_tool, draft_change
from quorum.infrastructure.gate.sessions import CallerParts, build_caller_parts
from quorum.infrastructure.secrets.known import mask_crashes, mask_logs
from quorum.infrastructure.tools.builtin import run_command
from quorum.infrastructure.tools.builtin.drafting import carry_out, read_content


class AcpTools:
    """Implements `CallerTools`. `read` reads a call of the agent, `learn` has the secrets that it writes masked
    before any of it is recorded."""

    def __init__(
        self,
        world: CallerWorld,
        read: Callable[[ReportedCall], ProposedCall],
        learn: Callable[[JsonObject], object],
    ) -> None:
        self._world, self._read, self._learn = world, read, learn

    def read(self, call: ReportedCall) -> ProposedCall:
        return self._read(call)

    async def build(self, call: ProposedCall, perform: Perform) -> Tool:
        async def perform_and_compare(seal: Seal | None, context: ToolExecutionContext) -> str | ToolOutput:
            async def require_unchanged() -> None:
                if seal is not None and seal != await tool.seal(call.arguments, {}):
                    raise ToolError("nothing was run: what the command would touch changed since the approval")

            output = await perform(
                AllowedEffects(
                    contents=seal.projected if seal is not None else {},
                    context=context,
                    require_unchanged=require_unchanged,
                )
            )
            if seal is not None and (differing := await asyncio.to_thread(_find_differing, seal)):
                raise ToolError(
                    f"{extract_text(output)}\nnot what was approved: {', '.join(map(escape_path, differing))}"
                )
            return output

        self._learn(call.arguments)
        tool = await build_caller_tool(call, replace(self._world, perform=perform_and_compare))
        return tool


class _LookedAtCommand:
    """Implements `StartedCommand`."""

    def __init__(self, command: RunningCommand) -> None:
        self._command = command
        self.wait_until_ended, self.end = command.wait_until_ended, command.end

    def read(self, most_bytes: int) -> TerminalState:
        output, is_cut = self._command.read_end(most_bytes)
        ending = self._command.ending
        code = ending.exit_code if ending is not None else None
        return TerminalState(output=output, is_cut=is_cut, has_ended=ending is not None, exit_code=code)


class _AllowedControls:
    """Implements `CallControls` for a command that runs for a call whose seal was looked at before."""

    cancelled = False
    seal = None
    reply = None

    def __init__(self, controls: CallControls) -> None:
        self.was_asked, self.state, self.report = controls.was_asked, controls.state, controls.report
        self.modify, self.note_seen = controls.modify, controls.note_seen
        self.note_host = controls.note_host


class AgentCommands:
    """Implements `ClientCommands`. The time limit is that of the agent's silence: it ends sooner what it wants
    ended."""

    def __init__(self, calls: CallParts, timeout_secs: float) -> None:
        self.is_offered = COMMAND_TOOL in calls.tools
        self._parts, self._jobs, self._timeout_secs = calls.tool_parts, calls.jobs, int(timeout_secs) or 1

    def build(self, on_start: Callable[[StartedCommand], None]) -> Tool:
        return run_command.build(
            self._parts,
            timeout_secs=self._timeout_secs,
            on_start=lambda command: on_start(_LookedAtCommand(command)),
        )

    async def run_allowed(
        self, tool: Tool, arguments: JsonObject, context: ToolExecutionContext
    ) -> str | ToolOutput:
        controls = _AllowedControls(context.controls)
        return await tool.execute(arguments, context.with_controls(controls))

    @property
    def is_any_waited_for(self) -> bool:
        return self._jobs.foreground > 0

    def send_to_background(self) -> bool:
        try:
            self._jobs.send_to_background()
        except ToolError:
            return False
        return True

    @property
    def is_any_in_background(self) -> bool:
        return self._jobs.is_any_running

    async def close(self) -> tuple[JobRecord, ...]:
        return await self._jobs.close()


def _find_differing(seal: Seal) -> list[str]:
    """The files that do not hold what was approved."""
    found = []
    for path, content in seal.projected.items():
        try:
            with open(path, "rb") as file:
                is_same = file.read(len(content) + 1) == content
        except OSError:
            is_same = False
        if not is_same:
            found.append(path)
    return found


class SessionFiles:
    """Implements `ClientFiles` with the files as our own tools read and write them."""

    def __init__(self, world: CallerWorld, cwd: str) -> None:
        self._world, self._cwd = world, cwd

    async def locate(self, path: str) -> str:
        return (await asyncio.to_thread(self._world.workspace.locate, path)).path

    async def read(self, path: str) -> str:
        return await asyncio.to_thread(self._read, path)

    async def write(self, path: str, content: str) -> str:
        return await asyncio.to_thread(self._write, path, content)

    def _read(self, path: str) -> str:
        workspace = self._world.workspace
        content = read_content(workspace, workspace.locate(path))
        if content is None:
            raise ToolError(f"{escape_path(path)} does not exist")
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ToolError(f"{escape_path(path)} is not UTF-8") from error

    def _write(self, path: str, content: str) -> str:
        workspace = self._world.workspace
        call = ProposedCall(
            tool="write_file",
            arguments={"path": path, "content": content},
            effect=CallEffect.WRITE,
            caller_tool="",
            cwd=self._cwd,
        )
        draft, _ = draft_change(call, workspace, workspace.locate(path))
        written = carry_out(workspace, draft, sealed=False, stop=Stop())
        return f"written: {escape_path(path)}, SHA-256 {written.sha256}"


def build_agent_run(parts: CallerParts, agent: ExternalAgent) -> AgentRun:
    """The agent at work in the session that these are the parts of."""
    given, launch = parts.parts.given, agent.launch
    root, commands = str(given.root), AgentCommands(parts.parts.calls, launch.timeout_secs)

    confine = _build_confine(parts, launch) if launch.is_confined else None

    def start(host: AgentRun) -> DrivenAgent:
        return DrivenAgent(
            launch, root, host, version=agent.version, runs_commands=commands.is_offered, confine=confine
        )

    return AgentRun(
        session_id=given.record.session_id,
        caller=name_external_model(launch.name),
        cwd=root,
        review=parts.review,
        events=parts.events,
        keeper=parts.shared.keeper,
        start=start,
        tools=AcpTools(parts.world, agent.read_call, parts.shared.secrets.learn_from_call),
        files=SessionFiles(parts.world, root),
        commands=commands,
        build_runtime=lambda tool, keeper: parts.build_runtime(tool, keeper=keeper),
        begin_turn=parts.shared.spending.begin_turn,
        max_calls=given.settings.agent.max_tool_turns,
    )


def _build_confine(parts: CallerParts, launch: AgentLaunch) -> Confine:
    """The sandbox of commands with the network, and what else the agent may write to."""
    given, table = parts.parts.given, parts.parts.given.settings.tools.run_command
    sandbox = Sandbox(
        choice="require",
        policy=parts.shared.paths,
        environ=given.environ,
        own=parts.shared.own,
        readable=table.sandbox_readable,
        writable=(*table.sandbox_writable, *launch.folders),
        closed=launch.obeyed,
        identities=open_identity_store(given.environ),
    )
    return partial(sandbox.wrap, network=True)


def build_external_turns(agent: ExternalAgent, parts: SessionParts, turn_parts: TurnParts) -> ExternalTurns:
    """The same, as the turns of a session that has all other parts, too."""
    run = build_agent_run(CallerParts(parts), agent)
    return ExternalTurns(run, turn_parts, before=parts.given.record.connected)


class AgentSessionParts:
    """A session with an agent, `run`, and what it is made of. Raises ConfigError."""

    def __init__(
        self,
        loaded: LoadedSettings,
        root: Path,
        agent: ExternalAgent,
        *,
        approver: Approver,
        observer: Observer,
        record: SessionRecord,
        mask: SecretMask,
    ) -> None:
        close_process_to_inspection()
        for hide in (mask_logs, mask_crashes):
            hide(mask.mask_text)
        self._parts = build_caller_parts(
            loaded,
            root,
            approver=approver,
            observer=send_telemetry(log_events(observer), loaded.settings),
            record=record,
            hook_environ=None,
            mask=mask,
        )
        self.review = self._parts.review
        self.run = build_agent_run(self._parts, agent)
        self._model = name_external_model(agent.launch.name)

    async def open(self, terms: AgentTerms) -> Sequence[str]:
        """Begin the session, or continue it; what hooks have the agent read first. Raises LedgerError and
        ProviderError."""
        is_resumed = bool(self._parts.events.state.session_id)
        await self.run.open(terms)
        hooks, source = self._parts.shared.session_hooks, "resume" if is_resumed else "new"
        context = await hooks.begin(source, self._model, self.review.mode.value)
        return (context,) if context else ()

    async def aclose(self) -> None:
        """End the agent, and let go of all else."""
        await self._parts.shared.session_hooks.end("closed")
        try:
            await self.run.aclose()
        finally:
            await self._parts.release()

"""Composes what decides about the calls of one session of another agent."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Never

from quorum.application.call_gate import CallGate, DecisionWatch
from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.ports.people import Approver, Observer
from quorum.application.ports.tools import Tool
from quorum.application.ports.workspace import FileKeeper
from quorum.application.session.session_record import SessionRecord
from quorum.domain.calls.hook_points import HookPoint
from quorum.domain.calls.packet import ProposedCall
from quorum.domain.calls.planners import PLANNERS
from quorum.domain.calls.tool import ToolDefinition, ToolSpec
from quorum.domain.errors import LedgerError
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.sessions.session_summary import ContinuedSession
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.composition.session import SessionParts
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.gate.caller_tools import CallerTool, CallerWorld, build_caller_tool
from quorum.infrastructure.gate.undecided import answer_undecided
from quorum.infrastructure.remote.session_release import ask_residents_to_release
from quorum.infrastructure.secrets.key_ring import KeyRing
from quorum.infrastructure.session_inputs import SessionInputs, open_session

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
        record = await asyncio.to_thread(open_session, loaded, root, ContinuedSession(session_id))
        if not record.in_use:
            return record
        await record.release()
        if time.monotonic() > until:
            break
        await asyncio.sleep(_PAUSE_SECS)
    beside = identify_session(caller, f"{session}\0{os.getpid()}", root)
    record = await asyncio.to_thread(open_session, loaded, root, ContinuedSession(beside))
    if record.in_use:
        await record.release()
        raise LedgerError(record.in_use)
    return record


def _refuse_subagents(_parts: SessionParts) -> Never:
    raise LookupError("nobody works for a session of another agent")


def build_caller_parts(
    loaded: LoadedSettings,
    root: Path,
    *,
    approver: Approver,
    observer: Observer,
    record: SessionRecord,
    hook_environ: Mapping[str, str] | None,
    mask: SecretMask,
) -> CallerParts:
    """The parts of a session of which nothing else is there. Raises ConfigError."""
    return CallerParts(
        SessionParts(
            given=SessionInputs(
                loaded=loaded,
                root=root,
                hook_environ=hook_environ,
                approver=approver,
                observer=observer,
                record=record,
                mask=mask,
                stored_key=KeyRing(mask.learn).get_key,
            ),
            open_subagents=_refuse_subagents,
        )
    )


_POINTS = frozenset({HookPoint.BEFORE_TOOL_CALL, HookPoint.ON_PERMISSION_REQUEST})


class CallerParts:
    """What the calls of one session of another agent are decided with: of the `parts` those that it needs.
    Raises ConfigError."""

    def __init__(self, parts: SessionParts) -> None:
        self.parts: Final = parts
        self._settings, self._root = parts.given.settings, parts.given.root
        root = self._root
        self.shared: Final = self.parts.shared
        self.events: Final = self.parts.core.events
        self.review: Final = self.parts.reviews.review
        self._outputs: Final = Outputs(
            store=self.shared.store,
            limits=self._settings.tools.output.limits,
            kept=self.events.state.blobs,
        )
        self._hooks: Final = HookChain(
            [
                replace(one, points=one.points & _POINTS)
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
        """Let go of the connections to models, of its files, and of what hooks in the sandbox shared."""
        await self.shared.end_keeping()
        await self.parts.gateway.aclose()
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
    parts = build_caller_parts(
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
        undecided=answer_undecided,
    )

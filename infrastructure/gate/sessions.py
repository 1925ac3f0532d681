"""Composes what decides about the calls of one session of another agent."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Never

from quorum.application.calls.hook_chain import HookChain
from quorum.application.calls.outputs import Outputs
from quorum.application.calls.tool_runtime import ToolRuntime
from quorum.application.calls.tool_set import ToolSet
from quorum.application.gate.call_gate import CallGate
from quorum.application.gate.decision_watch import DecisionWatch
from quorum.application.ports.people import Approver
from quorum.application.ports.tools import Tool
from quorum.application.session.session_record import SessionRecord
from quorum.domain.calls.hook import HookPoint
from quorum.domain.calls.planners import PLANNERS
from quorum.domain.calls.proposed_call import ProposedCall
from quorum.domain.calls.tool import ToolDefinition, ToolSpec
from quorum.domain.errors import LedgerError
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.sessions.past_session import ContinuedSession
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.composition.inputs import SessionInputs
from quorum.infrastructure.composition.session import SessionParts
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.gate.caller_tools import CallerTool, CallerWorld, build_caller_tool
from quorum.infrastructure.remote.session_release import ask_residents_to_release
from quorum.infrastructure.secrets.key_ring import KeyRing
from quorum.infrastructure.settings_conversion import build_output_limits
from quorum.infrastructure.storage import open_record
from quorum.infrastructure.trust.decisions import open_trust_decisions

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
    mask, watch = SecretMask(), DecisionWatch()
    parts = SessionParts(
        given=SessionInputs(
            loaded=loaded,
            root=root,
            environ=os.environ,
            hook_environ=hook_environ,
            approver=approver,
            observer=watch,
            record=record,
            mask=mask,
            trust=open_trust_decisions(os.environ),
            stored_key=KeyRing(mask.learn).get_key,
        ),
        open_subagents=_refuse_subagents,
    )
    shared, events, review = parts.shared, parts.core.events, parts.reviews.review
    outputs = Outputs(
        store=shared.store,
        limits=build_output_limits(loaded.settings),
        kept=parts.core.state.blobs,
    )
    hooks = HookChain(
        [
            replace(one, points=one.points & {HookPoint.BEFORE_TOOL_CALL})
            for one in shared.registrations  # what comes after a call happens at the caller's
        ],
        events,
    )
    world = CallerWorld(
        workspace=Workspace((root, Path("/"))),
        root=root,
        judge=shared.gate.judge,
        learn=shared.secrets.learn_if_sensitive,
    )
    schema = NoSchema()

    def build_runtime(tool: Tool) -> ToolRuntime:
        return ToolRuntime(
            tools=ToolSet({tool.definition.name: tool}, schema),
            schema=schema,
            review=review,
            events=events,
            planner=PLANNERS[loaded.settings.tools.planner],
            hooks=hooks,
            outputs=outputs,
            cwd=str(root),
            secrets=shared.secrets,
        )

    async def stand_in(call: ProposedCall) -> CallerTool:
        return await build_caller_tool(call, world)

    async def release() -> None:
        await parts.gateway.aclose()
        await shared.sandbox.close()

    return CallGate(
        session_id=record.session_id,
        caller=caller,
        cwd=str(root),
        review=review,
        events=events,
        watch=watch,
        build_caller_tool=stand_in,
        build_runtime=build_runtime,
        begin_turn=shared.spending.begin_turn,
        release=release,
    )

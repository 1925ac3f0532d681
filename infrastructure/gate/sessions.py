"""Composes what decides about the calls of one session of another agent."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from application.calls.hook_chain import HookChain
from application.calls.tool_runtime import ToolRuntime
from application.calls.tool_set import ToolSet
from application.gate.call_gate import CallGate
from application.gate.decision_watch import DecisionWatch
from application.ports.people import Approver
from application.ports.tools import Tool
from application.session.session_record import SessionRecord
from domain.calls.hook import HookPoint
from domain.calls.proposed_call import ProposedCall
from domain.calls.tool import ToolDefinition, ToolSpec
from domain.errors import LedgerError
from domain.events.masking import SecretMask
from domain.sessions.past_session import ContinuedSession
from domain.text.json_value import JsonObject
from infrastructure.config.loading import LoadedSettings
from infrastructure.files.workspace import Workspace
from infrastructure.gate.caller_tools import CallerTool, CallerWorld, build_caller_tool
from infrastructure.secrets.key_ring import KeyRing
from infrastructure.storage import open_record
from infrastructure.tool_container import ToolContainer

_SPACE = uuid.UUID("6f0f2c1c-6f0b-5d0e-9d3b-2f7d0a5b9c11")
_PAUSE_SECS = 0.05


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


async def open_caller_record(
    loaded: LoadedSettings, root: Path, *, caller: str, session: str, patience_secs: float
) -> SessionRecord:
    """The record of a caller's session, begun or continued. While another process writes it, it is waited for.

    Raises LedgerError where it cannot be had in that time, or at all; ConfigError for a place that cannot be.
    """
    choice = ContinuedSession(identify_session(caller, session, root))
    until = time.monotonic() + patience_secs
    while True:
        record = await asyncio.to_thread(
            open_record, loaded.settings.storage, os.environ, choice, cwd=str(root)
        )
        if not record.in_use:
            return record
        await record.release()
        if time.monotonic() > until:
            raise LedgerError(record.in_use)
        await asyncio.sleep(_PAUSE_SECS)


def build_call_gate(
    loaded: LoadedSettings,
    root: Path,
    *,
    caller: str,
    approver: Approver,
    record: SessionRecord,
    environment: Mapping[str, str],
) -> CallGate:
    """What decides about the calls of the session that `record` is of. Raises ConfigError.

    `environment` is what commands of the caller get, as far as it is known.
    """
    mask, watch = SecretMask(), DecisionWatch()
    container = ToolContainer(
        settings=loaded.settings,
        root=root,
        environ=os.environ,
        config_files=loaded.files,
        origins=loaded.origins,
        covered=loaded.covered,
        approver=approver,
        observer=watch,
        record=record,
        mask=mask,
        stored_key=KeyRing(mask.learn).get_key,
        models=(),
    )
    hooks = HookChain(
        [
            replace(one, points=one.points & {HookPoint.BEFORE_TOOL_CALL})
            for one in container.registrations()  # what comes after a call happens at the caller's
        ],
        container.events(),
    )
    world = CallerWorld(
        workspace=Workspace((root, Path("/"))),
        root=root,
        judge=container.gate().judge,
        environment=environment,
        learn=container.secrets().learn_if_sensitive,
    )
    schema = NoSchema()

    def build_runtime(tool: Tool) -> ToolRuntime:
        return ToolRuntime(
            tools=ToolSet({tool.definition.name: tool}, schema),
            schema=schema,
            review=container.review(),
            events=container.events(),
            planner=container.planner(),
            hooks=hooks,
            outputs=container.outputs(),
            cwd=str(root),
            secrets=container.secrets(),
        )

    async def stand_in(call: ProposedCall) -> CallerTool:
        return await build_caller_tool(call, world)

    async def release() -> None:
        await container.gateway().aclose()
        await container.sandbox().close()

    return CallGate(
        session_id=record.session_id,
        caller=caller,
        cwd=str(root),
        review=container.review(),
        events=container.events(),
        watch=watch,
        build_caller_tool=stand_in,
        build_runtime=build_runtime,
        begin_turn=container.spending().begin_turn,
        release=release,
    )

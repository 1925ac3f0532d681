"""A client of the Agent Client Protocol, by the SDK's own client side, and a `quorum acp` that it starts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    CancelElicitationResponse,
    ClientCapabilities,
    CreateElicitationResponse,
    DeniedOutcome,
    ElicitationCapabilities,
    FileSystemCapabilities,
    Implementation,
    PermissionOption,
    PromptResponse,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallUpdate,
)

from tests.support.forked_quorum import ForkedQuorum, fork_quorum
from tests.support.headless_run import QUORUM

Choose = Callable[[ToolCallUpdate, list[PermissionOption]], Awaitable[str | None]]
Fill = Callable[[str, Any], Awaitable[dict[str, Any] | None]]
PATIENCE_SECS = 120.0


async def fill_in_nothing(message: str, mode: Any) -> dict[str, Any] | None:
    return None


async def allow_once(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
    return next(option.option_id for option in options if option.kind == "allow_once")


async def reject_once(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
    return next(option.option_id for option in options if option.kind == "reject_once")


def is_notice(update: Any) -> bool:
    """Whether an update is a sentence of the program."""
    return "notice" in (update.field_meta or {}).get("quorum", {})


@dataclass
class Editor:
    """What an editor keeps: every update by session, every question, and the texts of its buffers.

    `choose` answers questions with the id of an option; None cancels. `fill_in` answers forms and addresses of
    servers, which are kept in `elicited`; None cancels. `reading` is set once a text is asked
    for, and an editor with `is_silent` never gives it.
    """

    choose: Choose = reject_once
    buffers: dict[str, str] = field(default_factory=dict)
    updates: dict[str, list[Any]] = field(default_factory=dict)
    asked: list[tuple[str, ToolCallUpdate, list[PermissionOption]]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    reading: asyncio.Event = field(default_factory=asyncio.Event)
    is_silent: bool = False
    fill_in: Fill = fill_in_nothing
    elicited: list[tuple[str, Any]] = field(default_factory=list)

    def on_connect(self, conn: object) -> None:
        """Nothing to keep."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.setdefault(session_id, []).append(update)
        self.changed.set()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append((session_id, tool_call, options))
        self.changed.set()
        chosen = await self.choose(tool_call, options)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> CreateElicitationResponse:
        self.elicited.append((message, mode))
        self.changed.set()
        values = await self.fill_in(message, mode)
        if values is None:
            return CancelElicitationResponse(action="cancel")
        return AcceptElicitationResponse(action="accept", content=values)

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> ReadTextFileResponse:
        self.reading.set()
        if self.is_silent:
            await asyncio.Event().wait()
        if path not in self.buffers:
            raise RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=self.buffers[path])

    async def until(self, what: Callable[[], object]) -> None:
        """Wait until this holds, looking at every update and question."""
        async with asyncio.timeout(PATIENCE_SECS):
            while not what():
                self.changed.clear()
                await self.changed.wait()

    def texts(self, session_id: str, kind: str = "agent_message_chunk") -> str:
        """The text of all chunks of a kind."""
        return "".join(
            update.content.text for update in self.updates.get(session_id, ()) if update.session_update == kind
        )

    def read_answer(self, session_id: str) -> str:
        """The text of all messages of the model, without notices of the program."""
        return "".join(
            update.content.text
            for update in self.updates.get(session_id, ())
            if update.session_update == "agent_message_chunk" and not is_notice(update)
        )

    def kinds(self, session_id: str) -> list[str]:
        """The kinds of all updates but notices, in order."""
        updates = self.updates.get(session_id, ())
        return [update.session_update for update in updates if not is_notice(update)]

    def is_running(self, session_id: str) -> bool:
        """Whether a call of the session has begun to run."""
        updates = self.updates.get(session_id, ())
        return any(getattr(update, "status", "") == "in_progress" for update in updates)

    def call(self, session_id: str, number: int = 0) -> dict[str, Any]:
        """A call of the session as its updates have left it."""
        calls: dict[str, dict[str, Any]] = {}
        for update in self.updates.get(session_id, ()):
            if update.session_update in ("tool_call", "tool_call_update"):
                new = update.model_dump(exclude_none=True, exclude={"session_update", "field_meta"})
                calls.setdefault(update.tool_call_id, {}).update(new)
        return list(calls.values())[number]


@dataclass
class ServedEditor:
    """An editor and the `quorum acp` that serves it."""

    editor: Editor
    agent: ClientSideConnection
    process: ForkedQuorum

    async def new(self, folder: Path) -> str:
        """Begin a session in a folder; its id."""
        return (await self.agent.new_session(cwd=str(folder), mcp_servers=[])).session_id

    async def send(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request that the SDK's client has no method for, or one as it stands; its answer."""
        return await asyncio.wait_for(self.agent._conn.send_request(method, params), PATIENCE_SECS)

    async def ask(self, session_id: str, text: str) -> PromptResponse:
        """Send a prompt of text and wait for its end."""
        block = TextContentBlock(type="text", text=text)
        return await asyncio.wait_for(
            self.agent.prompt(session_id=session_id, prompt=[block]), timeout=PATIENCE_SECS
        )

    def begin(self, session_id: str, text: str) -> asyncio.Task[PromptResponse]:
        """Send a prompt of text."""
        return asyncio.create_task(self.ask(session_id, text))


@asynccontextmanager
async def served_editor(
    cwd: Path,
    env: Mapping[str, str],
    *arguments: str,
    choose: Choose = reject_once,
    reads_buffers: bool = False,
    name: str = "zed",
    elicitation: ElicitationCapabilities | None = None,
) -> AsyncIterator[ServedEditor]:
    """Start `quorum acp` and shake hands with it."""
    editor = Editor(choose)
    files = FileSystemCapabilities(read_text_file=reads_buffers, write_text_file=reads_buffers)
    async with _serve(editor, *arguments, cwd=cwd, env=env) as (agent, process):
        await asyncio.wait_for(
            agent.initialize(
                protocol_version=1,
                client_capabilities=ClientCapabilities(fs=files, elicitation=elicitation),
                client_info=Implementation(name=name, version="1"),
            ),
            timeout=PATIENCE_SECS,
        )
        yield ServedEditor(editor, agent, process)


@asynccontextmanager
async def _serve(
    editor: Editor, *arguments: str, cwd: Path, env: Mapping[str, str]
) -> AsyncIterator[tuple[ClientSideConnection, ForkedQuorum]]:
    """A `quorum acp`, whose end comes with that of its standard input."""
    process = await fork_quorum(QUORUM, "acp", *arguments, cwd=cwd, env=env, stderr=2)
    agent = ClientSideConnection(editor, process.stdin, process.stdout, use_unstable_protocol=True)
    try:
        yield agent, process
    finally:
        await agent.close()
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), timeout=300)
        except TimeoutError:
            process.kill()
            await process.wait()

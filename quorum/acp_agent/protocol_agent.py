"""The methods of the Agent Client Protocol that a client calls, for any number of sessions at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from acp.agent.connection import AgentSideConnection
from acp.exceptions import RequestError
from acp.meta import PROTOCOL_VERSION
from acp.schema import (
    AgentCapabilities,
    ClientCapabilities,
    CloseSessionResponse,
    ForkSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PermissionOption,
    PromptCapabilities,
    PromptResponse,
    RequestPermissionResponse,
    ResumeSessionResponse,
    SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionForkCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionModeState,
    SessionResumeCapabilities,
    SetSessionModeResponse,
    ToolCallUpdate,
)

from quorum.acp_agent.client_approver import NAMING_CLIENTS, ClientApprover
from quorum.acp_agent.client_servers import ClientServer
from quorum.acp_agent.client_session import ClientSession
from quorum.acp_agent.outbox import Outbox, SessionUpdate
from quorum.acp_agent.prompt_blocks import PromptBlock, PromptBuilder
from quorum.acp_agent.session_composer import SessionComposer
from quorum.acp_agent.session_modes import list_modes, set_mode
from quorum.acp_agent.shown_text import show_line
from quorum.acp_agent.unsaved_buffers import UnsavedBuffers
from quorum.acp_agent.update_feed import UpdateFeed
from quorum.domain.errors import LedgerError, ModeRefused, QuorumError
from quorum.domain.sessions.past_session import NamedSession, NewSession, SessionChoice, SessionSummary
from quorum.errors import complain
from quorum.version import __version__

_INVALID_REQUEST, _INVALID_PARAMS, _INTERNAL_ERROR = -32600, -32602, -32603
_PAGE = 100
_AT_ONCE = 50


class ProtocolAgent:
    """Implements the SDK's `Agent`, as far as quorum has what it asks for; the SDK answers the rest.

    `settle` waits, when the client is gone, for the answers to what it asked before.
    """

    def __init__(self, composer: SessionComposer, settle: Callable[[], Awaitable[None]]) -> None:
        self._composer = composer
        self._settle = settle
        self._is_closing = False
        self._client: AgentSideConnection | None = None
        self._reads_buffers = False
        self._client_name = ""
        self._sessions: dict[str, ClientSession] = {}
        self._is_opening = asyncio.Lock()

    def on_connect(self, conn: AgentSideConnection) -> None:
        """Take the way to the client."""
        self._client = conn

    # ---------------------------------------------------------------- sessions

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: Any,
    ) -> InitializeResponse:
        files = client_capabilities.fs if client_capabilities is not None else None
        self._reads_buffers = bool(files is not None and files.read_text_file)
        self._client_name = client_info.name.lower() if client_info is not None else ""
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="quorum", title="quorum", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                mcp_capabilities=McpCapabilities(http=True, sse=False),
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    close=SessionCloseCapabilities(),
                    resume=SessionResumeCapabilities(),
                    fork=SessionForkCapabilities(),
                    additional_directories=SessionAdditionalDirectoriesCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    async def new_session(
        self,
        cwd: str,
        additional_directories: Sequence[str] | None = None,
        mcp_servers: Sequence[ClientServer] | None = None,
        **_: Any,
    ) -> NewSessionResponse:
        session, modes = await self._open(cwd, NewSession(), additional_directories, mcp_servers)
        return NewSessionResponse(session_id=session.agent.session_id, modes=modes)

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: Sequence[ClientServer] | None = None,
        additional_directories: Sequence[str] | None = None,
        **_: Any,
    ) -> LoadSessionResponse:
        """Continue a session; its whole history is sent before the answer."""
        choice = await self._release_session(session_id)
        opened = await self._open(cwd, choice, additional_directories, mcp_servers, replays=True)
        return LoadSessionResponse(modes=opened[1])

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: Sequence[str] | None = None,
        mcp_servers: Sequence[ClientServer] | None = None,
        **_: Any,
    ) -> ResumeSessionResponse:
        """Continue a session whose history the client has."""
        choice = await self._release_session(session_id)
        opened = await self._open(cwd, choice, additional_directories, mcp_servers)
        return ResumeSessionResponse(modes=opened[1])

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: Sequence[str] | None = None,
        mcp_servers: Sequence[ClientServer] | None = None,
        **_: Any,
    ) -> ForkSessionResponse:
        choice = NamedSession((await self._find(session_id)).id)
        session, modes = await self._open(cwd, choice, additional_directories, mcp_servers, fork=True)
        return ForkSessionResponse(session_id=session.agent.session_id, modes=modes)

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> ListSessionsResponse:
        """The recorded sessions, of a folder or of all, the one used last first."""
        if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
            raise RequestError(_INVALID_PARAMS, "there is no such page of the list; begin without a cursor")
        folder = str(_require_folder(cwd)) if cwd is not None else None
        first = int(cursor or 0)
        found = [one for one in await self._list_known_sessions() if folder in (None, one.cwd)]
        rest = str(first + _PAGE) if len(found) > first + _PAGE else None
        return ListSessionsResponse(
            sessions=[_build_session_info(one) for one in found[first : first + _PAGE]], next_cursor=rest
        )

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """End a session; a prompt that is being answered is cancelled."""
        session = self._require_session(session_id)
        del self._sessions[session_id]
        try:
            await session.close()
        except LedgerError as error:
            raise RequestError(_INTERNAL_ERROR, str(error)) from error
        return CloseSessionResponse()

    # ---------------------------------------------------------------- in a session

    async def prompt(self, session_id: str, prompt: Sequence[PromptBlock], **_: Any) -> PromptResponse:
        if self._is_closing:
            return PromptResponse(stop_reason="cancelled")
        return await self._require_session(session_id).answer(prompt)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop the prompt that is being answered. A session that is not open has none."""
        if (session := self._sessions.get(session_id)) is not None:
            session.cancel()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        session = self._require_session(session_id)
        try:
            await set_mode(session.agent, mode_id)
        except ModeRefused as error:
            raise RequestError(_INVALID_PARAMS, str(error)) from error
        await session.outbox.flush()
        return SetSessionModeResponse()

    # ---------------------------------------------------------------- the end

    async def close(self) -> bool:
        """The client is gone: end all sessions, but for those that ask. Whether there are such; then the
        process is to end at once, and their questions stay open in the ledger."""
        self._is_closing = True
        asking = {session for session in self._sessions.values() if session.is_asking}
        for session in set(self._sessions.values()) - asking:
            session.cancel()
        if not asking:
            await self._settle()
        for session in tuple(self._sessions.values()):
            try:
                await (session.abandon() if session in asking else session.close())
            except LedgerError as error:
                complain([str(error)])
        try:
            await self._composer.close()
        except LedgerError as error:
            complain([str(error)])
        return bool(asking)

    # ---------------------------------------------------------------- opening

    async def _open(
        self,
        cwd: str,
        choice: SessionChoice,
        additional_directories: Sequence[str] | None,
        mcp_servers: Sequence[ClientServer] | None,
        *,
        fork: bool = False,
        replays: bool = False,
    ) -> tuple[ClientSession, SessionModeState]:
        """The session and its modes. Nothing may be awaited between this and the answer to the client: it gets
        updates of the session from the next step of the loop on, and is to know its id by then."""
        root = _require_folder(cwd)
        folders = tuple(str(_require_folder(folder)) for folder in additional_directories or ())
        try:
            async with self._is_opening:
                session, notices = await self._compose(
                    root, choice, mcp_servers or (), folders, fork=fork, replays=replays
                )
        except QuorumError as error:
            raise RequestError(_INTERNAL_ERROR, str(error)) from error
        self._sessions[session.agent.session_id] = session
        await session.greet(notices)
        modes = await list_modes(session.agent)
        asyncio.get_running_loop().call_soon(session.outbox.open)
        return session, modes

    async def _compose(
        self,
        root: Path,
        choice: SessionChoice,
        servers: Sequence[ClientServer],
        folders: Sequence[str],
        *,
        fork: bool,
        replays: bool,
    ) -> tuple[ClientSession, tuple[str, ...]]:
        client = self._client
        assert client is not None
        opened = await self._composer.open_record(root, choice, fork=fork, servers=servers)
        session_id = opened.record.session_id

        async def send(update: SessionUpdate) -> None:
            await client.session_update(session_id, update)

        async def ask(call: ToolCallUpdate, options: list[PermissionOption]) -> RequestPermissionResponse:
            return await client.request_permission(session_id, call, options)

        async def read(path: str) -> str:
            return (await client.read_text_file(session_id, path)).content

        outbox = Outbox(send)
        buffers = UnsavedBuffers(read if self._reads_buffers else None, root)
        approver = ClientApprover(
            ask, outbox, buffers.describe, shows_option_names=self._client_name in NAMING_CLIENTS
        )
        feed = UpdateFeed(str(root), outbox.put)
        feed.take_title(opened.record)
        try:
            if replays:
                history = await asyncio.to_thread(lambda: [*feed.replay(opened.record)])
                for place, update in enumerate(history):
                    await send(update)
                    if place % _AT_ONCE == 0:  # other sessions run meanwhile
                        await asyncio.sleep(0)
        except BaseException:
            await opened.record.release()
            raise
        agent, notices = await self._composer.compose(opened, root, folders, approver=approver, observer=feed)
        prompts = PromptBuilder(agent.attachments, root, buffers, agent.review.is_sensitive)
        return ClientSession(agent, feed=feed, outbox=outbox, approver=approver, prompts=prompts), notices

    async def _release_session(self, session_id: str) -> NamedSession:
        """The recorded session of this id; one that this client has open is closed first."""
        found = await self._find(session_id)
        if (session := self._sessions.get(found.id)) is not None:
            if session.is_busy:
                raise RequestError(
                    _INVALID_REQUEST, "this session is open and answers a prompt; cancel it first"
                )
            await self.close_session(found.id)
        return NamedSession(found.id)

    async def _find(self, session_id: str) -> SessionSummary:
        for session in await self._list_known_sessions():
            if session.id == session_id:
                return session
        raise RequestError(_INVALID_PARAMS, f"there is no session {show_line(session_id)!a}")

    async def _list_known_sessions(self) -> tuple[SessionSummary, ...]:
        try:
            return await self._composer.list_sessions()
        except QuorumError as error:
            raise RequestError(_INTERNAL_ERROR, str(error)) from error

    def _require_session(self, session_id: str) -> ClientSession:
        if (session := self._sessions.get(session_id)) is None:
            raise RequestError(
                _INVALID_PARAMS, f"no session {show_line(session_id)!a} is open; open or load it first"
            )
        return session


def _require_folder(cwd: str) -> Path:
    path = Path(cwd)
    try:
        if path.is_absolute() and (root := path.resolve(strict=True)).is_dir():
            return root
    except (OSError, RuntimeError, ValueError) as error:
        raise RequestError(_INVALID_PARAMS, f"cannot work in {show_line(cwd)}: {error}") from error
    raise RequestError(_INVALID_PARAMS, f"cannot work in {show_line(cwd)}: give the absolute path of a folder")


def _build_session_info(session: SessionSummary) -> SessionInfo:
    return SessionInfo(
        session_id=session.id,
        cwd=session.cwd,
        title=show_line(session.title) or None,
        updated_at=datetime.fromtimestamp(session.updated_ms / 1000, UTC).isoformat(),
    )

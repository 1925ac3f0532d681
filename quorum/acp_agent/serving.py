"""`quorum acp`: serves one client on the standard streams, with any number of sessions, until it goes away."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from acp.agent.connection import AgentSideConnection
from acp.exceptions import RequestError
from acp.interfaces import Agent
from acp.meta import PROTOCOL_VERSION
from acp.schema import (
    AgentCapabilities,
    AuthenticateResponse,
    ClientCapabilities,
    CloseSessionResponse,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    DeleteSessionRequest,
    ForkSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionDeleteCapabilities,
    SessionForkCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
)

from quorum.acp_agent.client_servers import ClientServer
from quorum.acp_agent.client_session import ClientSession, SessionComposer, find_own_folder
from quorum.acp_agent.layered_session import LayeredSession, SessionPlace, read_crossing
from quorum.acp_agent.opening import ClientSessionOpener, explain_no_layer
from quorum.acp_agent.prompt_blocks import PromptBlock
from quorum.acp_agent.sign_in import KEY_METHOD, explain_sign_in
from quorum.acp_agent.standard_io import (
    SERVERS_OFFERED,
    StandardIoTransport,
)
from quorum.acp_agent.tool_calls import show_line
from quorum.acp_agent.update_feed import build_message
from quorum.command_line.options import StartOptions
from quorum.domain.errors import LedgerError, ModeRefused, ProviderError, QuorumError
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import NamedSession, NewSession, SessionChoice, SessionSummary
from quorum.errors import complain
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.version import __version__

_INVALID_REQUEST, _INVALID_PARAMS, _INTERNAL_ERROR = -32600, -32602, -32603
_RESOURCE_NOT_FOUND = -32002
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
        self._connected: ClientSessionOpener | None = None
        self._sessions: dict[str, ClientSession | LayeredSession] = {}
        self._is_opening = asyncio.Lock()
        self._crossings: dict[str, asyncio.Event] = {}
        self._refused_in: Path | None = None

    def on_connect(self, conn: AgentSideConnection) -> None:
        """Take the way to the client."""
        self._connected = ClientSessionOpener(self._composer, conn)

    @property
    def _opener(self) -> ClientSessionOpener:
        assert self._connected is not None  # whoever asks is connected
        return self._connected

    # ---------------------------------------------------------------- sessions

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: Any,
    ) -> InitializeResponse:
        """Say what there is. A client that asks for another version of the protocol is offered this one."""
        if protocol_version != PROTOCOL_VERSION:
            asked = f"the client asks for version {protocol_version} of the protocol"
            complain([f"{asked}; quorum speaks {PROTOCOL_VERSION}"])
        self._opener.capabilities = client_capabilities
        self._opener.client_name = client_info.name.lower() if client_info is not None else ""
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
                    delete=SessionDeleteCapabilities(),
                    resume=SessionResumeCapabilities(),
                    fork=SessionForkCapabilities(),
                    additional_directories=SessionAdditionalDirectoriesCapabilities(),
                ),
            ),
            auth_methods=[KEY_METHOD],
        )

    async def authenticate(self, method_id: str, **_: Any) -> AuthenticateResponse:
        """Look again whether there is a model to ask, in the folder where there was none."""
        if method_id != KEY_METHOD.id:
            raise RequestError(
                _INVALID_PARAMS, f"there is no method {show_line(method_id)!a}, only {KEY_METHOD.id}"
            )
        root = self._refused_in or find_own_folder()
        try:
            await self._composer.check_provider(root)
        except ProviderError as error:
            raise explain_sign_in(error, root) from error
        except QuorumError as error:
            raise RequestError(_INTERNAL_ERROR, str(error)) from error
        return AuthenticateResponse()

    async def new_session(
        self,
        cwd: str,
        additional_directories: Sequence[str] | None = None,
        mcp_servers: Sequence[ClientServer] | None = None,
        **_: Any,
    ) -> NewSessionResponse:
        session = await self._open(cwd, NewSession(), additional_directories, mcp_servers)
        return NewSessionResponse(session_id=session.session_id, **session.list_choices())

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
        session = await self._open(cwd, choice, additional_directories, mcp_servers, replays=True)
        return LoadSessionResponse(**session.list_choices())

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
        session = await self._open(cwd, choice, additional_directories, mcp_servers)
        return ResumeSessionResponse(**session.list_choices())

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: Sequence[str] | None = None,
        mcp_servers: Sequence[ClientServer] | None = None,
        **_: Any,
    ) -> ForkSessionResponse:
        choice = NamedSession((await self._find(session_id)).id)
        session = await self._open(cwd, choice, additional_directories, mcp_servers, fork=True)
        return ForkSessionResponse(session_id=session.session_id, **session.list_choices())

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> ListSessionsResponse:
        """The recorded sessions, of a folder or of all, the one used last first."""
        if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
            raise RequestError(_INVALID_PARAMS, "there is no such page of the list; begin without a cursor")
        folder = _find_recorded_folder(cwd) if cwd is not None else None
        first = int(cursor or 0)
        found = [one for one in await self._list_known_sessions() if folder in (None, one.cwd)]
        rest = str(first + _PAGE) if len(found) > first + _PAGE else None
        return ListSessionsResponse(
            sessions=[_build_session_info(one) for one in found[first : first + _PAGE]], next_cursor=rest
        )

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """End a session; a prompt that is being answered is cancelled."""
        session = await self._require_session(session_id)
        del self._sessions[session_id]
        try:
            await session.close()
        except LedgerError as error:
            raise RequestError(_INTERNAL_ERROR, str(error)) from error
        return CloseSessionResponse()

    async def delete_session(self, session_id: str) -> None:
        """Remove a recorded session; one that this client has open is closed first. One that is not there is
        gone already."""
        if all(known.id != session_id for known in await self._list_known_sessions()):
            return
        await self._release_session(session_id)
        try:
            await self._composer.delete_session(session_id)
        except LedgerError as error:
            raise RequestError(_INVALID_REQUEST, str(error)) from error

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Answer what the SDK has no route for; see `request_routing`."""
        if method != "session/delete":
            raise RequestError.method_not_found(f"_{method}")
        await self.delete_session(DeleteSessionRequest.model_validate(params).session_id)
        return {}

    # ---------------------------------------------------------------- in a session

    async def prompt(self, session_id: str, prompt: Sequence[PromptBlock], **_: Any) -> PromptResponse:
        if self._is_closing:
            return PromptResponse(stop_reason="cancelled")
        if (wished := read_crossing(prompt)) is not None:
            await self._cross_by_command(session_id, wished)
            return PromptResponse(stop_reason="end_turn")
        session = await self._require_session(session_id)
        try:
            return await session.answer(prompt)
        except QuorumError as error:
            raise RequestError(_INTERNAL_ERROR, str(error)) from error

    async def _cross_by_command(self, session_id: str, mode: Mode) -> None:
        session = await self._require_session(session_id)
        if session.crosses_layer(mode):
            await self._choose(session_id, "mode", mode)
            return
        client = self._opener.client
        place = "a layer" if isinstance(session, LayeredSession) else "your folder itself"
        await client.session_update(session_id, build_message(f"this session works in {place} already"))

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop the prompt that is being answered. A session that is not open has none."""
        if (session := self._sessions.get(session_id)) is not None:
            await session.cancel()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        await self._choose(session_id, "mode", mode_id)
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        """Choose the review mode, the model, or its effort."""
        session = await self._choose(session_id, config_id, str(value))
        return SetSessionConfigOptionResponse(config_options=session.list_options())

    async def _choose(self, session_id: str, option: str, value: str) -> ClientSession | LayeredSession:
        session = await self._require_session(session_id)
        try:
            if option == "mode" and session.crosses_layer(value):
                return await self._cross(session, Mode(value))
            await session.choose(option, value)
        except (ModeRefused, ProviderError) as error:
            raise RequestError(_INVALID_PARAMS, str(error)) from error
        except QuorumError as error:
            raise RequestError(_INTERNAL_ERROR, str(error)) from error
        return session

    async def _cross(
        self, session: ClientSession | LayeredSession, mode: Mode
    ) -> ClientSession | LayeredSession:
        """Have the session continue in a layer over its folder, or out of it, in another process than before.
        What is asked of it meanwhile waits. Where that fails, it continues where it was.

        Raises ModeRefused, and what opening a session raises.
        """
        if session.is_busy:
            raise ModeRefused(
                f"a prompt is being answered in this session; wait for its end, or cancel it, before {mode}"
            )
        session_id = session.session_id
        crossed = self._crossings[session_id] = asyncio.Event()
        try:
            given = await self._composer.load_settings(session.place)
            if (why := await self._explain_no_crossing(session, given.loaded, mode)) is not None:
                raise ModeRefused(f"{mode} cannot be had: {why}")
            async with self._is_opening:
                del self._sessions[session_id]
                await session.close()
                after = await self._reopen(session, mode)
        finally:
            del self._crossings[session_id]
            crossed.set()
        await self._tell_choices(after, mode)
        return after

    async def _reopen(
        self, session: ClientSession | LayeredSession, mode: Mode
    ) -> ClientSession | LayeredSession:
        choice = NamedSession(session.session_id)
        try:
            after = await self._opener.open(session.place, choice, mode=mode)
            if isinstance(after, LayeredSession) and not after.is_in(mode):  # it restored a stricter one
                await after.choose("mode", mode)
        except BaseException:
            former = Mode.STAGED if isinstance(session, LayeredSession) else session.agent.review.mode
            with suppress(QuorumError, RequestError):
                again = await self._opener.open(session.place, choice, mode=former)
                self._sessions[session.session_id] = again
                again.release()
            raise
        self._sessions[session.session_id] = after
        after.release()
        return after

    async def _tell_choices(self, session: ClientSession | LayeredSession, mode: Mode) -> None:
        """Tell the client the values that another process has chosen."""
        client, session_id = self._opener.client, session.session_id
        with suppress(ConnectionError):
            await client.session_update(
                session_id,
                CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode.value),
            )
            await client.session_update(
                session_id,
                ConfigOptionUpdate(
                    session_update="config_option_update", config_options=session.list_options()
                ),
            )

    async def _explain_no_crossing(
        self, session: ClientSession | LayeredSession, loaded: LoadedSettings, mode: Mode
    ) -> str | None:
        """Why the session cannot go into a layer or out of one, for a mode; None where it can."""
        if isinstance(session, LayeredSession):
            return loaded.policy.explain_mode_refusal(mode, loaded.settings.models.review)
        agent = session.agent
        if not agent.record.outlives:
            return "this session is kept nowhere, so that no other process could continue it"
        if agent.jobs.is_any_running:
            return "commands run in the background and would end; have the model stop them first"
        return await explain_no_layer(loaded, session.place.root)

    # ---------------------------------------------------------------- the end

    async def close(self) -> bool:
        """The client is gone: end all sessions, but for those that ask. Whether there are such; then the
        process is to end at once, and their questions stay open in the ledger."""
        self._is_closing = True
        layered = [session for session in self._sessions.values() if isinstance(session, LayeredSession)]
        own = [session for session in self._sessions.values() if isinstance(session, ClientSession)]
        for one in layered:
            one.hang_up()
        asking = {session for session in own if session.is_asking}
        for session in set(own) - asking:
            await session.cancel()
        if not asking:
            await self._settle()
        for session in own:
            try:
                await (session.abandon() if session in asking else session.close())
            except LedgerError as error:
                complain([str(error)])
        await asyncio.gather(*(one.leave() for one in layered))
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
    ) -> ClientSession | LayeredSession:
        """The session. Nothing may be awaited between this and the answer to the client: it gets
        updates of the session from the next step of the loop on, and is to know its id by then."""
        root = _require_folder(cwd)
        folders = tuple(str(_require_folder(folder)) for folder in additional_directories or ())
        place = SessionPlace(root, folders, mcp_servers or (), SERVERS_OFFERED.get())
        try:
            async with self._is_opening:
                session = await self._opener.open(place, choice, fork=fork, replays=replays)
        except ProviderError as error:
            self._refused_in = root
            raise explain_sign_in(error, root) from error
        except QuorumError as error:
            raise RequestError(_INTERNAL_ERROR, str(error)) from error
        self._sessions[session.session_id] = session
        asyncio.get_running_loop().call_soon(session.release)
        return session

    async def _release_session(self, session_id: str) -> NamedSession:
        """The recorded session of this id; one that this client has open is closed first."""
        found = await self._find(session_id)
        while (crossing := self._crossings.get(found.id)) is not None:
            await crossing.wait()
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
        raise _explain_unknown(session_id, f"there is no session {show_line(session_id)!a}")

    async def _list_known_sessions(self) -> tuple[SessionSummary, ...]:
        try:
            return await self._composer.list_sessions()
        except QuorumError as error:
            raise RequestError(_INTERNAL_ERROR, str(error)) from error

    async def _require_session(self, session_id: str) -> ClientSession | LayeredSession:
        while (crossing := self._crossings.get(session_id)) is not None:
            await crossing.wait()
        if (session := self._sessions.get(session_id)) is None:
            raise _explain_unknown(
                session_id, f"no session {show_line(session_id)!a} is open; open or load it first"
            )
        return session


def _explain_unknown(session_id: str, text: str) -> RequestError:
    return RequestError(
        _RESOURCE_NOT_FOUND, f"Resource not found: {text}", {"sessionId": show_line(session_id)}
    )


def _require_folder(cwd: str) -> Path:
    path = Path(cwd)
    try:
        if path.is_absolute() and (root := path.resolve(strict=True)).is_dir():
            return root
    except (OSError, RuntimeError, ValueError) as error:
        raise RequestError(_INVALID_PARAMS, f"cannot work in {show_line(cwd)}: {error}") from error
    raise RequestError(_INVALID_PARAMS, f"cannot work in {show_line(cwd)}: give the absolute path of a folder")


def _find_recorded_folder(cwd: str) -> str:
    """The folder as sessions name it: one that is gone had sessions, too."""
    is_named = Path(cwd).is_absolute() and not os.path.lexists(cwd)
    return os.path.normpath(cwd) if is_named else str(_require_folder(cwd))


def _build_session_info(session: SessionSummary) -> SessionInfo:
    return SessionInfo(
        session_id=session.id,
        cwd=session.cwd,
        title=show_line(session.title) or None,
        updated_at=datetime.fromtimestamp(session.updated_ms / 1000, UTC).isoformat(),
    )


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve_client(options: StartOptions) -> int:
    """Speak the protocol on standard input and output. Returns 0 once the client is gone, or at a signal.

    Whatever else is printed goes to standard error: the output belongs to the protocol.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        complain(["quorum acp talks to an editor, which starts it; docs/acp.md says how. Ctrl+C ends it"])
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    asyncio.run(_serve(options, source, sink))
    return 0


async def _serve(options: StartOptions, source: int, sink: int) -> None:
    transport = StandardIoTransport(source, sink)
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, transport.stop)
    agent = ProtocolAgent(SessionComposer(options), transport.settle)
    connection = AgentSideConnection(
        cast("Agent", agent), transport, listening=False, use_unstable_protocol=True
    )
    try:
        await connection.listen()
    finally:
        if (
            await agent.close()
        ):  # a turn waits for an answer, and is not to be cancelled: another process takes it
            sys.stderr.flush()
            os._exit(0)
        with suppress(ConnectionError):
            await connection.close()

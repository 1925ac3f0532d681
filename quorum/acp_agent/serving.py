"""`quorum acp`: serves one client on the standard streams, with any number of sessions, until it goes away."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

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
    CreateElicitationResponse,
    CurrentModeUpdate,
    DeleteSessionRequest,
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
    SessionDeleteCapabilities,
    SessionForkCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    ToolCallUpdate,
)

from quorum.acp_agent.client_approver import DIFF_CLIENTS, NAMING_CLIENTS, ClientApprover, UnsavedBuffers
from quorum.acp_agent.client_servers import ClientServer
from quorum.acp_agent.client_session import ClientSession, OpenedRecord, SessionComposer, find_own_folder
from quorum.acp_agent.config_options import (
    ConfigOptions,
    list_modes,
    list_offered_models,
    restore_mode,
    was_staged,
)
from quorum.acp_agent.effects_question import WORDS, EffectsQuestion
from quorum.acp_agent.layered_session import LayeredSession, SessionPlace, read_crossing
from quorum.acp_agent.prompt_blocks import PromptBlock, PromptBuilder
from quorum.acp_agent.server_questions import build_elicitation, can_elicit, describe_question
from quorum.acp_agent.sign_in import KEY_METHOD, explain_sign_in
from quorum.acp_agent.standard_io import (
    CANCEL_REQUEST,
    REQUEST_SENT,
    SERVERS_OFFERED,
    Outbox,
    SessionUpdate,
    StandardIoTransport,
)
from quorum.acp_agent.tool_calls import show_line
from quorum.acp_agent.update_feed import UpdateFeed, build_message
from quorum.command_line.options import StartOptions
from quorum.domain.errors import ConfigError, LedgerError, ModeRefused, ProviderError, QuorumError
from quorum.domain.mcp.server_question import ServerQuestion
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import NamedSession, NewSession, SessionChoice, SessionSummary
from quorum.errors import complain
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.staging.entered import find_entered
from quorum.version import __version__

if TYPE_CHECKING:
    from quorum.acp_agent.layer_worker import LayerWorker

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
        self._client: AgentSideConnection | None = None
        self._capabilities: ClientCapabilities | None = None
        self._client_name = ""
        self._sessions: dict[str, ClientSession | LayeredSession] = {}
        self._is_opening = asyncio.Lock()
        self._crossings: dict[str, asyncio.Event] = {}
        self._told = set[asyncio.Future[None]]()
        self._refused_in: Path | None = None

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
        """Say what there is. A client that asks for another version of the protocol is offered this one."""
        if protocol_version != PROTOCOL_VERSION:
            asked = f"the client asks for version {protocol_version} of the protocol"
            complain([f"{asked}; quorum speaks {PROTOCOL_VERSION}"])
        self._capabilities = client_capabilities
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
        client = self._client
        assert client is not None
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
            after = await self._open_place(session.place, choice, mode=mode)
            if isinstance(after, LayeredSession) and not after.is_in(mode):  # it restored a stricter one
                await after.choose("mode", mode)
        except BaseException:
            former = Mode.STAGED if isinstance(session, LayeredSession) else session.agent.review.mode
            with suppress(QuorumError, RequestError):
                again = await self._open_place(session.place, choice, mode=former)
                self._sessions[session.session_id] = again
                again.release()
            raise
        self._sessions[session.session_id] = after
        after.release()
        return after

    async def _tell_choices(self, session: ClientSession | LayeredSession, mode: Mode) -> None:
        """Tell the client the values that another process has chosen."""
        client, session_id = self._client, session.session_id
        assert client is not None
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
        return await _explain_no_layer(loaded, session.place.root)

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
                session = await self._open_place(place, choice, fork=fork, replays=replays)
        except ProviderError as error:
            self._refused_in = root
            raise explain_sign_in(error, root) from error
        except QuorumError as error:
            raise RequestError(_INTERNAL_ERROR, str(error)) from error
        self._sessions[session.session_id] = session
        asyncio.get_running_loop().call_soon(session.release)
        return session

    async def _open_place(
        self,
        place: SessionPlace,
        choice: SessionChoice,
        *,
        fork: bool = False,
        replays: bool = False,
        mode: Mode | None = None,
    ) -> ClientSession | LayeredSession:
        """The session in this mode, or else in that in which it was last, or that of the settings: in a process
        of its own where that is `staged`."""
        given = await self._composer.load_settings(place, mode)
        asked = given.loaded.settings.review.mode
        is_staged = asked is Mode.STAGED and find_entered() is None
        if is_staged and (why := await _explain_no_layer(given.loaded, place.root)) is not None:
            raise ConfigError(f"{Mode.STAGED} cannot be had: {why}")
        if is_staged and isinstance(choice, NewSession):
            return await self._open_layered(place, "session/new")
        opened = await self._composer.open_record(place.root, given, choice, fork=fork)
        notices: tuple[str, ...] = ()
        if (
            mode is None
            and find_entered() is None
            and asked is not Mode.READ_ONLY
            and was_staged(opened.record)
        ):
            why = await _explain_no_layer(given.loaded, place.root)
            is_staged = why is None
            if why is not None:
                notices = (f"{Mode.STAGED}, in which this session was, cannot be had: {why}",)
        if not is_staged:
            session, said = await self._compose(place, opened, replays=replays, keeps_mode=mode is not None)
            await session.greet((*said, *notices))
            return session
        await opened.record.release()
        method = "session/load" if replays else "session/resume"
        return await self._open_layered(place, method, opened.record.session_id)

    async def _open_layered(self, place: SessionPlace, method: str, session_id: str = "") -> LayeredSession:
        client = self._client
        assert client is not None

        async def start(session_id: str, on_end: Callable[[str], None]) -> LayerWorker:
            from quorum.acp_agent.layer_worker import LayerWorker

            return await LayerWorker.start(
                place.root, session_id, client, self._capabilities, self._client_name, on_end
            )

        session = LayeredSession(client, place, start, self._tell)
        await session.open(method, session_id)
        return session

    def _tell(self, telling: Coroutine[Any, Any, None]) -> None:
        """Have the client told something; one that is gone is not."""

        async def tell() -> None:
            with suppress(ConnectionError):
                await telling

        task = asyncio.ensure_future(tell())
        self._told.add(task)
        task.add_done_callback(self._told.discard)

    async def _compose(
        self, place: SessionPlace, opened: OpenedRecord, *, replays: bool, keeps_mode: bool
    ) -> tuple[ClientSession, tuple[str, ...]]:
        root, folders = place.root, place.folders
        client = self._client
        assert client is not None
        session_id = opened.record.session_id

        async def send(update: SessionUpdate) -> None:
            await client.session_update(session_id, update)

        async def ask(call: ToolCallUpdate, options: list[PermissionOption]) -> RequestPermissionResponse:
            return await client.request_permission(session_id, call, options)

        def elicit(question: ServerQuestion) -> Awaitable[CreateElicitationResponse] | None:
            return put_form(question) if can_elicit(question, self._capabilities) else None

        async def put_form(question: ServerQuestion) -> CreateElicitationResponse:
            mode = build_elicitation(question, session_id)
            try:
                return await client.create_elicitation(describe_question(question), mode)
            except asyncio.CancelledError:
                withdrawn = {"requestId": REQUEST_SENT.get()}
                with suppress(ConnectionError):
                    await client.ext_notification(CANCEL_REQUEST, withdrawn)
                raise

        async def read(path: str) -> str:
            return (await client.read_text_file(session_id, path)).content

        outbox = Outbox(send)
        files = self._capabilities.fs if self._capabilities is not None else None
        layer = find_entered()
        buffers = UnsavedBuffers(
            read if files is not None and files.read_text_file else None,
            root,
            saved_in=Path(layer.real) if layer is not None else root,
        )
        approver = ClientApprover(
            ask,
            outbox,
            buffers.describe,
            shows_option_names=self._client_name in NAMING_CLIENTS,
            shows_titles_of_edits=self._client_name not in DIFF_CLIENTS,
            elicit=elicit,
        )
        feed = UpdateFeed(str(root), outbox.put)
        feed.take_title(opened.record)
        try:
            if replays:
                history = await asyncio.to_thread(lambda: [*feed.replay(opened.record)])
                for number, update in enumerate(history):
                    await send(update)
                    if number % _AT_ONCE == 0:  # other sessions run meanwhile
                        await asyncio.sleep(0)
        except BaseException:
            await opened.record.release()
            raise
        agent, notices = await self._composer.compose(opened, root, folders, approver=approver, observer=feed)
        if not keeps_mode:
            await restore_mode(agent, opened.record)
        prompts = PromptBuilder(agent.attachments, root, buffers, agent.review.is_sensitive)
        models = list_offered_models(opened.loaded, agent.models.configured_providers)
        config = ConfigOptions(agent, await list_modes(agent), models)
        feed.follow_config(config)
        session = ClientSession(
            agent,
            place,
            config=config,
            feed=feed,
            outbox=outbox,
            approver=approver,
            prompts=prompts,
            effects=EffectsQuestion(
                agent.effects,
                agent.mask.mask_text,
                approver,
                outbox,
                elicit=elicit,
                takes_words=can_elicit(WORDS, self._capabilities),
            ),
        )
        return session, notices

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


async def _explain_no_layer(loaded: LoadedSettings, root: Path) -> str | None:
    """Why no session can be in a layer over a folder, and what to do; None where one can."""
    from quorum.infrastructure.staging.probing import find_obstacle

    if (why := loaded.policy.explain_mode_refusal(Mode.STAGED, loaded.settings.models.review)) is not None:
        return why
    why = await asyncio.to_thread(find_obstacle, root, os.environ)
    return f"{why}; work in a worktree, or in another mode" if why else None


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

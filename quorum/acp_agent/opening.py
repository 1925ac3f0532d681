"""Opens sessions for a client: in this process, or in one of their own where they work in a layer."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp.agent.connection import AgentSideConnection
from acp.schema import (
    ClientCapabilities,
    CreateElicitationResponse,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
)

from quorum.acp_agent.client_approver import (
    DIFF_CLIENTS,
    NAMING_CLIENTS,
    ClientApprover,
    Elicit,
    UnsavedBuffers,
)
from quorum.acp_agent.client_session import ClientSession, OpenedRecord, SessionComposer
from quorum.acp_agent.config_options import (
    ConfigOptions,
    list_modes,
    list_offered_models,
    restore_mode,
    was_staged,
)
from quorum.acp_agent.layered_session import LayeredSession, SessionPlace
from quorum.acp_agent.prompt_blocks import PromptBuilder
from quorum.acp_agent.server_questions import build_elicitation, can_elicit, describe_question
from quorum.acp_agent.standard_io import CANCEL_REQUEST, REQUEST_SENT, Outbox, SessionUpdate
from quorum.acp_agent.update_feed import UpdateFeed
from quorum.application.session.agent_session import AgentSession
from quorum.domain.errors import ConfigError
from quorum.domain.mcp.server_question import ServerQuestion
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import NewSession, SessionChoice
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.staging.entered import find_entered

if TYPE_CHECKING:
    from quorum.acp_agent.layer_question import LayerQuestion
    from quorum.acp_agent.layer_worker import LayerWorker

_AT_ONCE = 50


class ClientSessionOpener:
    """Opens sessions of one client, whose capabilities and name are known once it has said them."""

    def __init__(self, composer: SessionComposer, client: AgentSideConnection) -> None:
        self.client = client
        self.capabilities: ClientCapabilities | None = None
        self.client_name = ""
        self._composer = composer
        self._told = set[asyncio.Future[None]]()

    async def open(
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
        if is_staged and (why := await explain_no_layer(given.loaded, place.root)) is not None:
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
            why = await explain_no_layer(given.loaded, place.root)
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
        client = self.client

        async def start(session_id: str, on_end: Callable[[str], None]) -> LayerWorker:
            from quorum.acp_agent.layer_worker import LayerWorker

            return await LayerWorker.start(
                place.root, session_id, client, self.capabilities, self.client_name, on_end
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
        client = self.client
        session_id = opened.record.session_id

        async def send(update: SessionUpdate) -> None:
            shown = await feed.images.add_to(update, opened.record.contents)
            await client.session_update(session_id, shown)

        async def ask(call: ToolCallUpdate, options: list[PermissionOption]) -> RequestPermissionResponse:
            return await client.request_permission(session_id, call, options)

        def elicit(question: ServerQuestion) -> Awaitable[CreateElicitationResponse] | None:
            return put_form(question) if can_elicit(question, self.capabilities) else None

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
        files = self.capabilities.fs if self.capabilities is not None else None
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
            shows_option_names=self.client_name in NAMING_CLIENTS,
            shows_titles_of_edits=self.client_name not in DIFF_CLIENTS,
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
            effects=self._build_effects(agent, approver, outbox, elicit),
        )
        return session, notices

    def _build_effects(
        self, agent: AgentSession, approver: ClientApprover, outbox: Outbox, elicit: Elicit
    ) -> LayerQuestion | None:
        """The review of effects of a session in a layer; None for any other."""
        if agent.effects is None:
            return None
        from quorum.acp_agent import layer_question

        return layer_question.LayerQuestion(
            agent.effects,
            agent.mask.mask_text,
            approver,
            outbox,
            elicit=elicit,
            takes_words=can_elicit(layer_question.WORDS, self.capabilities),
        )


async def explain_no_layer(loaded: LoadedSettings, root: Path) -> str | None:
    """Why no session can be in a layer over a folder, and what to do; None where one can."""
    from quorum.infrastructure.staging.entering import find_obstacle

    if (why := loaded.policy.explain_mode_refusal(Mode.STAGED, loaded.settings.models.review)) is not None:
        return why
    why = await asyncio.to_thread(find_obstacle, root, os.environ)
    return f"{why}; work in a worktree, or in another mode" if why else None

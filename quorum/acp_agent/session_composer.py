"""Composes sessions for a client, each with the settings of its own folder, as `quorum run` would have them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from quorum.acp_agent.client_servers import ClientServer, convert_servers
from quorum.acp_agent.sign_in import require_provider
from quorum.application.ports.people import Approver, Observer
from quorum.application.ports.storage import Storage
from quorum.application.session.agent_session import AgentSession
from quorum.application.session.session_folders import WantedFolder, list_option_folders
from quorum.application.session.session_record import SessionRecord
from quorum.command_line.options import StartOptions
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import FolderOrigin, ModelChanged, SessionResumed, SessionStarted
from quorum.domain.events.masking import SecretMask
from quorum.domain.replacing import replace
from quorum.domain.sessions.past_session import SessionChoice, SessionSummary, select_own_sessions
from quorum.errors import complain, mask_complaints
from quorum.infrastructure.bootstrap import build_session, open_session
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.container import Container
from quorum.infrastructure.mcp.server_credentials import ServerCredentials
from quorum.infrastructure.secrets.key_ring import KeyRing
from quorum.infrastructure.storage import open_storage
from quorum.infrastructure.trust.decisions import TrustDecisions, open_trust_decisions
from quorum.settings import load
from quorum.tui.keys.commands import RESERVED_NAMES


class OpenedRecord(NamedTuple):
    """What a session is composed of: its settings, what its MCP servers get beside them, its record."""

    loaded: LoadedSettings
    credentials: Mapping[str, ServerCredentials]
    record: SessionRecord


class SessionComposer:
    """Opens sessions side by side: what one of them learns to be a secret, none shows.

    What a project wants to be trusted with is not asked about before there is a session: its settings count as
    far as they are trusted already, as in a run without a person.
    """

    def __init__(self, options: StartOptions) -> None:
        self._options = options
        self._mask = SecretMask()
        self._trust: TrustDecisions = open_trust_decisions(os.environ)
        self._listed: Storage | None = None

    async def open_record(
        self, root: Path, choice: SessionChoice, *, fork: bool = False, servers: Sequence[ClientServer] = ()
    ) -> OpenedRecord:
        """The settings of a folder, and the record of a session in it. Raises ConfigError, LedgerError, and
        ProviderError where there is no model to ask.

        `servers` are the MCP servers that the client offers for the session.
        """
        loaded, credentials = await asyncio.to_thread(self._load, root, servers)
        record = await asyncio.to_thread(open_session, loaded, root, choice, fork=fork)
        try:
            if record.in_use:
                raise LedgerError(record.in_use)
            await self._require_provider(loaded, _find_former_model(record))
        except BaseException:
            await record.release()
            raise
        return OpenedRecord(loaded, credentials, record)

    async def check_provider(self, root: Path) -> None:
        """Check that a session in a folder has a model to ask. Raises ProviderError, and ConfigError."""
        loaded, _ = await asyncio.to_thread(self._load, root, ())
        await self._require_provider(loaded)

    async def _require_provider(self, loaded: LoadedSettings, former: str = "") -> None:
        await require_provider(loaded, os.environ, KeyRing(self._mask.learn).get_key, former)

    def _load(
        self, root: Path, servers: Sequence[ClientServer]
    ) -> tuple[LoadedSettings, Mapping[str, ServerCredentials]]:
        loaded = load(self._options, root)
        if not servers:
            return loaded, {}
        converted = convert_servers(servers, loaded.settings.mcp.servers)
        for name, given in converted.credentials.items():
            self._mask.learn_all(given.list_secrets(name))
        overrides = {**self._options.overrides, **converted.overrides}
        loaded = load(replace(self._options, overrides=overrides), root)
        return replace(loaded, warnings=(*loaded.warnings, *converted.notices)), converted.credentials

    async def compose(
        self,
        opened: OpenedRecord,
        root: Path,
        folders: Sequence[str] = (),
        *,
        approver: Approver,
        observer: Observer,
    ) -> tuple[AgentSession, tuple[str, ...]]:
        """The session of a record, announced, and sentences for the person. The record is released where that
        fails. `folders` are what the client adds to the workspace."""
        wanted = (
            *list_option_folders(self._options.add_dirs),
            *(WantedFolder(path=folder, origin=FolderOrigin.EDITOR) for folder in folders),
        )
        try:
            container = await asyncio.to_thread(self._build, opened, root, wanted, approver, observer)
            agent = container.agent()
            await agent.open()
        except BaseException:
            await opened.record.release()
            raise
        notices = (
            *container.record().notices,
            *opened.loaded.warnings,
            *container.saved_rules().warnings,
        )
        complain(notices)
        return agent, notices

    def _build(
        self,
        opened: OpenedRecord,
        root: Path,
        folders: Sequence[WantedFolder],
        approver: Approver,
        observer: Observer,
    ) -> Container:
        """Runs in a thread: most of what a session imports is imported here."""
        return build_session(
            opened.loaded,
            root,
            approver=approver,
            observer=observer,
            record=opened.record,
            mask=self._mask,
            folders=folders,
            reserved_commands=RESERVED_NAMES,
            trust=self._trust,
            mask_outputs=(mask_complaints,),
            server_credentials=opened.credentials,
        )

    async def delete_session(self, session_id: str) -> None:
        """Remove a recorded session. Raises LedgerError, also where another process has it open."""
        storage = await asyncio.to_thread(self._open_storage)
        if (await storage.archive.prune(ids=[session_id])).spared:
            raise LedgerError(f"the session {session_id} is open in another process; close it there first")

    async def list_sessions(self) -> tuple[SessionSummary, ...]:
        """Every session that a person began, the one used last first. Raises ConfigError and LedgerError."""
        storage = await asyncio.to_thread(self._open_storage)
        return select_own_sessions(await storage.archive.list_sessions())

    def _open_storage(self) -> Storage:
        if self._listed is None:
            loaded = load(self._options, self._options.workdir or Path(), needs_project=False)
            self._listed = open_storage(loaded.settings.storage, os.environ)
        return self._listed

    async def close(self) -> None:
        """Let go of the list of sessions. Raises LedgerError."""
        if self._listed is not None:
            await asyncio.to_thread(self._listed.close)


def _find_former_model(record: SessionRecord) -> str:
    """The model that the session had, with which it continues where it can; empty for a new session."""
    chosen = (
        e.model for e in reversed(record.past) if isinstance(e, ModelChanged | SessionResumed | SessionStarted)
    )
    return next(chosen, "")

"""The recorded sessions as a command sees them: from a folder, and under the names that a person gives."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.errors import UsageError, complain

if TYPE_CHECKING:
    from collections.abc import Callable

    from quorum.application.inbox import Inbox
    from quorum.application.ports.storage import BlobStore, ContentStore, SessionArchive
    from quorum.command_line.options import StartOptions
    from quorum.domain.events.masking import SecretMask
    from quorum.domain.sessions.session_summary import SessionSummary
    from quorum.infrastructure.config.schema import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStore:
    """All sessions, looked at from the folder `root`; `cwd` is how their records spell it. `outputs` keeps long
    ones, apart from the records."""

    archive: SessionArchive
    contents: ContentStore
    settings: Settings
    root: Path
    cwd: str
    outputs: BlobStore | None = None

    async def list_chosen(self, *, everywhere: bool) -> list[SessionSummary]:
        """The sessions of this folder, or of every folder, the one used last first; none of subagents."""
        listed = await self.archive.list_sessions()
        return [each for each in listed if each.owner is None and (everywhere or each.cwd == self.cwd)]

    async def find_named(self, name: str) -> SessionSummary:
        """The session of this id; for "latest" and without a name, that of this folder which was used last.

        Raises LedgerError, and UsageError where there is none here.
        """
        if name and name != "latest":
            return await self.archive.find(name)
        here = [each for each in await self.list_chosen(everywhere=False) if each.is_begun]
        if not here:
            raise UsageError(f"{self.explain_nothing(everywhere=False)}; name one by its id")
        return here[0]

    def explain_nothing(self, *, everywhere: bool) -> str:
        """That there is no session, and where others would be."""
        if everywhere:
            return "no session is recorded"
        from quorum.application.program_lookup import find_own_command

        lists = f"{find_own_command()} sessions list --all"
        return f"no session of {self.cwd} is recorded; {lists} shows those of other folders"

    def build_mask(self) -> Callable[[str], str]:
        """What hides secrets, those known by now. What is recorded was masked when it happened."""
        return self.gather_secrets().mask_text

    def build_review_mask(self) -> Callable[[str], str]:
        """The same for a person who approves a call: its options, paths, hosts and programs are not hidden."""
        return self.gather_secrets().in_review.mask_text

    def gather_secrets(self) -> SecretMask:
        """What hides the secrets that are known by now."""
        from quorum.domain.events.masking import SecretMask
        from quorum.infrastructure.secrets.known import SessionSecrets
        from quorum.infrastructure.storage import build_path_policy

        mask = SecretMask()
        policy = build_path_policy(self.settings, (self.root,))
        SessionSecrets(mask, settings=self.settings, environ=os.environ, policy=policy).gather()
        return mask


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedInbox:
    """The decisions that wait, and what builds the mask for a person who answers them."""

    inbox: Inbox
    build_mask: Callable[[], Callable[[str], str]]
    close: Callable[[], None]


def open_recorded_inbox(options: StartOptions, root: Path, *, is_on_terminal: bool) -> OpenedInbox:
    """Open the sessions that the settings name. `is_on_terminal`: whoever signs may be asked there for the
    passphrase of their key. Raises ConfigError and LedgerError."""
    from quorum.domain.sessions.session_facts import escape_surrogates
    from quorum.infrastructure.inbox import open_inbox
    from quorum.infrastructure.storage import open_storage
    from quorum.settings import load

    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    storage = open_storage(loaded.settings.storage, os.environ)
    complain(storage.notices)
    store = SessionStore(
        archive=storage.archive,
        contents=storage.contents,
        settings=loaded.settings,
        root=root,
        cwd=escape_surrogates(str(root)),
    )
    inbox = open_inbox(storage.archive, storage.answers, loaded, os.environ, is_on_terminal=is_on_terminal)
    return OpenedInbox(inbox=inbox, build_mask=store.build_review_mask, close=storage.close)

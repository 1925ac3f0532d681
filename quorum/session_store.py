"""The recorded sessions as a command sees them: from a folder, and under the names that a person gives."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from quorum.application.ports.storage import ContentStore, SessionArchive
    from quorum.domain.events.masking import SecretMask
    from quorum.domain.sessions.session_summary import SessionSummary
    from quorum.infrastructure.config.schema import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStore:
    """All sessions, looked at from the folder `root`; `cwd` is how their records spell it."""

    archive: SessionArchive
    contents: ContentStore
    settings: Settings
    root: Path
    cwd: str

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
        from quorum.infrastructure.session_paths import build_path_policy

        mask = SecretMask()
        policy = build_path_policy(self.settings, (self.root,))
        SessionSecrets(mask, settings=self.settings, environ=os.environ, policy=policy).gather()
        return mask

"""The offer of the review mode `sandboxed` before the first call that it may let run, and its answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from quorum.app.settings_service import PROJECT, FileSettingsService
from quorum.domain.errors import ConfigError
from quorum.domain.review.mode import Mode
from quorum.domain.shell.sandbox import SandboxOn
from quorum.infrastructure.config.loading import DEFAULT_ORIGIN

if TYPE_CHECKING:
    from quorum.application.ports.people import Approver
    from quorum.infrastructure.config.loading import LoadedSettings
    from quorum.infrastructure.execution.sandbox.sandbox import Sandbox


class SandboxOffer:
    """Asks where the sandbox works and nobody has chosen a mode, and keeps the answer in `service`.

    Without an answer it asks again at the next start.
    """

    def __init__(self, loaded: LoadedSettings, service: FileSettingsService) -> None:
        self._loaded, self._service = loaded, service

    async def make(self, person: Approver, sandbox: Sandbox, call: str = "") -> tuple[bool, str | None]:
        """Whether the person was asked before this call and chose the mode, and what there is to say of it."""
        review = self._loaded.settings.review
        if not review.offer_sandboxed or self._loaded.origins.get("review.mode") != DEFAULT_ORIGIN:
            return False, None
        state = await sandbox.find_state()
        if not isinstance(state, SandboxOn):
            return False, None
        from quorum.application.ports.people import SandboxQuestion

        accepts = await person.ask(SandboxQuestion(state.description, call))
        if not isinstance(accepts, bool):
            return False, None
        key, value = ("review.mode", Mode.SANDBOXED.value) if accepts else ("review.offer_sandboxed", "false")
        note = await asyncio.to_thread(self._keep, key, value)
        return accepts, note

    def _keep(self, key: str, value: str) -> str | None:
        """Write the answer to the person's own file; returns why it could not be."""
        own = next((target for target in self._service.targets if target.name != PROJECT), None)
        if own is None:
            return f"{key} = {value} counts for this session only: there is no file of your own settings"
        try:
            self._service.write(key, value, own)
        except ConfigError as error:
            return f"{key} = {value} counts for this session only: {error}"
        return None

"""The configured Copilot CLI as the gateway keeps it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from quorum.application.ports.models import LlmExchange
from quorum.application.ports.storage import ContentStore
from quorum.infrastructure.models.copilot.api_client import CopilotApiClient
from quorum.infrastructure.models.copilot.failures import CopilotFailures
from quorum.infrastructure.models.copilot.launch import CliLaunch
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.models.shared.exchange import ApiExchange
from quorum.infrastructure.models.shared.model_refusals import RefusedEfforts, list_efforts

if TYPE_CHECKING:
    from quorum.infrastructure.models.copilot.process import CliProcess


class CopilotProvider:
    """Implements `Provider`: one CLI for all sessions, started by the first request.

    The CLI repeats failed requests itself, so no session repeats any. Raises ProviderError(CONFIGURATION)
    when made, if the CLI is not installed or is asked for what it cannot do.
    """

    def __init__(
        self,
        provider: str,
        settings: ProviderSettings,
        environ: Mapping[str, str],
        contents: ContentStore | None = None,
    ) -> None:
        self._contents = contents
        self._launch = CliLaunch.of(provider, settings, environ)
        self._failures = CopilotFailures(self._launch)
        self._loading = threading.Lock()
        self._refused = RefusedEfforts()
        self._process: CliProcess | None = None

    def open_exchange(self, model: str) -> LlmExchange:
        """What sends one conversation to one model: the CLI keeps it, too."""
        return ApiExchange(
            CopilotApiClient(self._launch.provider, self._start_process),
            model=model,
            max_retries=0,
            contents=self._contents,
            efforts=list_efforts("copilot"),
            refused=self._refused,
        )

    async def list_models(self) -> tuple[str, ...]:
        """The models that GitHub offers to who is logged in. Raises ProviderError."""
        if self._launch.server is not None:
            raise self._failures.explain_missing_list()
        return await (await self._start_process()).list_models()

    def warm_up(self) -> None:
        """Load the SDK. Blocks for about a second the first time; may be called from any thread."""
        self._load_process()

    async def aclose(self) -> None:
        """Stop the CLI, where it was started."""
        if self._process is not None:
            await self._process.aclose()

    async def _start_process(self) -> CliProcess:
        if self._process is None:
            return await asyncio.to_thread(self._load_process)
        return self._process

    def _load_process(self) -> CliProcess:
        with self._loading:
            process = self._process
            if process is None:
                from quorum.infrastructure.models.copilot.process import CliProcess

                process = self._process = CliProcess(self._launch, self._failures)
            return process

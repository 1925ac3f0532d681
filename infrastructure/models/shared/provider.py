"""One configured provider, as the gateway keeps it: sends requests, lists models, is closed once."""

from __future__ import annotations

from typing import Protocol

from quorum.application.ports.models import LlmExchange
from quorum.application.ports.storage import ContentStore
from quorum.domain.conversation.effort import Effort
from quorum.infrastructure.models.shared.api_client import ApiClient, WarmApiClient, WindowApiClient
from quorum.infrastructure.models.shared.error_bodies import (
    FreeModels,
    PlainSchemas,
    RefusedEfforts,
    RefusedTools,
)
from quorum.infrastructure.models.shared.exchange import ApiExchange
from quorum.infrastructure.models.shared.retry import RequestPace


class Provider(Protocol):
    """A provider that is ready to be asked. `model` is everywhere the provider's own name of a model."""

    def open_exchange(self, model: str) -> LlmExchange:
        """What sends conversations to one model. Raises ProviderError(CONFIGURATION) if that cannot be had."""
        ...

    async def list_models(self) -> tuple[str, ...]:
        """The models it offers, in its order. Raises ProviderError."""
        ...

    def warm_up(self) -> None:
        """Load what the first request needs. Blocks; may be called from any thread. Raises ProviderError."""
        ...

    async def aclose(self) -> None:
        """Close all connections. Nothing may be asked afterwards."""
        ...


class ApiProvider:
    """A provider that takes the whole conversation with every request: one client serves all its sessions.
    `efforts` are those that its API takes."""

    def __init__(
        self,
        client: ApiClient,
        *,
        max_retries: int,
        contents: ContentStore | None = None,
        efforts: tuple[Effort, ...] = (),
        pace: RequestPace | None = None,
        content_secs: float | None = None,
    ) -> None:
        self._content_secs = content_secs
        self._efforts = efforts
        self._client = client
        self._pace = pace
        self._max_retries = max_retries
        self._contents = contents
        self._free = FreeModels()
        self._refused = RefusedEfforts()
        self._refused_tools = RefusedTools()
        self._plain_schemas = PlainSchemas()

    def open_exchange(self, model: str) -> LlmExchange:
        """What sends conversations to one model."""
        return ApiExchange(
            self._client,
            model=model,
            max_retries=self._max_retries,
            free=self._free,
            contents=self._contents,
            efforts=self._efforts,
            refused=self._refused,
            refused_tools=self._refused_tools,
            plain_schemas=self._plain_schemas,
            pace=self._pace,
            content_secs=self._content_secs,
        )

    async def list_models(self) -> tuple[str, ...]:
        """The models the server lists. Raises ProviderError."""
        return await self._client.list_models()

    async def find_window(self, model: str, *, is_known: bool) -> int | None:
        """The tokens of the window that the server gives a model, None where it does not say."""
        if not isinstance(self._client, WindowApiClient):
            return None
        return await self._client.find_window(model, is_known=is_known)

    def warm_up(self) -> None:
        """Load the SDK, where there is one. Raises ProviderError."""
        if isinstance(self._client, WarmApiClient):
            self._client.warm_up()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

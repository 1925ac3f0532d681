"""The boundary between the session, which keeps the conversation, and one provider's way of speaking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from msgspec import Struct, field

from quorum.application.ports.models import OnStreamEvent, ToolChoice
from quorum.domain.calls.tool import ToolParser
from quorum.domain.conversation.attachment import DocumentLimits, ImageLimits
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import Message
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.provider_types import CloudClient, ProviderType


class ApiRequest(Struct, frozen=True, kw_only=True):
    """One request: the whole conversation, and what is offered with it.

    `model` is the provider's own name of the model; `tools` are neutral schemas
    {name, description, input_schema}. `attachments` are the contents of its images and PDFs in base64,
    by their hash.
    `max_output_tokens` bounds the answer in place of the provider's settings; `window` is that of the
    model, where it is known. `effort` is one that the API takes.
    """

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[JsonObject, ...]
    tool_choice: ToolChoice
    attachments: Mapping[str, str] = field(default_factory=dict)
    max_output_tokens: int | None = None
    window: int | None = None
    effort: Effort = Effort.DEFAULT


class ApiClient(Protocol):
    """Sends one request to one provider. Keeps no conversation and retries nothing."""

    @property
    def provider(self) -> str:
        """The name of the provider in the settings: the owner of reasoning and opaque blocks."""
        ...

    async def exchange(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Send, tell what arrives as Delta, ReasoningDelta and ToolCallDelta, and answer with the whole.

        Raises ProviderError. Cancelled, it closes the connection.
        """
        ...

    async def list_models(self) -> tuple[str, ...]:
        """The provider's own names of the models it offers, in its order. Raises ProviderError."""
        ...

    async def aclose(self) -> None:
        """Close the connections. Nothing may be sent afterwards."""
        ...


@runtime_checkable
class WarmApiClient(ApiClient, Protocol):
    """An API client that is slow to get ready the first time."""

    def warm_up(self) -> None:
        """Load what the first request needs. Blocks; may be called from any thread. Raises ProviderError."""
        ...


@runtime_checkable
class VisionApiClient(ApiClient, Protocol):
    """An API client that can send images. Through any other, a message has only their names."""

    @property
    def image_limits(self) -> ImageLimits:
        """What the provider takes, as it documents it."""
        ...


@runtime_checkable
class DocumentApiClient(ApiClient, Protocol):
    """An API client that can send PDFs. Through any other, a message has only their names."""

    @property
    def document_limits(self) -> DocumentLimits:
        """What the provider takes, as it documents it."""
        ...


@runtime_checkable
class WindowApiClient(ApiClient, Protocol):
    """An API client that can ask its server for the window of a model."""

    async def find_window(self, model: str, *, is_known: bool) -> int | None:
        """The tokens of the window that the server gives the model, None where it does not say. Raises nothing.

        `is_known`: a window is known already, so that only a server nearby is worth asking.
        """
        ...


class ProviderSettings(Struct, frozen=True, kw_only=True):
    """How one provider is reached.

    `timeout_secs` bounds the silence between two pieces of an answer, not the whole answer, and
    `content_timeout_secs` the time in which nothing but signs of life arrives;
    `max_output_tokens` of None means 16384 for `anthropic`, which demands a bound, and the server's own
    bound elsewhere. `api_key_env` names the environment variable of the key; "" says that the server wants
    none. None means the same for a server of your own, and ANTHROPIC_API_KEY or OPENAI_API_KEY for the public
    ones. `client`, `region`, `project` and `api_version` say which cloud serves it, where that is one;
    `program` is the program that is asked, of acp with its arguments. `requests_per_minute` of 0 is no limit.
    `tool_parser` is the family of models whose calls are read from the text; "" leaves that to the server.
    """

    type: ProviderType
    client: CloudClient = ""
    region: str | None = None
    project: str | None = None
    api_version: str | None = None
    program: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    timeout_secs: float = 120.0
    content_timeout_secs: float = 1800.0
    max_retries: int = 2
    requests_per_minute: int = 0
    max_output_tokens: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    tool_parser: ToolParser = ""

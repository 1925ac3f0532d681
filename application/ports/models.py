"""Ports to the models: sessions with them, and the providers that open these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import Conversation, Message, UserMessage
from quorum.domain.conversation.response import LlmResponse, StreamEvent
from quorum.domain.text.json_value import JsonObject

ToolChoice: TypeAlias = Literal["auto", "none"] | tuple[Literal["tool"], str]


OnStreamEvent: TypeAlias = Callable[[StreamEvent], None]


MessageShaper: TypeAlias = Callable[[tuple[Message, ...]], Awaitable[tuple[Message, ...]]]


class LlmRequest(Struct, frozen=True, kw_only=True):
    """One request: the whole conversation, and what is offered with it.

    `tools` are neutral schemas {name, description, input_schema}. `max_output_tokens` bounds the answer in
    place of the settings; `window` is that of the model, where it is known. An `effort` that the model's API
    does not take is left out. `left_out` says why a model, by its full name, is not sent an attachment, by its
    hash, and `plain_schemas` which models are sent the schemas in plain form; what one does not take is added.
    `withheld` are names of tools that are not offered: no call of one is meant for another tool.
    """

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[JsonObject, ...] = ()
    tool_choice: ToolChoice = "auto"
    max_output_tokens: int | None = None
    window: int | None = None
    effort: Effort = Effort.DEFAULT
    left_out: dict[tuple[str, str], str] = field(default_factory=dict)
    plain_schemas: set[str] = field(default_factory=set)
    withheld: frozenset[str] = frozenset()


class LlmExchange(Protocol):
    """Sends conversations to one model, and changes none."""

    @property
    def model(self) -> str:
        """The model's full name, "provider/model"."""
        ...

    async def exchange(self, request: LlmRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Send, tell what arrives, and return the whole answer.

        Raises ProviderError. Cancelled, it closes the connection.
        """
        ...


class LlmSession(Protocol):
    """A way of sending one conversation to one model.

    Every sending appends what it is given and the answer to the conversation. A failed or cancelled
    sending keeps what was given and the text that had arrived, never a call; it raises ProviderError or
    CancelledError, and the conversation stays legal to send.
    """

    @property
    def model(self) -> str:
        """The model's full name, "provider/model"."""
        ...

    async def send(self, content: str) -> LlmResponse:
        """Say something and wait for the answer; no tools are offered."""
        ...

    async def send_streaming(self, content: str, on_event: OnStreamEvent) -> LlmResponse:
        """Like `send`, telling what arrives. The last event is Completed or Error."""
        ...

    async def send_with_tools(
        self,
        content: str | UserMessage | None,
        tools: Sequence[JsonObject],
        *,
        tool_choice: ToolChoice = "auto",
        max_output_tokens: int | None = None,
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Say something (None: continue from where the conversation stands) and offer tools.

        `max_output_tokens` bounds this one answer in place of what the settings say.
        The last event is CompletedResponse or Error.
        """
        ...

    async def send_tool_results(
        self,
        results: Sequence[ToolResultMessage],
        *,
        tool_choice: ToolChoice = "auto",
        on_event: OnStreamEvent,
    ) -> LlmResponse:
        """Give the results of exactly the open calls, in order, offering the same tools as before.

        The last event is as above.
        """
        ...


class LlmGateway(Protocol):
    """Opens sessions with models, whichever provider serves them."""

    def open_exchange(self, model: str) -> LlmExchange:
        """What sends conversations to "provider/model". Raises ProviderError(CONFIGURATION) if that cannot be
        had."""
        ...

    def open_session(
        self,
        model: str,
        conversation: Conversation,
        system: str,
        shape: MessageShaper | None = None,
        *,
        effort: Effort = Effort.DEFAULT,
    ) -> LlmSession:
        """A session with "provider/model". `shape` sees the messages of each request before it is sent and
        answers those to send: for that request only. An `effort` that the model's API does not take is left
        out. Raises ProviderError(CONFIGURATION) if that cannot be had.
        """
        ...

    def list_efforts(self, model: str) -> tuple[Effort, ...]:
        """The reasoning efforts that the API of "provider/model" takes, the least first; none where the model
        does not reason, or there is no such provider."""
        ...

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the providers in the settings."""
        ...

    @property
    def configured_providers(self) -> tuple[str, ...]:
        """The names of those that someone has set up, as far as this is known without asking a keyring."""
        ...

    async def list_models(self, provider: str) -> tuple[str, ...]:
        """The models that a configured provider lists, each as "provider/model". Raises ProviderError."""
        ...

    async def aclose(self) -> None:
        """Close the connections of all sessions."""
        ...

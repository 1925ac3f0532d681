"""GitHub Copilot as a provider: one configured CLI, whose sessions keep a history of their own."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from quorum.application.ports.models import LlmExchange, OnStreamEvent
from quorum.application.ports.storage import ContentStore
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.attachment import Image, ImageLimits
from quorum.domain.conversation.history import (
    AssistantMessage,
    ToolResults,
    UserMessage,
    split_last_step,
)
from quorum.domain.conversation.response import LlmResponse, StreamRetry
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.copilot.failures import CopilotFailures
from quorum.infrastructure.models.copilot.launch import CliLaunch
from quorum.infrastructure.models.shared.api_client import ApiRequest, ProviderSettings
from quorum.infrastructure.models.shared.error_bodies import RefusedEfforts, list_efforts
from quorum.infrastructure.models.shared.exchange import ApiExchange
from quorum.infrastructure.models.shared.rendered_history import render_opening_prompt
from quorum.infrastructure.models.shared.sent_attachments import select_images

if TYPE_CHECKING:
    from quorum.infrastructure.models.copilot.channel import Channel
    from quorum.infrastructure.models.copilot.process import CliProcess


# The CLI makes images smaller itself; this bounds what it is given over its pipe.
_IMAGES = ImageLimits(image_bytes=20_000_000, total_bytes=50_000_000, images=50)
_TEXT = "text"
_TOOLS = "tools"


class CopilotApiClient:
    """Implements `ApiClient` for the one session of ours that it was made for.

    Text alone goes over one session of the CLI, tools over another. Each is given only what is new, as long
    as it has lived through all that came before; otherwise a new one is opened, which gets the past. So a
    past that was resumed, rewound, filtered or interrupted costs a telling, and nothing else.
    """

    def __init__(self, provider: str, ready: Callable[[], Awaitable[CliProcess]]) -> None:
        self._provider = provider
        self._ready = ready
        self._channels: dict[str, Channel] = {}
        self._process: CliProcess | None = None
        self._recovery: asyncio.Task[None] | None = None

    @property
    def provider(self) -> str:
        """The provider's name in the settings."""
        return self._provider

    @property
    def image_limits(self) -> ImageLimits:
        """What the CLI is given with one prompt."""
        return _IMAGES

    async def exchange(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Have the CLI answer the last of the messages. Raises ProviderError.

        Cancelled or failed, it has the CLI stop, so that the next request finds it idle.
        """
        if request.max_output_tokens is not None:
            raise ProviderError(
                "GitHub Copilot takes no output cap for one answer", kind=ProviderErrorKind.BAD_REQUEST
            )
        if self._recovery is not None:
            await asyncio.shield(self._recovery)
        kind = _TOOLS if request.tools else _TEXT
        prompted = False
        try:
            channel = await self._open_channel(kind, request, on_event)
            prompted = True
            turn = await channel.read(request.model, on_event)
            response = turn.build_response()
        except (ProviderError, asyncio.CancelledError):
            self._recovery = asyncio.create_task(self._recover(kind, request, keep=prompted))
            await asyncio.shield(self._recovery)
            raise
        if turn.must_abort:  # the CLI waits for calls that are part of no history but its own
            await self._drop(kind)
            return response
        kept = response.without_unfinished_calls()
        channel.seen = request.messages + ((AssistantMessage(kept),) if kept.content else ())
        return response

    async def list_models(self) -> tuple[str, ...]:
        """The models that GitHub offers. Raises ProviderError."""
        return await (await self._ready()).list_models()

    async def aclose(self) -> None:
        """Close its sessions of the CLI."""
        for kind in list(self._channels):
            await self._drop(kind)

    async def _open_channel(self, kind: str, request: ApiRequest, on_event: OnStreamEvent) -> Channel:
        """The session of the CLI that is now answering."""
        offered = _select_offered_tools(request)
        channel = self._channels.get(kind)
        if channel is not None and channel.follows(request.messages):
            try:
                await channel.offer(offered)
                await _give_last(channel, request)
                return channel
            except ProviderError as error:
                on_event(_announce_replay(error))
        await self._drop(kind)
        process = await self._ready()
        if self._process is None:
            self._process = process
            weakref.finalize(self, process.abandon, self._channels).atexit = False
        channel = await process.open(
            request.model, request.system, offered, with_tools=kind == _TOOLS, effort=request.effort
        )
        self._channels[kind] = channel
        # a CLI session that gets the past gets its images with it, each under its name
        shown = [
            each for m in request.messages if isinstance(m, UserMessage) for each in select_images(m, request)
        ]
        await channel.say(render_opening_prompt(request.messages), shown)
        return channel

    async def _recover(self, kind: str, request: ApiRequest, *, keep: bool) -> None:
        channel = self._channels.get(kind)
        if channel is None:
            return
        if await channel.settle() and keep:
            channel.seen = request.messages
        elif self._process is not None:
            self._process.abandon({kind: self._channels.pop(kind)})

    async def _drop(self, kind: str) -> None:
        channel = self._channels.pop(kind, None)
        if channel is not None and self._process is not None:
            await self._process.close(channel)


async def _give_last(channel: Channel, request: ApiRequest) -> None:
    _, last, brought = split_last_step(request.messages)
    match last:
        case UserMessage() as message:
            await channel.say(message.sent_text, select_images(message, request))
        case ToolResults(results=results):
            images: dict[str, list[tuple[Image, str]]] = {}
            for one in brought:
                if found := list(select_images(one, request)):
                    images.setdefault(one.of_call, []).extend(found)
                else:  # it says why the image is not there
                    results = tuple(_extend_result(result, one) for result in results)
            await channel.answer(results, images)
        case AssistantMessage() | None:
            raise AssertionError("a session of the CLI follows no message of its own")


def _extend_result(result: ToolResultMessage, by: UserMessage) -> ToolResultMessage:
    if result.tool_use_id != by.of_call:
        return result
    return replace(result, output=f"{result.output}\n{by.text}")


def _select_offered_tools(request: ApiRequest) -> tuple[JsonObject, ...]:
    """The CLI leaves the choice to the model, so what may not be chosen is not offered."""
    match request.tool_choice:
        case "auto":
            return request.tools
        case "none":
            return ()
        case (_, name):
            return tuple(tool for tool in request.tools if tool.get("name") == name)


def _announce_replay(error: ProviderError) -> StreamRetry:
    return StreamRetry(
        attempt=1,
        attempts=1,
        delay_secs=0.0,
        reason=f"{error}; a new session gets the conversation so far",
        kind=ProviderErrorKind.CONNECTION,
    )


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
        self._content_secs = settings.content_timeout_secs
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
            content_secs=self._content_secs,
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

"""The API client of Anthropic Messages, through the official SDK, and the form of its requests."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypeAlias, TypedDict, assert_never

import httpx2

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.attachment import DocumentLimits, ImageLimits
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.conversation.response import (
    ContentBlock,
    LlmResponse,
    OpaqueBlock,
    ReasoningBlock,
    StopKind,
    TextBlock,
    ToolUseBlock,
)
from quorum.domain.errors import ProviderError
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.lean_imports import standing_in
from quorum.infrastructure.models.anthropic.answer import MessagesAnswer
from quorum.infrastructure.models.clouds.amazon_bedrock import BedrockAccess, is_framed, unpack_frames
from quorum.infrastructure.models.clouds.endpoint import AzureAccess, Endpoint
from quorum.infrastructure.models.clouds.google_vertex import VertexAccess
from quorum.infrastructure.models.shared.answer_reading import EVENT_STREAM, read_answer
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.models.shared.call_arguments import (
    SentIds,
    clean_tool_name,
    fill_empty_output,
    fill_empty_prompt,
)
from quorum.infrastructure.models.shared.exchange import post_body
from quorum.infrastructure.models.shared.failures import find_direct_cause
from quorum.infrastructure.models.shared.json_fields import (
    read_objects_field,
    read_text_field,
    replace_surrogates,
)
from quorum.infrastructure.models.shared.model_listing import (
    MOST_MODELS,
    ModelPage,
    build_no_listing,
    explain_listing_refusal,
    read_all_pages,
    read_page,
)
from quorum.infrastructure.models.shared.network_loading import (
    FirstRequest,
    build_http_client,
    load_sdk_lazily,
    prepare_first_request,
    read_certificates,
)
from quorum.infrastructure.models.shared.rendered_history import RenderedHistory
from quorum.infrastructure.models.shared.request_body import BodyEncoder
from quorum.infrastructure.models.shared.sent_attachments import select_documents, select_images
from quorum.infrastructure.provider_types import DEFAULT_ANTHROPIC_OUTPUT_TOKENS

_CACHED: JsonObject = {"type": "ephemeral"}
_CACHED_USER_MESSAGES = 2
_FOREIGN_ID = re.compile(r"[^a-zA-Z0-9_-]")
_PLAIN = frozenset(("text", "tool_use"))
_THINKING = ("thinking", "redacted_thinking")
_RUN_THERE = ("server_tool_use", "mcp_tool_use")
_CONTINUE_PROMPT = "(go on)"
_BROUGHT = "brought"

Turn: TypeAlias = tuple[str, Sequence[dict[str, JsonValue]]]
"""A role and its blocks, in the form of the API."""
_OpenTurn: TypeAlias = tuple[str, list[dict[str, JsonValue]]]


def build_messages_payload(
    request: ApiRequest, *, history: RenderedHistory[Turn], max_tokens: int
) -> dict[str, JsonValue]:
    """The body of a request, with its `build_messages_history`.

    Cache marks stand after the tools, the system text and the last two user messages: what comes before
    them is the same in the next request.
    """
    answers_joined = _join_same_roles(history.render(request))
    turns = _join_same_roles(_drop_refused_blocks(answers_joined, is_paused=_is_paused(request.messages)))
    _begin_and_end_with_user(turns, request.messages)
    _mark_cached(turns)
    payload: dict[str, JsonValue] = {
        "model": request.model,
        "max_tokens": max_tokens,
        "stream": True,
        "messages": [{"role": role, "content": blocks} for role, blocks in turns],
    }
    payload.update(_build_reasoning(request))
    if request.system.strip():
        payload["system"] = [
            {"type": "text", "text": replace_surrogates(request.system), "cache_control": _CACHED}
        ]
    if request.tools:
        payload["tools"] = [*request.tools[:-1], {**request.tools[-1], "cache_control": _CACHED}]
        payload["tool_choice"] = _build_tool_choice(request)
    return payload


def _build_reasoning(request: ApiRequest) -> JsonObject:
    """What asks for the effort. A model that must call a tool may not think, and takes the effort alone."""
    match request.effort:
        case Effort.DEFAULT:
            return {}
        case Effort.NONE:
            return {"thinking": {"type": "disabled"}}
        case effort:
            output: JsonObject = {"output_config": {"effort": effort.value}}
            is_forced = bool(request.tools) and not isinstance(request.tool_choice, str)
            return output if is_forced else {"thinking": {"type": "adaptive"}, **output}


def _build_tool_choice(request: ApiRequest) -> JsonObject:
    match request.tool_choice:
        case "auto" | "none" as choice:
            return {"type": choice}
        case ("tool", name):
            return {"type": "tool", "name": name}
        case never:
            assert_never(never)


def build_messages_history(provider: str, *, needs_signatures: bool = True) -> RenderedHistory[Turn]:
    """Conversations as this provider is sent them, without reasoning and opaque blocks of others.

    Anthropic signs thinking and refuses any that is not (`needs_signatures`). Others who speak its API sign
    nothing, and some of them refuse calls that come back without the thinking before them.
    """
    return RenderedHistory(lambda: _Turns(provider, needs_signatures))


class _Turns:
    def __init__(self, provider: str, needs_signatures: bool) -> None:
        self._provider, self._needs_signatures = provider, needs_signatures
        self._ids = SentIds(odd=_FOREIGN_ID)

    def __call__(self, message: Message, request: ApiRequest) -> Iterator[Turn]:
        match message:
            case UserMessage():
                said = (*_list_attachments(message, request), _build_text(fill_empty_prompt(message.sent_text)))
                yield (
                    "user",
                    (_move_into_result(message.of_call, said, self._ids),) if message.of_call else said,
                )
            case AssistantMessage():
                content = message.response.content
                calls = any(isinstance(block, ToolUseBlock) for block in content)
                unsigned = calls and not self._needs_signatures
                yield "assistant", tuple(_answer_blocks(content, self._provider, self._ids, unsigned=unsigned))
            case ToolResults():
                yield "user", tuple(_build_result(result, self._ids) for result in message.results)
            case _:
                assert_never(message)


def _join_same_roles(turns: Iterable[Turn]) -> list[_OpenTurn]:
    """The turns with neighbours of one role joined, as the API demands that roles alternate.

    An answer that thinks cannot be joined to one that does not: thinking must come first.
    """
    joined: list[_OpenTurn] = []
    for role, blocks in turns:
        if not blocks:
            continue
        if not joined or joined[-1][0] != role:
            joined.append((role, list(blocks)))
        elif _thinks(blocks) and not _thinks(joined[-1][1][:1]):
            joined += [("user", [_build_text(_CONTINUE_PROMPT)]), (role, list(blocks))]
        else:
            joined[-1][1].extend(blocks)
    return joined


def _drop_refused_blocks(turns: list[_OpenTurn], *, is_paused: bool) -> Iterator[Turn]:
    """The turns without blocks that the API refuses.

    These are a call that the provider runs itself but that never got its result (only a paused answer at
    the very end may hold one), a result without its call, and thinking that nothing follows.
    """
    for position, (role, blocks) in enumerate(turns):
        if role == "user":
            blocks = (
                list(_nest_into_results(blocks)) if any(b.get("type") == _BROUGHT for b in blocks) else blocks
            )
        elif not all(b.get("type") in _PLAIN for b in blocks):
            called = {_get_id(b, "id") for b in blocks if b.get("type") in _RUN_THERE} - {""}
            blocks = [b for b in blocks if not _is_result(b) or _get_id(b, "tool_use_id") in called]
            if position < len(turns) - 1 or not is_paused:
                answered = {_get_id(b, "tool_use_id") for b in blocks if _is_result(b)} - {""}
                blocks = [b for b in blocks if b.get("type") not in _RUN_THERE or _get_id(b, "id") in answered]
            while blocks and _thinks(blocks[-1:]):
                blocks.pop()
        yield role, blocks


def _get_id(block: JsonObject, field: str) -> str:
    """The id of a block that is resent as it came; "" where the server sent something else in its place."""
    value = block.get(field)
    return value if isinstance(value, str) else ""


def _move_into_result(call: str, blocks: Sequence[JsonObject], ids: SentIds) -> dict[str, JsonValue]:
    """Return the content that `_nest_into_results` puts into the result of a call; never sent as it is."""
    shown = [block for block in blocks if block.get("type") in ("image", "document")]
    return {"type": _BROUGHT, "tool_use_id": ids.get_result_id(call), "content": [*(shown or blocks)]}


def _nest_into_results(blocks: Sequence[dict[str, JsonValue]]) -> Iterator[dict[str, JsonValue]]:
    """The blocks of a turn, with what its results bring inside of them. The API wants a failed result to be
    text alone, so that its attachments stand behind the results, as do those whose results are gone."""
    results = {b.get("tool_use_id") for b in blocks if b.get("type") == "tool_result" and not b.get("is_error")}
    brought: dict[JsonValue, list[dict[str, JsonValue]]] = {}
    rest: list[dict[str, JsonValue]] = []
    for block in (block for block in blocks if block.get("type") == _BROUGHT):
        parts = [dict(part) for part in read_objects_field(block, "content")]
        place = block.get("tool_use_id")
        (brought.setdefault(place, []) if place in results else rest).extend(parts)
    own = [block for block in blocks if block.get("type") not in (_BROUGHT, "tool_result")]
    for block in (block for block in blocks if block.get("type") == "tool_result"):
        if parts := brought.pop(block.get("tool_use_id"), []):
            block = {**block, "content": [_build_text(read_text_field(block, "content")), *parts]}
        yield block
    yield from (*rest, *own)


def _begin_and_end_with_user(turns: list[_OpenTurn], messages: Sequence[Message]) -> None:
    """Add a word of the person where the API wants one: first, and, but for an answer that paused, last."""
    if not turns or turns[0][0] == "assistant":
        turns.insert(0, ("user", [_build_text(_CONTINUE_PROMPT)]))
    role, blocks = turns[-1]
    if role == "user":
        return
    if not _is_paused(messages):
        turns.append(("user", [_build_text(_CONTINUE_PROMPT)]))
    elif blocks[-1].get("type") == "text":
        blocks[-1] = {**blocks[-1], "text": read_text_field(blocks[-1], "text").rstrip()}


def _is_paused(messages: Sequence[Message]) -> bool:
    last = messages[-1] if messages else None
    return isinstance(last, AssistantMessage) and last.response.stop_reason.kind is StopKind.PAUSE


def _thinks(blocks: Iterable[JsonObject]) -> bool:
    return any(block.get("type") in _THINKING for block in blocks)


def _is_result(block: JsonObject) -> bool:
    """Whether a block is the result of a call that the provider ran itself."""
    return read_text_field(block, "type").endswith("_tool_result")


def _build_text(text: str) -> dict[str, JsonValue]:
    return {"type": "text", "text": text}


def _list_attachments(message: UserMessage, request: ApiRequest) -> Iterator[dict[str, JsonValue]]:
    """Images and PDFs come before the text: so they are understood best."""
    for image, encoded in select_images(message, request):
        source: JsonObject = {"type": "base64", "media_type": image.media_type, "data": encoded}
        yield {"type": "image", "source": source}
    for document, encoded in select_documents(message, request):
        source = {"type": "base64", "media_type": document.media_type, "data": encoded}
        yield {"type": "document", "source": source, "title": document.name}


def _answer_blocks(
    content: Iterable[ContentBlock], provider: str, ids: SentIds, *, unsigned: bool
) -> Iterator[dict[str, JsonValue]]:
    for block in content:
        match block:
            case TextBlock():
                if block.text.strip():
                    yield _build_text(replace_surrogates(block.text))
            case ToolUseBlock():
                call_id, name = ids.get_call_id(block.id), clean_tool_name(block.name)
                yield {"type": "tool_use", "id": call_id, "name": name, "input": block.input}
            case ReasoningBlock() | OpaqueBlock():
                if block.provider == provider and (unsigned or _is_signed(block.payload)):
                    yield dict(block.payload)
            case _:
                assert_never(block)


def _is_signed(payload: JsonObject) -> bool:
    """Whether a block may go back: thinking that was cut off has no signature and would be refused."""
    return payload.get("type") != "thinking" or bool(read_text_field(payload, "signature"))


def _build_result(result: ToolResultMessage, ids: SentIds) -> dict[str, JsonValue]:
    failed = result.is_error or result.is_rejected
    return {
        "type": "tool_result",
        "tool_use_id": ids.get_result_id(result.tool_use_id),
        "content": fill_empty_output(result.output),
        **({"is_error": True} if failed else {}),
    }


def _mark_cached(turns: list[_OpenTurn]) -> None:
    users = [blocks for role, blocks in turns if role == "user"]
    for blocks in users[-_CACHED_USER_MESSAGES:]:
        blocks[-1] = {**blocks[-1], "cache_control": _CACHED}


if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncAnthropicBedrock, AsyncAnthropicVertex

    _Client: TypeAlias = AsyncAnthropic | AsyncAnthropicBedrock | AsyncAnthropicVertex

# 5 MiB in base64 an image, and 32 MB a request with all else in it; the clouds that serve it take less.
_PATH = "/v1/messages"
_IMAGES = ImageLimits(
    image_bytes=5 * 1024 * 1024 * 3 // 4,
    total_bytes=22_000_000,
    images=100,
    side=8_000,
    crowd=20,
    crowd_side=2_000,
)
_IMAGES_IN_CLOUDS = replace(_IMAGES, total_bytes=13_000_000)
# Of each API that serves these models: as many pages as the one with the smallest bound takes.
_DOCUMENTS = DocumentLimits(document_bytes=_IMAGES.total_bytes, pages=100)
_DOCUMENTS_IN_CLOUDS = replace(_DOCUMENTS, document_bytes=_IMAGES_IN_CLOUDS.total_bytes)


class _AnthropicClientOptions(TypedDict):
    """What every client of the SDK is configured with."""

    base_url: str
    timeout: httpx2.Timeout
    max_retries: int
    http_client: httpx2.AsyncClient
    default_headers: Mapping[str, str]


class AnthropicMessages:
    """Implements `ApiClient`, over the SDK's own client for each cloud that serves it.

    The SDK, slow to import, is loaded when it is first needed or by `warm_up`.
    """

    def __init__(self, endpoint: Endpoint, *, max_output_tokens: int | None = None) -> None:
        self._endpoint = endpoint
        self._failures = endpoint.build_failures(_PATH)
        self._max_tokens = max_output_tokens or DEFAULT_ANTHROPIC_OUTPUT_TOKENS
        is_official = endpoint.cloud is not None or endpoint.host.endswith(".anthropic.com")
        self._history = build_messages_history(endpoint.provider, needs_signatures=is_official)
        self._client: _Client | None = None
        self._encoder = BodyEncoder()
        self._loading = threading.Lock()
        self._first_request = FirstRequest()

    @property
    def provider(self) -> str:
        """The name of the provider in the settings."""
        return self._endpoint.provider

    @property
    def image_limits(self) -> ImageLimits:
        """What the API takes in one request."""
        return _IMAGES if self._endpoint.cloud is None else _IMAGES_IN_CLOUDS

    @property
    def document_limits(self) -> DocumentLimits:
        """What the API takes in one request."""
        return _DOCUMENTS if self._endpoint.cloud is None else _DOCUMENTS_IN_CLOUDS

    def warm_up(self) -> None:
        """Load the SDK and build its client. Blocks; may be called from any thread, any number of times.

        A request that waits for it is on its way then. Raises ProviderError(CONFIGURATION) when proxies or
        certificates of the environment cannot be used.
        """
        self._prepare_client()
        self._first_request.let_pass()

    async def exchange(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Send one request and stream its answer. Raises ProviderError."""
        client = await self._get_signed_in_client()
        max_tokens = request.max_output_tokens or self._max_tokens
        body = build_messages_payload(
            request,
            history=self._history,
            max_tokens=max_tokens,
        )
        answer = MessagesAnswer(self.provider, on_event, self._failures)

        def explain_damage(what: str) -> ProviderError:
            return self._failures.explain_damage(what, started=answer.started)

        with self._raise_provider_errors(self._failures.explain_refusal):
            async with self._post(client, body) as response:
                kind: str = response.headers.get("content-type", "")
                pieces: AsyncIterator[bytes] = response.aiter_bytes()
                if is_framed(kind):
                    kind, pieces = EVENT_STREAM, unpack_frames(pieces, explain_damage)
                return await read_answer(pieces, kind, answer, self._failures)

    @asynccontextmanager
    async def _post(self, client: _Client, body: dict[str, JsonValue]) -> AsyncIterator[httpx2.Response]:
        """Send the body of a request; the answer is still to be read.

        It is encoded here: the SDK copies the history first, block by block, which takes several times as long.
        For Bedrock and Vertex it has to, because it takes the model out of the body.
        """
        if isinstance(self._endpoint.cloud, BedrockAccess | VertexAccess):
            # `extra_body` replaces the fields as they are
            async with client.messages.with_streaming_response.create(
                model="", max_tokens=0, messages=[], stream=True, extra_body=body
            ) as streamed:
                yield streamed.http_response
            return
        import anthropic  # at hand by now

        encoded = self._encoder.encode(body)
        async with post_body(client.post, _PATH, encoded, anthropic.AsyncStream[object]) as response:
            yield response

    async def list_models(self) -> tuple[str, ...]:
        """The models the server lists. Raises ProviderError, also where it has no list."""
        return await read_all_pages(self._fetch_page_after)

    async def _fetch_page_after(self, last_id: str | None) -> ModelPage:
        if self._endpoint.cloud is not None:  # the clouds' clients know no list
            raise build_no_listing(self.provider)
        client = await self._get_signed_in_client()
        import anthropic  # at hand by now

        if not isinstance(client, anthropic.AsyncAnthropic):
            raise build_no_listing(self.provider)
        with self._raise_provider_errors(lambda response: explain_listing_refusal(response, self._failures)):
            async with client.models.with_streaming_response.list(
                limit=MOST_MODELS, after_id=last_id if last_id is not None else anthropic.omit
            ) as response:
                return await read_page(response.iter_bytes(), self._failures)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    @contextmanager
    def _raise_provider_errors(self, refused: Callable[[httpx2.Response], ProviderError]) -> Iterator[None]:
        """Raise the errors of the SDK and of the connection as ProviderError."""
        import anthropic  # at hand by now

        try:
            yield
        except anthropic.APIStatusError as error:
            raise refused(error.response) from error
        except anthropic.APIConnectionError as error:
            raise self._failures.explain_unreachable(find_direct_cause(error), started=False) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._failures.explain_unreachable(error, started=False) from error
        except anthropic.AnthropicError as error:
            raise self._failures.explain_unusable(error) from error

    async def _get_signed_in_client(self) -> _Client:
        """The client, with credentials that are still good. Raises ProviderError."""
        client = self._client
        if client is None:
            self._first_request.wait_for_sdk()
            client = await asyncio.to_thread(self._prepare_client)
        import anthropic  # at hand by now

        cloud = self._endpoint.cloud
        if self._endpoint.has_key:
            return client
        if isinstance(cloud, BedrockAccess) and isinstance(client, anthropic.AsyncAnthropicBedrock):
            keys = await cloud.get_keys()
            client.aws_access_key, client.aws_secret_key, client.aws_session_token = keys
        if isinstance(cloud, VertexAccess) and isinstance(client, anthropic.AsyncAnthropicVertex):
            client.access_token = await cloud.get_token()
            client.project_id = cloud.get_project()
        return client

    def _prepare_client(self) -> _Client:
        with self._loading:
            if self._client is None:
                with load_sdk_lazily("anthropic"):
                    self._client = self._build_client()
            return self._client

    def _build_client(self) -> _Client:
        certificates = read_certificates(are_needed=self._endpoint.needs_certificates)
        import anthropic

        endpoint = self._endpoint
        http_client = build_http_client(
            endpoint.address,
            timeout=endpoint.timeout,
            certificates=certificates,
            first_request=self._first_request,
            failures=self._failures,
        )
        prepare_first_request()
        common = _AnthropicClientOptions(
            base_url=endpoint.address,
            timeout=endpoint.timeout,
            max_retries=0,
            http_client=http_client,
            default_headers=endpoint.headers,
        )
        key = endpoint.key if endpoint.has_key else None
        match endpoint.cloud:
            case None:
                common["base_url"] = endpoint.address.removesuffix("/v1")
                # the tracing in it names 500 types of the beta API, a seventh of all that a start takes
                with standing_in("anthropic.types.beta"):
                    return anthropic.AsyncAnthropic(api_key=endpoint.key, **common)
            case BedrockAccess() as cloud:
                cloud.load()
                return anthropic.AsyncAnthropicBedrock(api_key=key, aws_region=cloud.region, **common)
            case VertexAccess() as cloud:
                cloud.load()
                project = cloud.get_project() if key else anthropic.not_given
                return anthropic.AsyncAnthropicVertex(
                    access_token=key, region=cloud.region, project_id=project, **common
                )
            case AzureAccess():
                return anthropic.AsyncAnthropicFoundry(api_key=endpoint.key, **common)
            case never:
                assert_never(never)

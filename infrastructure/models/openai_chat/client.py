"""The API client of OpenAI Chat Completions and the many servers that speak it, through the official SDK.

A server of one's own is asked for the window that it loaded a model with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TypeAlias
from urllib.parse import quote

from msgspec import Struct

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.calls.tool import ToolParser
from quorum.domain.conversation.context_size import USUAL_TOKENS_PER_BYTE, estimate_bytes
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.response import LlmResponse, StopKind, Usage
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.replacing import replace
from quorum.domain.text.json_text import count_json_bytes
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.models.clouds.endpoint import AzureAccess, Endpoint
from quorum.infrastructure.models.openai_chat.answer import ChatAnswer
from quorum.infrastructure.models.openai_chat.payload import build_chat_history, build_chat_payload
from quorum.infrastructure.models.openai_sdk import OpenAiDialect
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.models.shared.json_fields import (
    read_count_field,
    read_object_field,
    read_objects_field,
    read_text_field,
)

Fetch: TypeAlias = Callable[[str, JsonObject | None], Awaitable[JsonObject]]
"""Reads a JSON object from a path of the server, with a body by POST; an empty one where there is none."""

_WINDOW_FIELDS = (
    "n_ctx",  # llama.cpp
    "max_model_len",  # vLLM
    "loaded_context_length",  # LM Studio
    "context_length",  # OpenRouter and others
    "context_window",
    "max_context_length",
)
_LIST = "/v1/models"
_OF_THINKING = ("think", "reason", "analysis")
_SMALLEST = 256
# In tokens: what servers leave of a window that they fill, and count beside what was sent.
_A_FEW = 8


class ServedModel(Struct, frozen=True):
    """`window` is in tokens, None where the server does not say; `is_llama_cpp` tells whose server it is, and
    `may_think` whether the template of its model speaks of thinking."""

    window: int | None = None
    is_llama_cpp: bool = False
    may_think: bool = True


async def ask_about_model(fetch: Fetch, model: str) -> ServedModel:
    """Ask a server about a model, as llama.cpp, Ollama, LM Studio and vLLM are asked, in one round.

    Raises ProviderError while the server loads the model.
    """
    places = ("/props", "/api/ps", f"/api/v0/models/{quote(model)}", _LIST)
    asked = [asyncio.ensure_future(fetch(place, None)) for place in places]
    props, running, loaded, listed = asked
    try:
        if settings := read_object_field(await props, "default_generation_settings"):
            template = read_text_field(await props, "chat_template").lower()
            may_think = not template or any(word in template for word in _OF_THINKING)
            return ServedModel(_find_window(settings), is_llama_cpp=True, may_think=may_think)
        if isinstance((await running).get("models"), list):  # Ollama: no other server is posted anything else
            models = read_objects_field(await running, "models")
            named = [each for each in models if model in (each.get("name"), each.get("model"))]
            window = _find_window(named[0]) if named else None
            return ServedModel(window or _read_ollama_window(await fetch("/api/show", {"model": model})))
        return ServedModel(_find_window(await loaded) or _find_listed_window(await listed, model))
    finally:  # what is known is not kept back by a question that it has answered
        for each in asked:
            each.cancel()
        await asyncio.gather(*asked, return_exceptions=True)


async def ask_list_for_window(fetch: Fetch, model: str) -> int | None:
    """The window that the server's list of models gives, as vLLM and OpenRouter tell it."""
    return _find_listed_window(await fetch(_LIST, None), model)


def _find_listed_window(answer: JsonObject, model: str) -> int | None:
    listed = read_objects_field(answer, "data")
    entry = next((each for each in listed if each.get("id") == model), listed[0] if len(listed) == 1 else {})
    windows = [found for each in (entry, read_object_field(entry, "meta")) if (found := _find_window(each))]
    return min(windows, default=None)


def _find_window(source: JsonObject) -> int | None:
    counts = (read_count_field(source, name) for name in _WINDOW_FIELDS)
    return next((count for count in counts if count and count >= _SMALLEST), None)


def _read_ollama_window(shown: JsonObject) -> int | None:
    """The window that a model file sets; without one, Ollama loads less than the model could have."""
    parameters = shown.get("parameters")
    for name, value in _split_lines(parameters if isinstance(parameters, str) else ""):
        if name == "num_ctx" and value.isdecimal() and len(value) < 10 and int(value) >= _SMALLEST:
            return int(value)
    return None


def _fills(window: int | None, usage: Usage) -> bool:
    """Whether a request and its answer took the window. One that took more shows that the window is larger."""
    return window is not None and usage.context > 0 and abs(usage.context - window) <= _A_FEW


def _split_lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        yield name, value.strip()


def _estimate_bytes(request: ApiRequest) -> int:
    return estimate_bytes(request.messages) + count_json_bytes([request.system, list(request.tools)])


_REFUSED = frozenset({ProviderErrorKind.BAD_REQUEST, ProviderErrorKind.NOT_FOUND, ProviderErrorKind.SERVER})
# how an answer ends that should have been a call
_IGNORED = frozenset({StopKind.END_TURN, StopKind.OTHER, StopKind.MAX_TOKENS})


class OpenAiChat(OpenAiDialect):
    """Implements `ApiClient` over Chat Completions. `tool_parser` reads the calls that models write as text."""

    def __init__(
        self, endpoint: Endpoint, *, max_output_tokens: int | None = None, tool_parser: ToolParser = ""
    ) -> None:
        super().__init__(endpoint, "chat", max_output_tokens=max_output_tokens)
        self._tool_parser = tool_parser
        # the models that do not call a tool though forced to, and those that take no schema for their answer
        self._by_schema: set[str] = set()
        self._without_schema: set[str] = set()
        # the last request of each model that its server counted, and its tokens
        self._counted: dict[str, tuple[ApiRequest, int]] = {}
        self._begin_in_thought: dict[tuple[str, Effort], bool] = {}
        self._is_llama_cpp = False
        self._may_think = True
        self._writes_calls = tool_parser == "json"
        # OpenAI's own models refuse the old name, most other servers know no other
        self._max_tokens_field = (
            "max_completion_tokens"
            if endpoint.host.endswith(".openai.com") or isinstance(endpoint.cloud, AzureAccess)
            else "max_tokens"
        )
        self._history = build_chat_history(endpoint.provider)

    async def find_window(self, model: str, *, is_known: bool) -> int | None:
        """The tokens of the window with which the server has the model, None where it does not say.

        A server elsewhere is asked only where the window `is_known` from nothing else.
        """
        if self._endpoint.cloud is not None or self._endpoint.host.endswith(".openai.com"):
            return None

        if not self._endpoint.is_on_this_machine:
            return None if is_known else await ask_list_for_window(self._client.fetch_object, model)
        served = await ask_about_model(self._client.fetch_object, model)
        self._is_llama_cpp = served.is_llama_cpp
        self._may_think = served.may_think
        return served.window

    async def _send(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        if isinstance(request.tool_choice, str) or request.model in self._without_schema:
            return await self._exchange_once(request, on_event)
        from quorum.infrastructure.models.shared.form_by_schema import (
            ask_by_schema,
            build_response_format,
            find_forced_tool,
            take_as_call,
        )

        if (tool := find_forced_tool(request)) is None:
            return await self._exchange_once(request, on_event)
        first = None
        if request.model not in self._by_schema:
            first = await self._exchange_once(request, on_event)
            if first.holds_calls or first.stop_reason.kind not in _IGNORED:
                return first
        try:
            asked = ask_by_schema(request, tool)
            answer = await self._exchange_once(asked, on_event, build_response_format(tool))
        except ProviderError as error:
            if error.partial or error.kind not in _REFUSED:
                raise
            self._without_schema.add(request.model)
            self._by_schema.discard(request.model)
            return first or await self._exchange_once(request, on_event)
        if not answer.holds_calls and (answer := take_as_call(answer, tool)).holds_calls:
            self._by_schema.add(request.model)
        return answer if first is None else replace(answer, usage=first.usage + answer.usage)

    async def _exchange_once(
        self,
        request: ApiRequest,
        on_event: OnStreamEvent,
        response_format: Mapping[str, JsonValue] | None = None,
    ) -> LlmResponse:
        try:
            return await self._exchange_in_form(request, on_event, response_format)
        except ProviderError as error:  # some servers take a result only behind a call in the API's form
            is_about_calls = error.kind in _REFUSED and "tool" in str(error).lower()
            if not (self._writes_calls and is_about_calls) or error.partial:
                raise
        self._writes_calls = False
        return await self._exchange_in_form(request, on_event, response_format)

    async def _exchange_in_form(
        self, request: ApiRequest, on_event: OnStreamEvent, response_format: Mapping[str, JsonValue] | None
    ) -> LlmResponse:
        most = request.max_output_tokens or self._max_tokens
        body = build_chat_payload(
            request,
            history=self._history,
            max_tokens=most,
            max_tokens_field=self._max_tokens_field,
            fills_reasoning=request.model in self._plain,
            joins_prompts=self._endpoint.is_on_this_machine,
            writes_calls=self._writes_calls,
        )
        if self._is_llama_cpp:
            body["return_progress"] = True
        if response_format is not None:
            body["response_format"] = response_format
        reader = None
        if self._tool_parser and request.tools:
            from quorum.domain.textual_calls.families import get_family
            from quorum.domain.textual_calls.forms import list_argument_schemas
            from quorum.domain.textual_calls.reader import TextualCallReader

            reader = TextualCallReader(
                get_family(self._tool_parser),
                list_argument_schemas(request.tools),
                begins_in_thought=self._begin_in_thought.get((request.model, request.effort))
                if self._may_think
                else False,
            )
        names = [str(tool["name"]) for tool in request.tools]
        answer = ChatAnswer(self.provider, on_event, self._failures, reader, names)
        response = await self._client.send(request.model, body, answer)
        response = self._count_ended(request, response, answer)
        if (began := answer.began_in_thought) is not None:
            self._begin_in_thought[request.model, request.effort] = began
        # gateways call both an end, too
        is_cut = response.usage.output == most or _fills(request.window, response.usage)
        return response.mark_cut() if is_cut else response

    def _count_ended(self, request: ApiRequest, response: LlmResponse, answer: ChatAnswer) -> LlmResponse:
        """The answer with an estimate of what it used, where it was ended here before the server told: as many
        tokens for so many bytes as in what it counted before."""
        if response.usage.context:
            self._counted[request.model] = (request, response.usage.context - response.usage.output)
        elif answer.was_ended:
            per_byte = USUAL_TOKENS_PER_BYTE
            if (counted := self._counted.get(request.model)) is not None:
                per_byte = counted[1] / _estimate_bytes(counted[0])
            prompt = round(per_byte * _estimate_bytes(request))
            return replace(response, usage=Usage(input=prompt, output=answer.pieces))
        return response

    def _is_about_reasoning(self, error: ProviderError) -> bool:
        """Some models refuse a history of which they did not think every answer, as after a change of model."""
        text = str(error).lower()
        is_missed = "reasoning_content" in text and any(word in text for word in ("missing", "passed back"))
        return error.kind is ProviderErrorKind.BAD_REQUEST and not error.partial and is_missed

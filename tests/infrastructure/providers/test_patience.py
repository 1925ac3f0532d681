"""Servers that load a model first, and templates in which the person and the model take turns."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from quorum.application.conversation_session import ConversationSession, open_session
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import StreamedPromptProgress, StreamEvent, StreamRetry
from quorum.domain.errors import ProviderError
from quorum.infrastructure.models.clouds.endpoint import Endpoint
from quorum.infrastructure.models.openai_chat.client import OpenAiChat
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.models.shared.exchange import ApiExchange
from quorum.infrastructure.provider_types import find_public_service
from tests.support.sse_server import Raw, Refuse, Say, SseServer


@asynccontextmanager
async def _open(server: SseServer, conversation: Conversation) -> AsyncIterator[ConversationSession]:
    settings = ProviderSettings(type="openai-chat", base_url=server.base_url, api_key_env="")
    endpoint = Endpoint.of("local", settings, {}, find_public_service("openai-chat"))
    client = OpenAiChat(endpoint)
    try:
        exchange = ApiExchange(client, model="m", max_retries=1, backoff=lambda _attempt: 0.0)
        yield open_session(exchange, conversation, "", None, Effort.DEFAULT)
    finally:
        await client.aclose()


@pytest.mark.parametrize(
    "words",
    ["Loading model", "The model 'm' is still loading", "model m is not ready", "Model is being loaded"],
)
async def test_a_server_that_loads_the_model_is_waited_for(words: str) -> None:
    events: list[StreamEvent] = []
    async with SseServer("openai-chat") as server:
        server.script += [Refuse(status=503, message=words)] * 5 + [Say(pieces=("hi",))]
        async with _open(server, Conversation()) as session:
            response = await session.send_streaming("hello", events.append)

    assert response.text_content() == "hi"
    waits = [event for event in events if isinstance(event, StreamRetry)]
    assert [event.reason for event in waits] == ["local is loading the model"] * 5
    assert all(event.is_loading for event in waits)


async def test_any_other_refusal_is_repeated_as_often_as_the_settings_say() -> None:
    async with SseServer("openai-chat") as server:
        server.script += [Refuse(status=503, message="busy")] * 5
        async with _open(server, Conversation()) as session:
            with pytest.raises(ProviderError):
                await session.send("hello")

    assert len(server.bodies) == 2


async def test_messages_of_the_person_that_follow_each_other_are_sent_as_one() -> None:
    conversation = Conversation()
    conversation.add_user("first")
    conversation.add_user("second")
    async with SseServer("openai-chat") as server:
        server.script.append(Say(pieces=("hi",)))
        async with _open(server, conversation) as session:
            await session.send("third")

    assert server.bodies[0]["messages"] == [{"role": "user", "content": "first\n\nsecond\n\nthird"}]


async def test_a_server_of_llama_cpp_is_asked_how_far_it_has_read_the_prompt() -> None:
    events: list[StreamEvent] = []
    chunks = [
        {"choices": [{"index": 0, "delta": {"role": "assistant"}}], "prompt_progress": progress}
        for progress in ({"total": 200, "cache": 0, "processed": 68}, {"total": 0, "processed": 9}, ["odd"])
    ]
    chunks.append({"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]})
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    async with SseServer("openai-chat") as server:
        server.facts = {"/props": {"default_generation_settings": {"n_ctx": 4096}}}
        server.script += [Raw(body=f"{body}data: [DONE]\n\n".encode()), Say(pieces=("again",))]
        settings = ProviderSettings(type="openai-chat", base_url=server.base_url, api_key_env="")
        client = OpenAiChat(Endpoint.of("local", settings, {}, find_public_service("openai-chat")))
        session = open_session(ApiExchange(client, model="m"), Conversation(), "", None, Effort.DEFAULT)
        assert await client.find_window("m", is_known=False) == 4096
        await session.send_streaming("hello", events.append)
        await client.aclose()

    assert server.bodies[0]["return_progress"] is True
    progress = [event for event in events if isinstance(event, StreamedPromptProgress)]
    assert progress == [StreamedPromptProgress(read=68, total=200)]

"""The window that a server gives a model, as each kind of server tells it."""

from __future__ import annotations

import asyncio

import pytest

from quorum.domain.errors import ProviderError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.openai_chat.client import ServedModel, ask_about_model
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from tests.support.sse_server import Refuse, SseServer

MODEL = "qwen3:8b"


async def _find(facts: dict[str, object]) -> int | None:
    async with SseServer("openai-chat") as server:
        server.facts = facts
        settings = ProviderSettings(type="openai-chat", base_url=server.base_url, api_key_env="")
        registry = ProviderRegistry({"local": settings}, environ={})
        try:
            return await registry.find_window(f"local/{MODEL}", is_known=True)
        finally:
            await registry.aclose()


@pytest.mark.parametrize(
    ("facts", "window"),
    [
        ({"/props": {"default_generation_settings": {"n_ctx": 4608}}}, 4608),
        ({"/api/ps": {"models": [{"name": MODEL, "context_length": 8192}]}}, 8192),
        ({"/api/ps": {"models": []}, "/api/show": {"parameters": "temperature 0.7\nnum_ctx 16384"}}, 16384),
        ({f"/api/v0/models/{MODEL.replace(':', '%3A')}": {"loaded_context_length": 6000}}, 6000),
        ({"/v1/models": {"data": [{"id": MODEL, "max_model_len": 32768}, {"id": "b"}]}}, 32768),
        ({"/v1/models": {"data": [{"id": "any", "meta": {"n_ctx": 4096, "n_ctx_train": 9}}]}}, 4096),
        ({"/v1/models": {"data": [{"id": MODEL, "context_length": 131072}]}}, 131072),
        ({"/v1/models": {"data": [{"id": "a", "context_length": 5000}, {"id": "b"}]}}, None),
        ({"/props": {"default_generation_settings": {"n_ctx": -1}}}, None),
        ({"/props": ["n_ctx"]}, None),
        ({"/api/ps": {"models": []}, "/api/show": {"parameters": f"num_ctx {'9' * 5_000}"}}, None),
        ({}, None),
    ],
    ids=[
        "llama.cpp",
        "ollama",
        "model file",
        "LM Studio",
        "vLLM",
        "list",
        "OpenRouter",
        "other",
        "odd",
        "list",
        "a number of too many digits",
        "none",
    ],
)
async def test_a_server_says_what_window_a_model_has(facts: dict[str, object], window: int | None) -> None:
    assert await _find(facts) == window


async def test_a_server_that_loads_the_model_says_so_in_place_of_its_window() -> None:
    with pytest.raises(ProviderError) as caught:
        await _find({"/props": Refuse(status=503, message="Loading model")})

    assert caught.value.is_loading
    assert await _find({"/props": Refuse(status=503, message="it is busy")}) is None


async def test_only_ollama_is_posted_a_question_beside_prompts() -> None:
    facts: dict[str, object] = {"/api/ps": {"data": []}, "/api/show": {"parameters": "num_ctx 16384"}}

    assert await _find(facts) is None


async def test_a_server_that_is_not_there_says_nothing() -> None:
    settings = ProviderSettings(type="openai-chat", base_url="http://127.0.0.1:9/v1", api_key_env="")
    registry = ProviderRegistry({"local": settings}, environ={})

    assert await registry.find_window("local/m", is_known=False) is None
    await registry.aclose()


@pytest.mark.parametrize(
    ("known", "answer", "served"),
    [
        ("/props", {"default_generation_settings": {"n_ctx": 4608}}, ServedModel(4608, is_llama_cpp=True)),
        (
            "/props",
            {"default_generation_settings": {"n_ctx": 4608}, "chat_template": "{{ messages }}"},
            ServedModel(4608, is_llama_cpp=True, may_think=False),
        ),
        ("/api/ps", {"models": [{"name": MODEL, "context_length": 8192}]}, ServedModel(8192)),
    ],
)
async def test_an_answer_that_says_it_waits_for_no_later_question(
    known: str, answer: JsonObject, served: ServedModel
) -> None:
    places = ["/props", "/api/ps"]

    async def fetch(place: str, _body: JsonObject | None) -> JsonObject:
        if place == known:
            return answer
        if place in places[: places.index(known)]:
            return {}
        await asyncio.Event().wait()
        raise AssertionError

    async with asyncio.timeout(60):
        assert await ask_about_model(fetch, MODEL) == served

from __future__ import annotations

import pytest

from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.provider_types import ProviderType
from tests.support.loopback_net import Answer, RecordingServer

REMEDY = '[providers.mine] type = "openai-chat"'


async def _failure(type_: ProviderType, answer: Answer) -> ProviderError:
    async with RecordingServer(answer) as server:
        settings = ProviderSettings(type=type_, base_url=f"{server.url}/v1", max_retries=0)
        gateway = ProviderRegistry({"mine": settings}, environ={})
        with pytest.raises(ProviderError) as caught:
            await gateway.open_session("mine/qwen3", Conversation(), "").send("hi")
        await gateway.aclose()
    assert len(server.asked) == 1
    return caught.value


def _json(body: str, status: int = 404) -> Answer:
    return Answer(pieces=[body.encode()], status=status, content_type="application/json")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(pieces=[b"404 page not found"], status=404, content_type="text/plain"),
        Answer(pieces=[b"<html><h1>404</h1></html>"], status=404, content_type="text/html"),
        Answer(pieces=[], status=404),
        _json('{"detail": "Not Found"}'),
        _json('{"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}'),
        _json('{"error": {"message": "Invalid URL (POST /v1/responses)"}}'),
        _json('{"detail": "Method Not Allowed"}', status=405),
    ],
)
async def test_a_server_without_responses_is_reported_with_the_type_to_set(answer: Answer) -> None:
    error = await _failure("openai", answer)
    assert REMEDY in str(error)
    assert not error.retryable


@pytest.mark.parametrize(
    "body",
    [
        '{"error": {"message": "The model `qwen3` does not exist", "code": "model_not_found"}}',
        '{"error": {"message": "model \'qwen3\' not found"}}',
        '{"error": {"code": "DeploymentNotFound", "message": "Not here"}}',
        '{"detail": "Model qwen3 is not loaded"}',
    ],
)
async def test_a_model_that_is_not_known_is_no_reason_for_another_type(body: str) -> None:
    error = await _failure("openai", _json(body))
    assert error.kind is ProviderErrorKind.NOT_FOUND
    assert "openai-chat" not in str(error)


@pytest.mark.parametrize("type_", ["openai-chat", "anthropic"])
async def test_other_types_get_no_such_advice(type_: ProviderType) -> None:
    error = await _failure(type_, _json('{"detail": "Not Found"}'))
    assert "openai-chat" not in str(error)

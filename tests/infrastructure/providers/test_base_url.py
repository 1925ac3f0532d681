from __future__ import annotations

import pytest

from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import ProviderError
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.models.shared.failures import suggest_base_url
from quorum.infrastructure.provider_types import ProviderType
from tests.support.loopback_net import Answer, RecordingServer

_UNKNOWN_PAGE = Answer(pieces=[b"404 page not found"], status=404, content_type="text/plain")


async def _ask(type_: ProviderType, suffix: str, answer: Answer, userinfo: str = "") -> tuple[str, str, str]:
    """The error, the address of the server, and the path that was asked there."""
    async with RecordingServer(answer) as server:
        address = server.url.replace("//", f"//{userinfo}") + suffix
        gateway = ProviderRegistry(
            {"mine": ProviderSettings(type=type_, base_url=address, max_retries=0)}, environ={}
        )
        with pytest.raises(ProviderError) as caught:
            await gateway.open_session("mine/m", Conversation(), "").send("hi")
        await gateway.aclose()
    return str(caught.value), server.url, server.asked[0].target.partition("?")[0]


@pytest.mark.parametrize("type_", ["openai-chat", "openai", "anthropic"])
@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/chat/completions", "/api/v1/messages", "/proxy"])
@pytest.mark.parametrize("status", [404, 405, 501])
async def test_an_address_that_the_server_does_not_know_is_named_with_the_setting(
    type_: ProviderType, suffix: str, status: int
) -> None:
    answer = Answer(pieces=[b"404 page not found"], status=status, content_type="text/plain")
    error, url, path = await _ask(type_, suffix, answer)
    assert f"the address was {url}{path}" in error
    assert "base_url of [providers.mine]" in error


@pytest.mark.parametrize(
    ("type_", "suffix", "meant"),
    [
        ("openai-chat", "", "/v1"),
        ("openai-chat", "/v1/chat/completions", "/v1"),
        ("openai-chat", "/chat/completions/", "/v1"),
        ("openai", "/api/v1/responses", "/api/v1"),
        ("anthropic", "/v1/messages", ""),
        ("anthropic", "/gateway/v1/messages", "/gateway"),
    ],
)
async def test_the_base_url_that_was_probably_meant_is_named(
    type_: ProviderType, suffix: str, meant: str
) -> None:
    error, url, _ = await _ask(type_, suffix, _UNKNOWN_PAGE)
    assert f'so it is probably "{url}{meant}"' in error


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("http://h/v1", "/chat/completions"),
        ("http://h/api/paas/v4", "/chat/completions"),
        ("http://h", "/v1/messages"),
        ("http://h/v1", "/v1/messages"),
        ("http://h/anthropic", "/v1/messages"),
    ],
)
def test_a_base_url_that_looks_right_gets_no_other(address: str, path: str) -> None:
    assert suggest_base_url(address, path) is None


async def test_a_model_that_is_not_known_is_no_fault_of_the_base_url() -> None:
    body = b'{"error": {"message": "model m not found"}}'
    answer = Answer(pieces=[body], status=404, content_type="application/json")
    error, url, path = await _ask("openai-chat", "/v1", answer)
    assert f"the address was {url}{path}" in error
    assert "base_url" not in error


async def test_a_server_that_reports_an_unknown_address_with_success_is_understood() -> None:
    body = b'{"error": "Unexpected endpoint or method. (POST /chat/completions)"}'
    error, url, _ = await _ask("openai-chat", "", Answer(pieces=[body], content_type="application/json"))
    assert f'so it is probably "{url}/v1"' in error


async def test_a_password_in_the_base_url_is_not_shown() -> None:
    error, _, _ = await _ask("openai-chat", "/v1", _UNKNOWN_PAGE, userinfo="me:hidden@")
    assert "hidden" not in error

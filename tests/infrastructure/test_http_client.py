"""A connection that fails in an unexpected way while an answer is read, for all that asks servers."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from quorum.domain.conversation.history import AssistantMessage, Conversation
from quorum.domain.conversation.response import StreamedUsage, StreamEvent, Usage
from quorum.domain.errors import ProviderError, ProviderErrorKind, ToolError
from quorum.infrastructure.http_client import HeadTimeout, HttpClient
from quorum.infrastructure.mcp.answers import ServerAnswers
from quorum.infrastructure.mcp.http_transport import AnswerClient
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.tools.web.searching import SearXng, WebSearch
from tests.support.builders import a_context
from tests.support.loopback_net import NET_VARIABLES, Answer, Authority, RecordingServer, TricklingServer
from tests.support.sse_server import Dialect, Say, scripted_events


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Of a server on localhost that everybody trusts."""
    for name in NET_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return authority.server_context("localhost")


@pytest.mark.parametrize("said", ["half an ", ""])
@pytest.mark.parametrize("dialect", ["anthropic", "openai", "openai-chat"])
async def test_a_damaged_record_in_an_answer_is_a_stream_that_broke_off(
    dialect: Dialect, said: str, context: ssl.SSLContext
) -> None:
    begun = scripted_events(dialect, Say(pieces=(said,), ending="drop")) if said else []
    known = said and dialect == "anthropic"  # which tells the usage of the prompt first
    answers = [Answer(pieces=begun, is_damaged=True)] * 2
    conversation, events = Conversation(), list[StreamEvent]()
    async with RecordingServer(*answers, context=context) as server:
        address = f"https://localhost:{server.port}"
        settings = ProviderSettings(type=dialect, base_url=address, api_key_env="", max_retries=0)
        gateway = ProviderRegistry({"mine": settings}, environ={})
        with pytest.raises(ProviderError, match=r"the stream broke off|without an answer") as caught:
            await gateway.open_session("mine/m", conversation, "").send_streaming("hi", events.append)
        await gateway.aclose()

    used = [event for event in events if isinstance(event, StreamedUsage)]
    assert caught.value.partial is bool(said)
    assert used[:1] == ([StreamedUsage(Usage(input=7, output=1, cache_read=5, cache_write=3))] if known else [])
    if said:
        assert caught.value.kind is ProviderErrorKind.DAMAGED_STREAM
        last = conversation.messages[-1]
        assert isinstance(last, AssistantMessage)
        assert said in last.response.text_content()


class _Failing(httpx2.AsyncBaseTransport):
    """Fails while a body is read, or before it."""

    def __init__(self, error: Exception, *, in_body: bool) -> None:
        self._error, self._in_body = error, in_body

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if not self._in_body:
            raise self._error
        return httpx2.Response(200, stream=_FailingBody(self._error))


class _FailingBody(httpx2.AsyncByteStream):
    def __init__(self, error: Exception) -> None:
        self._error = error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"half"
        raise self._error


async def test_the_head_of_an_answer_has_a_limit_of_its_own() -> None:
    async with TricklingServer(b"HTTP/1.1 200 OK\r\n", b"x-more: of this\r\n") as server:
        client = HttpClient(timeout=30, head_secs=0.1)
        with pytest.raises(HeadTimeout):
            await client.get(server.url)
        await client.aclose()


@pytest.mark.parametrize("in_body", [True, False])
@pytest.mark.parametrize(
    "error", [ssl.SSLError(1, "bad record"), OSError(5, "no input"), EOFError(), TimeoutError("of a socket")]
)
async def test_whatever_a_connection_raises_is_an_error_of_the_client(error: Exception, in_body: bool) -> None:
    client = HttpClient(transport=_Failing(error, in_body=in_body))
    with pytest.raises(httpx2.ReadError) as caught:
        await client.get("http://localhost")
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    "error", [ValueError("chunk"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"), KeyError()]
)
async def test_in_a_body_so_is_what_only_the_connection_can_have_raised(error: Exception) -> None:
    client = HttpClient(transport=_Failing(error, in_body=True))
    with pytest.raises(httpx2.ReadError):
        await client.get("http://localhost")


async def test_a_search_whose_connection_breaks_in_an_unexpected_way_is_an_error_for_the_model(
    context: ssl.SSLContext,
) -> None:
    async with RecordingServer(Answer(pieces=[b"{"], is_damaged=True), context=context) as server:
        search = WebSearch(SearXng(f"https://localhost:{server.port}"), max_bytes=1_000, timeout_secs=30)
        with pytest.raises(ToolError, match="the connection to localhost broke"):
            await search.execute({"query": "quorum"}, a_context())


async def test_an_answer_of_an_mcp_server_that_breaks_so_is_an_error_of_its_call(
    context: ssl.SSLContext,
) -> None:
    begun = Answer(pieces=[b'{"jsonrpc": '], content_type="application/json", is_damaged=True)
    async with RecordingServer(begun, context=context) as server:
        client = AnswerClient(ServerAnswers("mine"), on_forgotten=lambda: None, headers={}, auth=None)
        sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}
        async with client.stream("POST", f"https://localhost:{server.port}", json=sent) as response:
            answer = json.loads(await response.aread())
        await client.aclose()
    assert answer["result"]["isError"]
    assert "it was cut off" in answer["result"]["content"][0]["text"]

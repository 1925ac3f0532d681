"""Requests wait for their turn before they are sent, and say so."""

from __future__ import annotations

import pytest

from quorum.application.ports.storage import RequestRate
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import StreamEvent, StreamRetry
from quorum.domain.errors import LedgerError, ProviderError, ProviderErrorKind
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.models.shared.retry import RequestPace
from tests.support.fake_storage import FakePacer
from tests.support.sse_server import Refuse, Say, SseServer

OK = Say(pieces=("done",))


class AwayPacer:
    """A database that does not answer."""

    async def reserve(self, _provider: str, _rate: RequestRate) -> float:
        raise LedgerError("the server does not answer")


def configure(server: SseServer, rate: int, retries: int = 0) -> dict[str, ProviderSettings]:
    settings = ProviderSettings(
        type="openai-chat",
        base_url=server.base_url,
        api_key_env="",
        max_retries=retries,
        requests_per_minute=rate,
    )
    return {"p": settings}


async def send(registry: ProviderRegistry) -> None:
    await registry.open_session("p/m", Conversation(), "").send("hello")


async def test_each_request_and_each_repetition_is_taken_from_the_rate():
    pacer = FakePacer()
    async with SseServer("openai-chat") as server:
        server.script = [Refuse(status=503, headers={"retry-after": "0"}), OK, OK]
        registry = ProviderRegistry(configure(server, 600, retries=1), environ={}, pacer=pacer)
        await send(registry)
        await send(registry)
        await registry.aclose()

    assert pacer.tokens == {"p": 97}


async def test_without_a_rate_nothing_is_counted():
    pacer = FakePacer()
    async with SseServer("openai-chat") as server:
        server.script = [OK]
        registry = ProviderRegistry(configure(server, 0), environ={}, pacer=pacer)
        await send(registry)
        await registry.aclose()

    assert pacer.tokens == {}


async def test_a_request_that_cannot_be_counted_is_not_sent():
    async with SseServer("openai-chat") as server:
        registry = ProviderRegistry(configure(server, 600), environ={}, pacer=AwayPacer())
        with pytest.raises(ProviderError, match="the requests to p cannot be counted") as refused:
            await send(registry)
        await registry.aclose()

    assert refused.value.kind is ProviderErrorKind.CONNECTION
    assert refused.value.retryable
    assert server.asked == []


async def test_a_longer_wait_is_told_and_waited_for():
    told: list[StreamEvent] = []
    waited: list[float] = []

    async def sleep(secs: float) -> None:
        waited.append(secs)

    pace = RequestPace(FakePacer(), "p", RequestRate(6), sleep=sleep)
    for _ in range(3):
        await pace.wait_for_turn(told.append)

    assert waited == pytest.approx([10, 20])
    assert [(each.delay_secs, each.kind) for each in told if isinstance(each, StreamRetry)] == [
        (pytest.approx(10), ProviderErrorKind.RATE_LIMIT),
        (pytest.approx(20), ProviderErrorKind.RATE_LIMIT),
    ]

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.models.shared.model_listing import MOST_MODELS
from tests.support.sse_server import Dialect, Raw, Refuse, SseServer

DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai", "openai-chat")
KEY = "sk-very-secret"


@pytest.fixture(params=DIALECTS)
async def server(request: pytest.FixtureRequest) -> AsyncIterator[SseServer]:
    async with SseServer(request.param) as server:
        server.lists_models = True
        yield server


@pytest.fixture
async def anthropic_server() -> AsyncIterator[SseServer]:
    async with SseServer("anthropic") as server:
        server.lists_models = True
        yield server


async def _listed(
    server: SseServer, *, address: str | None = None, key_env: str | None = "KEY"
) -> tuple[str, ...]:
    settings = ProviderSettings(
        type=server.dialect, base_url=address or server.base_url, api_key_env=key_env, timeout_secs=10
    )
    gateway = ProviderRegistry({"local": settings}, environ={"KEY": KEY})
    try:
        return await gateway.list_models("local")
    finally:
        await gateway.aclose()


async def _refusal(
    server: SseServer, *, address: str | None = None, key_env: str | None = "KEY"
) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await _listed(server, address=address, key_env=key_env)
    assert KEY not in str(caught.value)
    return caught.value


def _page(*ids: object, **more: object) -> Raw:
    data = {"data": [{"id": each} for each in ids], **more}
    return Raw(body=json.dumps(data).encode(), content_type="application/json")


def _queries(server: SseServer) -> Iterator[dict[str, list[str]]]:
    return (parse_qs(urlsplit(asked.split(" ")[1]).query) for asked in server.asked)


async def test_the_models_are_listed_in_the_providers_order(server: SseServer) -> None:
    server.script = [_page("zeta", "vendor/alpha:free", object="list")]

    assert await _listed(server) == ("local/zeta", "local/vendor/alpha:free")
    assert server.asked[0].startswith("GET /v1/models")
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("body", [b'{"object": "list", "data": null}', b'{"data": []}', b"[]"])
async def test_an_empty_list_is_a_list(body: bytes, server: SseServer) -> None:
    server.script = [Raw(body=body, content_type="application/json")]

    assert await _listed(server) == ()


async def test_a_bare_array_is_a_list_too(server: SseServer) -> None:
    server.script = [Raw(body=b'[{"id": "a"}]', content_type="application/json")]

    assert await _listed(server) == ("local/a",)


async def test_what_can_be_no_name_is_left_out(server: SseServer) -> None:
    body = json.dumps(
        {"data": [{"id": "a"}, {"id": "a"}, {"id": 3}, {"id": ""}, {"id": " "}, {}, None, "b", []]}
    )
    odd = json.dumps({"id": "c\x1b[2J"})
    server.script = [Raw(body=f"{body[:-2]}, {odd}]}}".encode(), content_type="application/json")]

    assert await _listed(server) == ("local/a",)


async def test_a_list_without_an_end_is_cut(server: SseServer) -> None:
    server.script = [_page(*(f"m{n}" for n in range(MOST_MODELS + 1)))]

    assert len(await _listed(server)) == MOST_MODELS


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_a_server_without_a_list_leaves_the_typing_of_names(status: int, server: SseServer) -> None:
    server.script = [Refuse(status=status)]

    error = await _refusal(server)

    assert str(error) == "local lists no models; any name can still be typed, as local/NAME"
    assert (error.kind, error.retryable) == (ProviderErrorKind.NOT_FOUND, False)


async def test_a_refused_key_is_reported_as_with_any_request(server: SseServer) -> None:
    server.script = [Refuse(status=401, message=f"{KEY} is no key")]

    error = await _refusal(server)

    assert str(error) == "local refused the key (401): … is no key; set KEY to a valid key and start again"
    assert error.kind is ProviderErrorKind.AUTHENTICATION


async def test_where_a_server_that_got_no_key_wants_one_it_is_said_where_to_name_it(server: SseServer) -> None:
    server.script = [Refuse(status=401, message="no key")]

    assert str(await _refusal(server, key_env=None)) == (
        "local refused the key (401): no key; name the variable that holds its key with api_key_env in "
        "[providers.local]"
    )


@pytest.mark.long(after=7)
@pytest.mark.parametrize("body", [b"<html>", b"3", b"{}", b'{"data": "many"}', b'{"data"', b"\xff"])
async def test_an_answer_that_is_no_list_is_one_error(body: bytes, server: SseServer) -> None:
    server.script = [Raw(body=body, content_type="application/json")]

    error = await _refusal(server)

    assert "answered with something that is not a list of models; check base_url" in str(error)


async def test_an_error_in_place_of_a_list_is_reported(server: SseServer) -> None:
    body = b'{"error": {"message": "asleep", "type": "overloaded_error"}}'
    server.script = [Raw(body=body, content_type="application/json")]

    assert (await _refusal(server)).kind is ProviderErrorKind.OVERLOADED


@pytest.mark.long(after=1)
async def test_a_server_that_is_not_there_is_reported(server: SseServer) -> None:
    error = await _refusal(server, address="http://127.0.0.1:1/v1")

    assert "cannot connect to http://127.0.0.1:1" in str(error)


async def test_pages_are_followed_to_the_last(anthropic_server: SseServer) -> None:
    anthropic_server.script = [
        _page("a", "b", has_more=True, last_id="b"),
        _page("c", has_more=False, last_id="c"),
    ]

    assert await _listed(anthropic_server) == ("local/a", "local/b", "local/c")
    first, second = _queries(anthropic_server)
    assert "after_id" not in first
    assert second["after_id"] == ["b"]


async def test_a_server_that_repeats_its_last_page_for_ever_is_left(anthropic_server: SseServer) -> None:
    again = _page("a", has_more=True, last_id="a")
    anthropic_server.script = [again, again, again]

    assert await _listed(anthropic_server) == ("local/a",)
    assert len(anthropic_server.asked) == 2


async def test_more_pages_than_anyone_reads_are_not_asked_for(anthropic_server: SseServer) -> None:
    half = MOST_MODELS // 2
    anthropic_server.script = [
        _page(*(f"m{start + n}" for n in range(half)), has_more=True, last_id=f"m{start + half - 1}")
        for start in (0, half, 2 * half)
    ]

    assert len(await _listed(anthropic_server)) == MOST_MODELS
    assert len(anthropic_server.asked) == 2


@pytest.mark.parametrize(
    "settings",
    [
        ProviderSettings(type="anthropic", client="bedrock", region="eu-central-1", api_key_env="KEY"),
        ProviderSettings(type="anthropic", client="vertex", region="global", project="p", api_key_env="KEY"),
        ProviderSettings(type="anthropic", client="azure", base_url="http://127.0.0.1:1", api_key_env="KEY"),
        ProviderSettings(type="openai", client="azure", base_url="http://127.0.0.1:1", api_key_env="KEY"),
    ],
)
async def test_no_cloud_lists_what_can_be_asked_there(settings: ProviderSettings) -> None:
    gateway = ProviderRegistry({"cloud": settings}, environ={"KEY": KEY})

    with pytest.raises(
        ProviderError, match="cloud lists no models; any name can still be typed, as cloud/NAME"
    ):
        await gateway.list_models("cloud")


async def test_the_offline_interpreter_lists_itself() -> None:
    gateway = ProviderRegistry({"offline": ProviderSettings(type="offline")}, environ={})

    assert await gateway.list_models("offline") == ("offline/offline",)

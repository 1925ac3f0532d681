from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

import pytest

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ToolError
from quorum.infrastructure.tools.web.searching import Brave, SearXng, WebSearch
from tests.infrastructure.tools.calling import a_context
from tests.infrastructure.tools.web.web_server import Answer, Behaviour, WebServer, drip, hang_up, redirect

RESULTS = [
    {"title": "Asyncio &amp; you", "url": "https://docs.site.net/a", "content": "How to\n <b>wait</b> for it"},
    {"title": "", "url": "https://docs.site.net/b"},
    {"title": "no address", "url": "javascript:x()", "content": "left out"},
    "damage",
]


def an_answer(value: object, **more: str) -> Answer:
    return Answer(body=json.dumps(value).encode(), type="application/json", **more)


async def searched(server: WebServer, *, query: object = "asyncio wait", timeout_secs: float = 30) -> str:
    service = SearXng(f"http://127.0.0.1:{server.port}/")
    search = WebSearch(service, max_bytes=100_000, timeout_secs=timeout_secs)
    return await search.execute({"query": query}, a_context())


async def refusal_of(pages: Mapping[str, Behaviour]) -> str:
    async with WebServer(pages) as server:
        with pytest.raises(ToolError) as caught:
            await searched(server)
    return str(caught.value).replace(str(server.port), "PORT")


async def test_results_of_searxng_are_numbered_plain_lines():
    async with WebServer({"/search": an_answer({"results": RESULTS})}) as server:
        result = await searched(server, query=" asyncio\nwait ")

    assert result == (
        "1. Asyncio & you\n   https://docs.site.net/a\n   How to wait for it\n\n"
        "2. https://docs.site.net/b\n   https://docs.site.net/b"
    )
    assert server.targets == ["/search?q=asyncio+wait&format=json"]


async def test_results_of_brave_come_with_the_key_in_its_header():
    pages = {
        "/res/v1/web/search": an_answer(
            {
                "type": "search",
                "web": {"results": [{"title": "T", "url": "https://a.net", "description": "it&#x27;s"}]},
            }
        )
    }
    async with WebServer(pages) as server:
        service = Brave(f"http://127.0.0.1:{server.port}/res/v1/web/search", "the-key", "BRAVE_KEY")
        search = WebSearch(service, max_bytes=100_000, timeout_secs=30)
        result = await search.execute({"query": "x y"}, a_context())

    assert result == "1. T\n   https://a.net\n   it's"
    assert server.asked[0].headers["x-subscription-token"] == "the-key"
    assert server.targets == ["/res/v1/web/search?q=x+y&count=10&text_decorations=false"]


def test_brave_without_results_has_no_web_part():
    assert Brave("", "key", "BRAVE_KEY").read_hits({"type": "search", "query": {}}) == ()
    with pytest.raises(ToolError, match="holds no list of results"):
        Brave("", "key", "BRAVE_KEY").read_hits({"type": "ErrorResponse"})


@pytest.mark.parametrize("url", ["http://host", "http://host/", "http://host/search", "http://host/search/"])
def test_the_address_of_searxng_is_that_of_the_instance_or_of_its_search(url: str):
    assert SearXng(url).url == "http://host/search"


async def test_no_results_is_an_answer_too():
    async with WebServer({"/search": an_answer({"results": []})}) as server:
        assert await searched(server) == "searxng has no results for: asyncio wait"


async def test_results_are_bounded():
    many = [{"title": "t" * 999, "url": f"https://a.net/{n}", "content": "c" * 9999} for n in range(50)]
    async with WebServer({"/search": an_answer({"results": many[:9]})}) as server:
        few = await searched(server)
        server.pages["/search"] = an_answer({"results": [hit | {"content": "c"} for hit in many]})
        lots = await searched(server)

    assert len(few) < 9 * 700
    assert "10. ttt" in lots
    assert "11. ttt" not in lots


async def test_an_instance_that_offers_no_json_is_reported_with_the_remedy():
    text = await refusal_of({"/search": Answer(status="403 FORBIDDEN")})

    assert text == (
        "127.0.0.1 answered 403 FORBIDDEN; add json to search.formats in the instance's settings.yml"
    )


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (Answer(body=b"<html>"), "the answer of 127.0.0.1 is not JSON; is it a searxng service?"),
        (Answer(body=b"[" * 50_000), "the answer of 127.0.0.1 is not JSON; is it a searxng service?"),
        (an_answer([]), "the answer of searxng holds no list of results; is the address that of searxng?"),
        (an_answer({"results": "x"}), "the answer of searxng holds no list of results"),
        (Answer(body=b" " * 200_000), "the answer of 127.0.0.1 is longer than tools.web.max_bytes allows"),
        (Answer(status="500 Oh"), "127.0.0.1 answered 500 Oh"),
        (hang_up, "the connection to 127.0.0.1 broke: "),
        (redirect("http://elsewhere/"), "it leads elsewhere; set tools.web.search_url to where it leads"),
    ],
)
async def test_what_is_no_answer_is_reported(behaviour: Behaviour, expected: str):
    assert expected in await refusal_of({"/search": behaviour})


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "check the key in BRAVE_KEY"), (429, "used up"), (500, ""), (403, "BRAVE_KEY")]
)
def test_brave_s_refusals_come_with_a_remedy(status: int, advice: str):
    reported = Brave("", "the-key", "BRAVE_KEY").advise(status)

    assert advice in reported
    assert "the-key" not in reported


async def test_a_slow_service_ends_with_the_time_limit():
    async with WebServer({"/search": drip}) as server:
        with pytest.raises(ToolError, match=r"searxng did not finish answering within 0\.3 s"):
            await searched(server, timeout_secs=0.3)
        await asyncio.wait_for(server.hung_up.wait(), 60)


@pytest.mark.parametrize("query", ["", "  \n", "x" * 401])
async def test_a_query_of_no_use_is_refused_before_it_is_sent(query: str):
    async with WebServer({}) as server:
        with pytest.raises(ToolError, match="query must have 1 to 400 characters"):
            await searched(server, query=query)

    assert server.connections == 0


def test_a_search_is_of_low_risk():
    assert WebSearch(SearXng("http://h"), max_bytes=1, timeout_secs=1).definition.risk is RiskLevel.LOW

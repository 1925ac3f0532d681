from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.infrastructure.tools.web.web_server import Answer, WebServer
from tests.support.headless_run import configure_for, environment, run
from tests.support.sse_server import Say, ScriptedCall, SseServer

RESULT = {"title": "Found", "url": "https://docs.site.net/", "content": "words"}


@pytest.mark.long
async def test_a_run_searches_where_the_person_said_and_fetches_nothing_private(tmp_path: Path):
    page = Answer(body=json.dumps({"results": [RESULT]}).encode(), type="application/json")
    async with WebServer({"/search": page}) as web, SseServer("openai-chat") as model:
        configure_for(tmp_path, model)
        model.script = [
            Say(
                calls=[
                    ScriptedCall("c1", "web_search", '{"query": "x"}'),
                    ScriptedCall("c2", "web_fetch", json.dumps({"url": f"http://127.0.0.1:{web.port}/search"})),
                ],
                stop="tool_use",
            ),
            Say(pieces=["done"]),
        ]
        settings = {"FETCH": "true", "SEARCH": "searxng", "SEARCH_URL": f"http://127.0.0.1:{web.port}"}
        env = environment(tmp_path, **{f"QUORUM_TOOLS__WEB__{key}": value for key, value in settings.items()})

        ended = await run(
            f"look at http://127.0.0.1:{web.port}/search", "--output", "json", cwd=tmp_path, env=env
        )

    assert ended.code == 0, ended.err
    assert [(call["tool"], call["outcome"]) for call in ended.report["calls"]] == [
        ("web_search", "ok"),
        ("web_fetch", "error"),
    ]
    reported = [message["content"] for message in model.bodies[1]["messages"] if message["role"] == "tool"]
    assert reported[0].startswith("1. Found\n   https://docs.site.net/\n   words")
    assert "127.0.0.1 is a loopback address; only public addresses may be fetched" in reported[1]
    assert web.targets == ["/search?q=x&format=json"]

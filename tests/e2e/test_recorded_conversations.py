"""Recorded conversations with parallel calls, played to the installed `quorum run`: what goes back is right."""

from __future__ import annotations

import json
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from tests.support.headless_run import configure, environment, run
from tests.support.recordings import FOLDER, needs_recordings, replay_module

pytestmark = needs_recordings


def configure_replay(home: Path, api: str, base_url: str) -> None:
    kind = {"messages": "anthropic", "responses": "openai", "chat": "openai-chat"}[api]
    path = "" if api == "messages" else "/v1"
    configure(
        home,
        f'[models]\ndecision = "replay/recorded"\n[providers.replay]\ntype = "{kind}"\n'
        f'base_url = "{base_url}{path}"\nmax_retries = 0\n',
    )


def declared_calls(conversation: dict[str, Any]) -> list[list[str]]:
    """The ids of the calls of each recorded answer that has calls."""
    turns = (turn["expect"] for turn in conversation["turns"])
    return [[call["id"] for call in expect["tool_calls"]] for expect in turns if expect.get("tool_calls")]


def results_in(body: dict[str, Any]) -> list[tuple[str, str, bool | None]]:
    """The tool results at the end of a request: id, text, and is_error where the API can say it."""
    if "input" in body:
        ending = list(takewhile(lambda i: i.get("type") == "function_call_output", reversed(body["input"])))
        return [(item["call_id"], item["output"], None) for item in reversed(ending)]
    if isinstance(body["messages"][-1]["content"], list):
        blocks = body["messages"][-1]["content"]
        return [
            (b["tool_use_id"], json.dumps(b["content"]), b.get("is_error", False))
            for b in blocks
            if b["type"] == "tool_result"
        ]
    last: list[tuple[str, str, bool | None]] = []
    for message in reversed(body["messages"]):
        if message["role"] != "tool":
            break
        last.insert(0, (message["tool_call_id"], message["content"], None))
    return last


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "anthropic-messages-stream-parallel-tools",
        "anthropic-messages-stream-text-tool-roundtrip",
        "anthropic-messages-stream-thinking-tool-roundtrip",
        "openai-chat-stream-parallel-tools-3turns",
        "openai-chat-stream-tool-roundtrip",
        "openai-responses-stream-tool-roundtrip",
        "openai-responses-stream-reasoning-text-tool",
        "openai-responses-parallel-tools-roundtrip",
        "deepseek-responses-stream-reasoning-tool-cache",
        "mistral-chat-stream-tool",
        "azure-chat-stream-tool",
    ],
)
@pytest.mark.parametrize("split", ["whole", "utf8"])
async def test_the_results_that_go_back_fit_the_recorded_calls(name: str, split: str, tmp_path: Path) -> None:
    file = FOLDER / "dev" / f"{name}.jsonl"
    conversation = json.loads(file.read_text(encoding="utf-8"))
    with replay_module().ReplayServer(str(file), split=split) as server:
        configure_replay(tmp_path, conversation["api"], server.base_url)

        ended = await run("go", "--output", "json", cwd=tmp_path, env=environment(tmp_path))

        asked = [request["body"] for request in server.requests]
    sent = [body for body in asked if body is not None]  # a server is asked for windows without one

    declared = declared_calls(conversation)
    reported = [call["call_id"] for call in ended.report["calls"]]
    assert reported == [id_ for ids in declared for id_ in ids]
    for ids, body in zip(declared, sent[1:], strict=False):
        results = results_in(body)
        assert [id_ for id_, _, _ in results] == ids
        for _, text, is_error in results:
            assert "there is no tool named" in text or "bad arguments" in text
            assert is_error in (True, None)
    assert len(sent) > len(declared)

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import (
    END_TURN,
    TOOL_USE,
    ContentBlock,
    LlmResponse,
    ReasoningBlock,
    StopKind,
    StopReason,
    TextBlock,
    ToolUseBlock,
)
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.anthropic.client import build_messages_history, build_messages_payload
from quorum.infrastructure.models.shared.api_client import ApiRequest
from tests.support.session_rigs import server_rig
from tests.support.sse_server import Say, ScriptedCall

TOOLS: tuple[JsonObject, ...] = (
    {"name": "a", "description": "d", "input_schema": {"type": "object", "properties": {"z": {}, "b": {}}}},
    {"name": "b", "description": "d", "input_schema": {"type": "object"}},
)
THOUGHT = ReasoningBlock(
    provider="p", payload={"type": "thinking", "thinking": "x", "signature": "s"}, text="x"
)
MOST_MARKS = 4
LOOKED_BACK = 20

_words = st.sampled_from(["", " ", "hello", "ü\n", "a longer text"])
_turns = st.lists(
    st.tuples(_words, st.booleans(), _words, st.sampled_from([0, 1, 2, 30]), st.booleans()),
    min_size=2,
    max_size=6,
)


def _marked_and_bare(payload: dict[str, Any]) -> tuple[list[str], list[int]]:
    """Every block in the order in which the cache sees them, without its mark, and where the marks were."""
    blocks = [
        *payload.get("tools", ()),
        *payload.get("system", ()),
        *({"role": m["role"], **block} for m in payload["messages"] for block in m["content"]),
    ]
    marks = [place for place, block in enumerate(blocks) if "cache_control" in block]
    bare = [json.dumps({k: v for k, v in block.items() if k != "cache_control"}) for block in blocks]
    return bare, marks


def _grow(conversation: Conversation, turns: list[Any]) -> Iterator[None]:
    """Lead a conversation; each step is a moment at which a request is sent."""
    number = 0
    for said, thinks, answered, calls, is_cut in turns:
        conversation.add_user(said or "go on")
        yield
        blocks: list[ContentBlock] = [THOUGHT] if thinks else []
        blocks += [TextBlock(answered)] if answered else []
        made = [ToolUseBlock(id=f"c{number + n}", name="a", input={"n": n}) for n in range(calls)]
        number += calls
        if is_cut:
            stop = StopReason(StopKind.OTHER, "interrupted")
            conversation.add_response(LlmResponse(content=tuple(blocks), stop_reason=stop))
            continue
        stop = TOOL_USE if made else END_TURN
        conversation.add_response(LlmResponse(content=(*blocks, *made), stop_reason=stop))
        if made:
            conversation.add_results(
                [ToolResultMessage(tool_use_id=c.id, tool_name="a", output=answered) for c in made]
            )
            yield


@given(turns=_turns)
def test_what_was_sent_once_stands_unchanged_at_the_beginning_of_every_later_request(turns: list[Any]) -> None:
    conversation = Conversation()
    before: list[str] = []
    marks_before: list[int] = []
    for _ in _grow(conversation, turns):
        request = ApiRequest(
            model="m", system="be brief", messages=conversation.messages, tools=TOOLS, tool_choice="auto"
        )
        blocks, marks = _marked_and_bare(
            build_messages_payload(request, history=build_messages_history("p"), max_tokens=9)
        )
        assert blocks[: len(before)] == before
        assert len(marks) <= MOST_MARKS
        assert set(marks[:2]) == {len(TOOLS) - 1, len(TOOLS)}
        assert marks[-1] == len(blocks) - 1
        # what was written to the cache is looked for only so far back from a mark
        assert not marks_before or any(0 <= mark - marks_before[-1] <= LOOKED_BACK for mark in marks)
        before, marks_before = blocks, marks


@given(turns=_turns)
def test_no_block_is_marked_that_the_api_would_not_cache(turns: list[Any]) -> None:
    conversation = Conversation()
    for _ in _grow(conversation, turns):
        request = ApiRequest(
            model="m", system="s", messages=conversation.messages, tools=(), tool_choice="auto"
        )
        payload: dict[str, Any] = build_messages_payload(
            request, history=build_messages_history("p"), max_tokens=9
        )
        marked = [b for m in payload["messages"] for b in m["content"] if "cache_control" in b]
        assert all(block["type"] in ("text", "tool_result") for block in marked)
        assert all(block.get("text", "x").strip() for block in marked)


@pytest.mark.parametrize("rounds", [3])
async def test_the_bytes_of_the_prefix_are_the_same_from_request_to_request_and_usage_tells_of_the_cache(
    rounds: int,
) -> None:
    async with server_rig("anthropic") as rig:
        rig.script(
            *[Say(calls=(ScriptedCall(f"c{n}", "a", '{"z": 1}'),), stop="tool_use") for n in range(rounds)],
            Say(pieces=("done",)),
        )
        answer = await rig.session.send_with_tools("go", TOOLS, on_event=lambda _event: None)
        while calls := answer.tool_calls():
            results = [
                ToolResultMessage(tool_use_id=c.native_id, tool_name=c.tool_name, output="ok") for c in calls
            ]
            answer = await rig.session.send_tool_results(results, on_event=lambda _event: None)
        sent = [_marked_and_bare(body)[0] for body in rig.server.bodies]
    assert len(sent) == rounds + 1
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(sent))
    assert (answer.usage.cache_read, answer.usage.cache_write, answer.usage.input) == (5, 3, 7)

from __future__ import annotations

from typing import Any

import pytest

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.response import ReasoningBlock, StreamedReasoning, StreamEvent, Usage
from tests.support.session_rigs import server_rig
from tests.support.sse_server import SIGNATURE, Dialect, Say, ScriptedCall

THOUGHT = "Ünder \u2028 the\\sea 🐟"
CALL = ScriptedCall("call_a", "f", "{}")
TOOLS = ({"name": "f", "description": "d", "input_schema": {"type": "object"}},)


@pytest.mark.parametrize(
    ("dialect", "sent_back"),
    [
        ("anthropic", {"type": "thinking", "thinking": THOUGHT, "signature": SIGNATURE}),
        (
            "openai",
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": THOUGHT}],
                "encrypted_content": SIGNATURE,
            },
        ),
        ("openai-chat", {"reasoning_content": THOUGHT}),
    ],
)
async def test_reasoning_is_shown_and_goes_back_byte_for_byte(
    dialect: Dialect, sent_back: dict[str, Any]
) -> None:
    events: list[StreamEvent] = []
    async with server_rig(dialect) as rig:
        rig.script(Say(reasoning=THOUGHT, calls=(CALL,), stop="tool_use"), Say(pieces=("ok",)))
        response = await rig.session.send_with_tools("think", TOOLS, on_event=events.append)
        result = ToolResultMessage(tool_use_id="call_a", tool_name="f", output="1")
        await rig.session.send_tool_results([result], on_event=events.append)
        sent = rig.last_body
    assert "".join(e.text for e in events if isinstance(e, StreamedReasoning)) == THOUGHT
    assert next(b.text for b in response.content if isinstance(b, ReasoningBlock)) == THOUGHT
    if dialect == "openai":
        assert sent["input"][1] == sent_back
        return
    answer = next(m for m in sent["messages"] if m["role"] == "assistant")
    if dialect == "anthropic":
        assert answer["content"][0] == sent_back
    else:
        assert sent_back.items() <= answer.items()


@pytest.mark.parametrize(
    ("dialect", "usage"),
    [
        ("anthropic", Usage(input=7, output=11, cache_read=5, cache_write=3)),
        ("openai", Usage(input=7, output=11, cache_read=5, cache_write=3, reasoning=2)),
        ("openai-chat", Usage(input=7, output=11, cache_read=5, reasoning=2)),
    ],
)
async def test_cached_tokens_are_counted_apart(dialect: Dialect, usage: Usage) -> None:
    async with server_rig(dialect) as rig:
        rig.script(Say(pieces=("ok",)))
        response = await rig.session.send("hi")
    assert response.usage == usage
    assert response.model == "scripted"


@pytest.mark.parametrize(
    ("dialect", "limit", "sent"),
    [
        ("anthropic", None, 16384),
        ("anthropic", 99, 99),
        ("openai", None, None),
        ("openai", 99, 99),
        ("openai-chat", None, None),
        ("openai-chat", 99, 99),
    ],
)
async def test_the_bound_of_an_answer_is_sent_where_it_is_set_or_demanded(
    dialect: Dialect, limit: int | None, sent: int | None
) -> None:
    async with server_rig(dialect, max_output_tokens=limit) as rig:
        rig.script(Say(pieces=("ok",)))
        await rig.session.send("hi")
        field = "max_output_tokens" if dialect == "openai" else "max_tokens"
        assert rig.last_body.get(field) == sent

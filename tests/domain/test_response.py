from __future__ import annotations

import pytest

from quorum.domain.conversation.response import (
    END_TURN,
    MAX_TOKENS,
    LlmResponse,
    StopKind,
    StopReason,
    TextBlock,
    ToolUseBlock,
)
from tests.support.builders import a_call, calls_response


@pytest.mark.requirement("E09")
def test_a_response_is_built_from_text_and_gives_its_text_joined() -> None:
    built = LlmResponse.from_text("a", model="local/m")
    parted = LlmResponse(
        content=(TextBlock("a"), ToolUseBlock(id="1", name="t", input={}), TextBlock("b")), stop_reason=END_TURN
    )

    assert (built.content, built.stop_reason, built.model) == ((TextBlock("a"),), END_TURN, "local/m")
    assert parted.text_content() == "ab"


@pytest.mark.requirement("E09")
@pytest.mark.requirement("E11")
def test_a_response_gives_its_calls_with_name_arguments_and_native_id() -> None:
    response = calls_response(a_call("read", {"path": "a"}, id_="one"), a_call("list", id_="two"))

    assert response.has_tool_calls()
    assert [(c.tool_name, c.arguments, c.native_id, c.reasoning) for c in response.tool_calls()] == [
        ("read", {"path": "a"}, "one", None),
        ("list", {}, "two", None),
    ]


@pytest.mark.requirement("E10")
@pytest.mark.parametrize("stop", [END_TURN, MAX_TOKENS, StopReason(StopKind.OTHER, "content_filter")])
def test_a_response_that_did_not_stop_for_tools_has_no_calls(stop: StopReason) -> None:
    response = LlmResponse(content=(ToolUseBlock(id="1", name="t", input={}),), stop_reason=stop)

    assert not response.has_tool_calls()
    assert response.tool_calls() == ()


@pytest.mark.parametrize(
    ("text", "has_words"),
    [
        ("<think>hm</think>", False),
        ("\n<Thinking>a\nb</Thinking> <think>c</think>\n\u200b", False),
        ("<think>it never ends", False),
        ("<think>hm</think>\n<|im_end|>", False),
        ("<think>hm</think>\ndone", True),
        ("<think>a</think> b <think>c</think>", True),
        ("use the <think> tag", True),
        ("<thinker>a</thinker>", True),
        ("<think" + ">" * 10, False),
    ],
)
def test_thoughts_in_a_text_are_no_words_of_an_answer(text: str, has_words: bool) -> None:
    response = LlmResponse.from_text(text, model="local/m")

    assert response.has_words is has_words
    assert (response.lack is None) is has_words
    assert has_words or response.lack == "it held reasoning alone, without text or a call"

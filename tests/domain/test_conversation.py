from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import AssistantMessage, Conversation, ToolResults, UserMessage
from quorum.domain.conversation.response import (
    END_TURN,
    MAX_TOKENS,
    REFUSAL,
    LlmResponse,
    StopReason,
    TextBlock,
    ToolUseBlock,
)
from quorum.domain.errors import ConversationError
from tests.support.builders import a_call, calls_response


def result(id_: str) -> ToolResultMessage:
    return ToolResultMessage(tool_use_id=id_, tool_name="t", output="")


def with_open_calls(*ids: str) -> Conversation:
    conversation = Conversation()
    conversation.add_user("go")
    conversation.add_response(calls_response(*(a_call("t", id_=id_) for id_ in ids)))
    return conversation


@pytest.mark.parametrize("given_ids", [["b", "a"], ["a"], ["a", "b", "c"], ["a", "a"], []])
def test_results_other_than_those_of_the_open_calls_in_order_are_refused(given_ids: list[str]) -> None:
    conversation = with_open_calls("a", "b")

    with pytest.raises(ConversationError):
        conversation.add_results([result(id_) for id_ in given_ids])

    assert [call.native_id for call in conversation.open_calls] == ["a", "b"]


def test_results_in_order_close_the_calls() -> None:
    conversation = with_open_calls("a", "b")

    conversation.add_results([result("a"), result("b")])

    assert conversation.open_calls == ()


def test_nothing_else_may_follow_open_calls() -> None:
    conversation = with_open_calls("a")

    with pytest.raises(ConversationError):
        conversation.add_user("hello?")
    with pytest.raises(ConversationError):
        conversation.add_response(LlmResponse.from_text("hm"))


def test_results_without_open_calls_are_refused() -> None:
    with pytest.raises(ConversationError):
        Conversation().add_results([result("a")])


def test_one_id_for_two_calls_is_refused() -> None:
    with pytest.raises(ConversationError):
        with_open_calls("a", "a")


@pytest.mark.parametrize("stop", [MAX_TOKENS, REFUSAL, END_TURN])
def test_a_call_of_an_answer_that_did_not_stop_for_tools_is_dropped(stop: StopReason) -> None:
    cut = LlmResponse(content=(TextBlock("I will"), ToolUseBlock(id="a", name="t", input={})), stop_reason=stop)
    conversation = Conversation()
    conversation.add_user("go")

    conversation.add_response(cut)

    assert cut.tool_calls() == ()
    assert conversation.messages[-1] == AssistantMessage(
        LlmResponse(content=(TextBlock("I will"),), stop_reason=stop)
    )


def test_an_answer_without_content_leaves_no_empty_message() -> None:
    conversation = Conversation()
    conversation.add_user("go")

    conversation.add_response(LlmResponse(content=(TextBlock(""),), stop_reason=END_TURN))

    assert conversation.messages == (UserMessage("go"),)


STEPS = st.lists(st.sampled_from(["user", "text", "calls", "cut", "results", "wrong"]), max_size=30)


@given(STEPS)
def test_whatever_is_tried_every_call_is_followed_by_its_results(steps: list[str]) -> None:
    conversation = Conversation()
    for number, step in enumerate(steps):
        open_ids = [call.native_id for call in conversation.open_calls]
        try:
            match step:
                case "user":
                    conversation.add_user("u")
                case "text":
                    conversation.add_response(LlmResponse.from_text("t"))
                case "calls":
                    conversation.add_response(
                        calls_response(a_call("t", id_=f"{number}a"), a_call("t", id_=f"{number}b"))
                    )
                case "cut":
                    block = ToolUseBlock(id=f"{number}", name="t", input={})
                    conversation.add_response(LlmResponse(content=(block,), stop_reason=MAX_TOKENS))
                case "results":
                    conversation.add_results([result(id_) for id_ in open_ids])
                case _:
                    conversation.add_results([result(id_) for id_ in reversed(open_ids)][:1])
        except ConversationError:
            continue

    for message, following in pairwise(conversation.messages):
        if isinstance(message, AssistantMessage) and message.response.has_tool_calls():
            assert isinstance(following, ToolResults)
            assert [r.tool_use_id for r in following.results] == [
                call.native_id for call in message.response.tool_calls()
            ]

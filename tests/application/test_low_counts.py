"""A server that cuts the first request of a session is noticed by what it counts."""

from __future__ import annotations

import pytest

from quorum.application.context_manager import ContextGauge
from quorum.application.event_bus import EventBus
from quorum.application.turn.dialogue import Dialogue
from quorum.application.turn.run_tally import RunTally
from quorum.application.turn.switchable_session import SwitchableSession
from quorum.application.turn.tool_prefix import ToolPrefix
from quorum.domain.conversation.cost import PriceTable
from quorum.domain.conversation.history import AssistantMessage, Conversation, UserMessage
from quorum.domain.conversation.response import END_TURN, LlmResponse, TextBlock, Usage
from quorum.domain.events.event import NoticeGiven
from quorum.domain.settings import ContextTable
from tests.application.test_run_agent import AlwaysCompacts
from tests.support.fake_ports import RecordingObserver
from tests.support.fake_providers import FakeProviders
from tests.support.fake_session import FakeSession

HELLO = AssistantMessage(LlmResponse.from_text("hello"))
TOOL_BYTES = 16_800


def explain(tokens: int, *later: UserMessage | AssistantMessage, prompt: str = "hi") -> str:
    conversation = Conversation([UserMessage(prompt), HELLO, *later])
    gauge = ContextGauge(
        conversation, window=lambda _model: None, budget=ContextTable(), tool_bytes=lambda: TOOL_BYTES
    )
    return gauge.explain_low_count("ollama/qwen", tokens)


def test_a_count_far_below_the_size_of_the_first_request_is_explained_with_the_setting() -> None:
    assert explain(826) == (
        "ollama/qwen counted 826 of some 4,204 tokens of the first request: its server drops tools or cuts the "
        "beginning. Start it with a larger context, and set window to that size in "
        '[context_budget.models."ollama/qwen"]'
    )


@pytest.mark.parametrize("tokens", [0, 15, 1_700, 4_200, 9_000])
def test_a_count_that_can_be_true_or_is_none_is_not(tokens: int) -> None:
    assert explain(tokens) == ""


def test_only_the_first_answer_of_a_conversation_is_looked_at() -> None:
    assert explain(826, UserMessage("and?"), HELLO) == ""


async def test_the_person_reads_it_once() -> None:
    conversation, seen = Conversation(), RecordingObserver()
    answers = [
        LlmResponse(content=(TextBlock("yes"),), stop_reason=END_TURN, usage=Usage(input=826, output=9))
        for _ in range(2)
    ]
    session = FakeSession(list(answers), conversation=conversation)
    gauge = ContextGauge(
        conversation, window=lambda _model: None, budget=ContextTable(), tool_bytes=lambda: TOOL_BYTES
    )

    class Keeper(AlwaysCompacts):
        def explain_low_count(self, model: str, usage: Usage) -> str:
            return gauge.explain_low_count(model, usage.context - usage.output)

    way = SwitchableSession(session, open_exchange=FakeProviders().open_exchange)
    events = EventBus([seen])
    dialogue = Dialogue(
        session=way,
        conversation=conversation,
        tools=ToolPrefix(way, schemas=tuple, events=events),
        events=events,
        prices=PriceTable({}),
        context_keeper=Keeper(),
    )
    await dialogue.say("one", RunTally("s"))
    await dialogue.say("two", RunTally("s"))

    (warning,) = seen.of(NoticeGiven)
    assert "counted 826 of some 4,205 tokens" in warning.message

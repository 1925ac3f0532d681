"""Damaged streams led through the adapters' own reading, and what must hold of whatever comes out."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from functools import cache
from random import Random

from quorum.domain.calls.tool import ToolCall, ToolResultMessage
from quorum.domain.conversation.history import Conversation, UserMessage, find_unpaired_call
from quorum.domain.conversation.response import Delta, LlmResponse, StreamEvent, TextBlock, Usage
from quorum.domain.errors import ProviderError
from quorum.infrastructure.models.anthropic.answer import MessagesAnswer
from quorum.infrastructure.models.anthropic.client import build_messages_history, build_messages_payload
from quorum.infrastructure.models.openai_chat.answer import ChatAnswer
from quorum.infrastructure.models.openai_chat.payload import build_chat_history, build_chat_payload
from quorum.infrastructure.models.openai_responses.client import ResponsesAnswer
from quorum.infrastructure.models.openai_responses.payload import (
    build_responses_history,
    build_responses_payload,
)
from quorum.infrastructure.models.shared.answer_reading import AnswerReader, read_answer
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.models.shared.failures import Failures
from tests.support.request_rules import read_chat, read_messages, read_responses
from tests.support.sse_server import Dialect
from tests.support.stream_mutations import Damage, Source
from tests.support.strict_reading import HeldCall, canonical, held_calls

FAILURES = Failures(provider="p", address="http://h", key_env=None, secret="", timeout_secs=1.0)
DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai", "openai-chat")
_PIECES = (1_000_000, 1_000_000, 1000, 64, 7)


def answer_of(dialect: Dialect, on_event: Callable[[StreamEvent], None]) -> AnswerReader:
    """The adapter's reader of an answer of this dialect."""
    match dialect:
        case "anthropic":
            return MessagesAnswer("p", on_event, FAILURES)
        case "openai":
            return ResponsesAnswer("p", on_event, FAILURES)
        case "openai-chat":
            return ChatAnswer("p", on_event, FAILURES)


async def read_body(
    dialect: Dialect, body: bytes, size: int = 64, content_type: str = "text/event-stream"
) -> tuple[LlmResponse | ProviderError, list[StreamEvent]]:
    """What the adapter makes of a body that comes in pieces of so many bytes."""
    events: list[StreamEvent] = []
    answer = answer_of(dialect, events.append)
    try:
        return await read_answer(_pieces(body, size), content_type, answer, FAILURES), events
    except ProviderError as error:
        return error, events


async def _pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def fuzz(damages: Iterable[Damage]) -> Counter[str]:
    """Lead all of them through; how many ended how. Raises AssertionError that tells the damage."""

    async def all_of_them() -> Counter[str]:
        tally: Counter[str] = Counter()
        for damage in damages:
            tally[await _one(damage)] += 1
        return tally

    return asyncio.run(all_of_them())


async def _one(damage: Damage) -> str:
    size = Random(damage.description).choice(_PIECES)
    try:
        outcome, events = await read_body(damage.source.dialect, damage.body, size)
        return _checked(damage, outcome, events)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise AssertionError(
            f"{problem}\n{damage.description}\n{damage.body.decode('utf-8', 'replace')}"
        ) from error


def _checked(damage: Damage, outcome: LlmResponse | ProviderError, events: list[StreamEvent]) -> str:
    if isinstance(outcome, ProviderError):
        assert str(outcome).isprintable(), "the sentence holds control characters"
        assert not (outcome.retryable and any(isinstance(event, Delta) for event in events)), "shown twice"
        return "error"
    _check_calls(damage, outcome.tool_calls())
    _check_form(outcome)
    _check_history(damage.source.dialect, outcome)
    return "calls" if outcome.has_tool_calls() else "answer"


def _check_calls(damage: Damage, calls: tuple[ToolCall, ...]) -> None:
    """No call may run that the streams did not hold whole."""
    undamaged = [call for source in (damage.source, *damage.others) for call in _original(source)]
    held = set(undamaged) if damage.exact else {*undamaged, *held_calls(damage.source.dialect, damage.body)}
    for call in calls:
        assert call.native_id, "a call without an id"
        if call.parse_error is None:
            found = HeldCall(call.tool_name, canonical(call.arguments))
            assert found in held, f"{found} would run, but the stream holds {held}"
    if damage.exact:
        runnable = [call.tool_name for call in calls if call.parse_error is None]
        extra = Counter(runnable) - Counter(call.name for call in undamaged)
        assert not extra, f"{extra} would run more often than was asked"


@cache
def _original(source: Source) -> tuple[HeldCall, ...]:
    return tuple(held_calls(source.dialect, source.body))


def _check_form(response: LlmResponse) -> None:
    for block in response.content:
        if isinstance(block, TextBlock):
            assert block.text, "an empty block of text"
            block.text.encode()
    usage = response.usage
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning)
    assert all(0 <= count < 2**63 for count in counts), usage
    assert isinstance(usage + usage, Usage)


def _check_history(dialect: Dialect, response: LlmResponse) -> None:
    """The answer fits the conversation, and the conversation every provider."""
    conversation = Conversation([UserMessage("go")])
    conversation.add_response(response)
    assert conversation.open_calls == response.tool_calls()
    if conversation.open_calls:
        conversation.add_results(
            [
                ToolResultMessage(tool_use_id=call.native_id, tool_name=call.tool_name, output="ok")
                for call in conversation.open_calls
            ]
        )
    else:
        conversation.add_user("go on")
    assert find_unpaired_call(conversation.messages) is None
    request = ApiRequest(model="m", system="", messages=conversation.messages, tools=(), tool_choice="auto")
    owner = {other: "p" if other == dialect else "q" for other in DIALECTS}
    read_messages(
        build_messages_payload(request, history=build_messages_history(owner["anthropic"]), max_tokens=9),
        thinking_first=False,
    )
    read_chat(
        build_chat_payload(
            request,
            history=build_chat_history(owner["openai-chat"]),
            max_tokens=None,
            max_tokens_field="max_tokens",
        )
    )
    read_responses(
        build_responses_payload(
            request, history=build_responses_history(owner["openai"]), max_tokens=None, wants_reasoning=True
        )
    )

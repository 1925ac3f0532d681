"""Streams damaged in every way: a well-formed answer or one error, and never a call that was cut off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.conversation import Conversation
from domain.errors import ProviderError, ProviderErrorKind
from domain.response import LlmResponse, ToolUseBlock
from domain.stream import Delta, StreamEvent
from infrastructure.providers.anthropic_answer import MessagesAnswer
from infrastructure.providers.exchange import Answer, read_answer
from infrastructure.providers.failures import Failures
from infrastructure.providers.openai_answer import ChatAnswer
from infrastructure.providers.responses_answer import ResponsesAnswer
from tests.support.recordings import FOLDER, needs_recordings
from tests.support.sse_server import Dialect, Say, ScriptedCall, scripted_events

DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai", "openai-chat")
RECORDED: dict[Dialect, str] = {
    "anthropic": "anthropic-messages-stream-parallel-tools",
    "openai": "openai-responses-stream-reasoning-text-tool",
    "openai-chat": "openai-chat-stream-parallel-tools-3turns",
}
# what must have come before any call of the stream may be run
END_MARKS: dict[Dialect, tuple[bytes, ...]] = {
    "anthropic": (b'"stop_reason"',),
    "openai": (b"response.completed",),
    "openai-chat": (b'"finish_reason"', b"[DONE]"),
}
SCRIPTED = Say(
    reasoning="Let me see. 🐟",
    pieces=("I will ", "look at ä."),
    calls=(
        ScriptedCall("call_a", "read_file", '{"path": "ä/b.py"}'),
        ScriptedCall("call_b", "list_files", '{"path": "."}'),
    ),
    stop="tool_use",
)
Mutations = list[tuple[Callable[[bytes, int, int], bytes], int, int]]
FAILURES = Failures(provider="p", address="http://h", key_env=None, secret="", timeout_secs=1.0)


def _answer(dialect: Dialect, on_event: Callable[[StreamEvent], None]) -> Answer:
    match dialect:
        case "anthropic":
            return MessagesAnswer("p", on_event, FAILURES)
        case "openai":
            return ResponsesAnswer("p", on_event, FAILURES)
        case "openai-chat":
            return ChatAnswer("p", on_event, FAILURES)


async def _pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def _read(
    dialect: Dialect, body: bytes, size: int = 64, content_type: str = "text/event-stream"
) -> tuple[LlmResponse | ProviderError, list[StreamEvent]]:
    events: list[StreamEvent] = []

    async def reading() -> LlmResponse:
        async with asyncio.timeout(10):
            answer = _answer(dialect, events.append)
            return await read_answer(_pieces(body, size), content_type, answer, FAILURES)

    try:
        return asyncio.run(reading()), events
    except ProviderError as error:
        return error, events


def _cut(body: bytes, at: int, _other: int) -> bytes:
    return body[: at % len(body)]


def _flip(body: bytes, at: int, other: int) -> bytes:
    place = at % len(body)
    return body[:place] + bytes([body[place] ^ (1 << other % 8)]) + body[place + 1 :]


def _drop(body: bytes, at: int, _other: int) -> bytes:
    events = body.split(b"\n\n")
    del events[at % len(events)]
    return b"\n\n".join(events)


def _swap(body: bytes, at: int, other: int) -> bytes:
    events = body.split(b"\n\n")
    one, two = at % len(events), other % len(events)
    events[one], events[two] = events[two], events[one]
    return b"\n\n".join(events)


def _repeat(body: bytes, at: int, other: int) -> bytes:
    events = body.split(b"\n\n")
    events.insert(other % len(events), events[at % len(events)])
    return b"\n\n".join(events)


def _lose_bytes(body: bytes, at: int, other: int) -> bytes:
    place = at % len(body)
    return body[:place] + body[place + 1 + other % 40 :]


_KINDS = (_cut, _flip, _drop, _swap, _repeat, _lose_bytes)
_MUTATIONS = st.lists(
    st.tuples(st.sampled_from(_KINDS), st.integers(0, 2**20), st.integers(0, 2**20)), min_size=1, max_size=4
)


def _mutated(body: bytes, mutations: Mutations) -> bytes:
    for mutate, at, other in mutations:
        body = mutate(body, at, other) if body else body
    return body


@cache
def _scripted(dialect: Dialect) -> bytes:
    return b"".join(scripted_events(dialect, SCRIPTED))


@cache
def _recorded(dialect: Dialect) -> bytes:
    text = (FOLDER / "dev" / f"{RECORDED[dialect]}.jsonl").read_text(encoding="utf-8")
    body: str = json.loads(text)["turns"][0]["response"]["body"]
    return body.encode()


def _check(dialect: Dialect, body: bytes, size: int) -> None:
    outcome, events = _read(dialect, body, size)
    if isinstance(outcome, ProviderError):
        assert str(outcome).isprintable()
        assert not (outcome.retryable and any(isinstance(event, Delta) for event in events))
        return
    conversation = Conversation()
    conversation.add_response(outcome)
    assert conversation.open_calls == outcome.tool_calls()
    for call in outcome.tool_calls():
        assert call.tool_name
        assert call.native_id
        assert isinstance(call.arguments, dict)
        assert any(mark in body for mark in END_MARKS[dialect])
    json.dumps([block.payload for block in outcome.content if hasattr(block, "payload")])


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutations=_MUTATIONS, size=st.sampled_from([1, 7, 64, 100_000]))
def test_a_damaged_stream_is_an_answer_or_one_error(
    dialect: Dialect,
    mutations: Mutations,
    size: int,
) -> None:
    _check(dialect, _mutated(_scripted(dialect), mutations), size)


@needs_recordings
@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutations=_MUTATIONS)
def test_a_damaged_recording_is_an_answer_or_one_error(dialect: Dialect, mutations: Mutations) -> None:
    _check(dialect, _mutated(_recorded(dialect), mutations), 1000)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_cut_before_its_end_mark_is_damaged_wherever_it_is_cut(dialect: Dialect) -> None:
    body = _scripted(dialect)
    end = min(body.rindex(mark) for mark in END_MARKS[dialect])
    for length in range(0, body.rindex(b"data:", 0, end), 5):
        outcome, _ = _read(dialect, body[:length])
        assert isinstance(outcome, ProviderError), length
        assert outcome.kind is ProviderErrorKind.DAMAGED_STREAM


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_undamaged_stream_holds_its_calls(dialect: Dialect) -> None:
    outcome, _ = _read(dialect, _scripted(dialect))
    assert isinstance(outcome, LlmResponse)
    assert [call.arguments for call in outcome.tool_calls()] == [{"path": "ä/b.py"}, {"path": "."}]


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=100, deadline=None)
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "type",
                        "content",
                        "choices",
                        "output",
                        "message",
                        "delta",
                        "item",
                        "error",
                        "index",
                        "status",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_in_place_of_an_answer_is_an_answer_or_one_error(dialect: Dialect, value: object) -> None:
    body = json.dumps(value).encode()
    for content_type in ("application/json", "text/event-stream"):
        framed = body if content_type == "application/json" else b"data: " + body + b"\n\n"
        outcome, _ = _read(dialect, framed, content_type=content_type)
        calls = [] if isinstance(outcome, ProviderError) else outcome.content
        assert not any(isinstance(block, ToolUseBlock) and not block.name for block in calls)

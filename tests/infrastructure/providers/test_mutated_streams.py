"""Streams damaged in every way: a well-formed answer or one error, and never a call that was cut off."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.conversation.response import LlmResponse, StreamEvent, ToolUseBlock
from quorum.domain.errors import ProviderError, ProviderErrorKind
from tests.support.examples import examples
from tests.support.sse_server import Dialect, Say, ScriptedCall, scripted_events
from tests.support.stream_fuzz import DIALECTS, fuzz, read_body
from tests.support.stream_mutations import Damage, Source, damages, sources

DAMAGES = 2_500  # of each dialect; benchmarks/fuzz_streams.py leads as many through as are asked for
# what must have come before any call of the stream may be run
END_MARKS: dict[Dialect, tuple[bytes, ...]] = {
    "anthropic": (b'"stop_reason"',),
    "openai": (b"response.completed",),
    "openai-chat": (b'"finish_reason"', b"[DONE]"),
}


def _read(
    dialect: Dialect, body: bytes, content_type: str = "text/event-stream"
) -> tuple[LlmResponse | ProviderError, list[StreamEvent]]:
    async def reading() -> tuple[LlmResponse | ProviderError, list[StreamEvent]]:
        async with asyncio.timeout(60):
            return await read_body(dialect, body, 64, content_type)

    return asyncio.run(reading())


def _with_calls(dialect: Dialect) -> Source:
    return sources(dialect)[0]


def _damage(dialect: Dialect, body: bytes, *others: Source) -> Damage:
    return Damage(_with_calls(dialect), body, "by hand", exact=True, others=others)


def _joined(events: list[bytes]) -> bytes:
    return b"".join(event + b"\n\n" for event in events)


@pytest.mark.long
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_damaged_stream_is_an_answer_or_one_error_and_runs_no_call_it_does_not_hold(dialect: Dialect) -> None:
    tally = fuzz(damages(dialect, 0, DAMAGES))
    assert min(tally[end] for end in ("error", "answer", "calls")) > DAMAGES / 100


@pytest.mark.long
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_cut_at_any_byte_runs_all_of_its_calls_or_none(dialect: Dialect) -> None:
    body = _with_calls(dialect).body
    fuzz(_damage(dialect, body[:length]) for length in range(len(body)))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_that_lacks_or_repeats_any_one_event_runs_no_changed_call(dialect: Dialect) -> None:
    events = _with_calls(dialect).events
    lacking = [[*events[:at], *events[at + 1 :]] for at in range(len(events))]
    repeating = [[*events[:at], events[at], *events[at:]] for at in range(len(events))]
    swapped = [[*events[:at], events[at + 1], events[at], *events[at + 2 :]] for at in range(len(events) - 1)]
    fuzz(_damage(dialect, _joined(damaged)) for damaged in (*lacking, *repeating, *swapped))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_two_answers_in_one_stream_are_never_made_into_one_call(dialect: Dialect) -> None:
    one, two = sources(dialect)[0], sources(dialect)[1]
    after_each_other = [
        _joined([*one.events[:at], *two.events, *one.events[at:]]) for at in range(len(one.events))
    ]
    fuzz(_damage(dialect, body, two) for body in after_each_other)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_cut_before_its_end_mark_is_damaged_wherever_it_is_cut(dialect: Dialect) -> None:
    body = _with_calls(dialect).body
    end = min(body.rindex(mark) for mark in END_MARKS[dialect])
    for length in range(0, body.rindex(b"data:", 0, end), 5):
        outcome, _ = _read(dialect, body[:length])
        assert isinstance(outcome, ProviderError), length
        assert outcome.kind is ProviderErrorKind.DAMAGED_STREAM


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_undamaged_stream_holds_its_calls(dialect: Dialect) -> None:
    outcome, _ = _read(dialect, _with_calls(dialect).body)
    assert isinstance(outcome, LlmResponse)
    assert [call.arguments for call in outcome.tool_calls()] == [{"path": "ä/b.py"}, {"path": "."}]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("wording", "other"),
    [
        (b"data: {", b"data:{"),
        (b"data: {", b"data: {\ndata: "),
        (b"data: {", b"id: 1\ndata: {"),
        (b"data: {", b": still here\ndata: {"),
        (b"\n\n", b"\nretry: 10\nevent\n\n"),
        (b"\n\n", b"\nunknown: field\n\n: still here\n\n"),
    ],
)
def test_a_stream_that_says_the_same_in_other_fields_holds_the_same_calls(
    dialect: Dialect, wording: bytes, other: bytes
) -> None:
    outcome, _ = _read(dialect, _with_calls(dialect).body.replace(wording, other))
    assert isinstance(outcome, LlmResponse)
    assert [call.arguments for call in outcome.tool_calls()] == [{"path": "ä/b.py"}, {"path": "."}]


FIRST_HALF: dict[Dialect, bytes] = {
    "anthropic": rb'"partial_json": "{\"path\": "',
    "openai": rb'"delta": "{\"path\": "',
    "openai-chat": rb'"arguments": "{\"path\": "',
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", [b"7", b'["x"]', b"true"])
def test_a_piece_of_a_call_that_is_no_text_spoils_the_answer(dialect: Dialect, kind: bytes) -> None:
    half = FIRST_HALF[dialect]
    events = _with_calls(dialect).events
    at = next(number for number, event in enumerate(events) if half in event)
    odd = events[at].replace(half, half.partition(b" ")[0] + b" " + kind)
    outcome, _ = _read(dialect, _joined([*events[: at + 1], odd, *events[at + 1 :]]))
    assert isinstance(outcome, ProviderError)
    assert outcome.kind is ProviderErrorKind.DAMAGED_STREAM


ODD_ARGUMENTS = ['{"n": 1e999}', '{"n": NaN}', '{"a":' * 500 + "1" + "}" * 500, '{"a": "\\ud83d"}']


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("arguments", ODD_ARGUMENTS, ids=["too large", "no number", "too deep", "no character"])
def test_arguments_that_could_never_be_sent_back_are_not_executed(dialect: Dialect, arguments: str) -> None:
    said = Say(calls=(ScriptedCall("call_a", "read_file", arguments),), stop="tool_use")
    outcome, _ = _read(dialect, b"".join(scripted_events(dialect, said)))
    assert isinstance(outcome, LlmResponse)
    call, *others = outcome.tool_calls()
    assert not others
    assert call.parse_error is not None


@pytest.mark.parametrize("dialect", DIALECTS)
@examples(100)
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

"""The past of a conversation as one text, for a model that is to summarise it: within any bound of bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import assert_never

from quorum.domain.conversation.compaction import is_summary, keep_head_and_tail
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.text.json_text import count_utf8_bytes, make_encoder
from quorum.domain.text.json_value import JsonObject, JsonValue

# How many bytes each text in it may have, tried one after the other until all fits.
_CAPS = (16_000, 4_000, 2_000, 1_000, 500, 250, 120)
_MARKS_BYTES = 80
_DEEPEST = 6
_JSON = make_encoder()


def render_transcript(messages: Sequence[Message], most_bytes: int) -> str:
    """What was said and done, one JSON object a line, between two marks that hold its own digest, so that no
    text in it can end it. About `most_bytes` bytes: long texts are cut, then the oldest lines are left out.
    """
    room = max(most_bytes - _MARKS_BYTES, 0)
    for cap in _CAPS:
        lines = [line for message in messages for line in _render_lines(message, cap)]
        if sum(count_utf8_bytes(line) + 1 for line in lines) <= room:
            return _mark_lines(lines)
    return _mark_lines(_select_fitting_lines(messages, room))


def _select_fitting_lines(messages: Sequence[Message], room: int) -> list[str]:
    """A former summary, as it alone tells of what was before it, and of all else the newest lines."""
    first = [line for message in messages if is_summary(message) for line in _render_lines(message, room // 3)][
        -1:
    ]
    rest = [
        line for message in messages if not is_summary(message) for line in _render_lines(message, _CAPS[-1])
    ]
    room -= sum(count_utf8_bytes(line) + 1 for line in first)
    kept: list[str] = []
    for line in reversed(rest):
        room -= count_utf8_bytes(line) + 1
        if room < 0:
            break
        kept.append(line)
    left_out = [_JSON.encode({"left_out": f"{len(rest) - len(kept)} earlier entries"})]
    return [*first, *left_out, *reversed(kept)]


def _mark_lines(lines: Sequence[str]) -> str:
    text = "\n".join(lines).encode("utf-8", "replace").decode()
    mark = sha256(text.encode()).hexdigest()[:16]
    return f"<<<record {mark}\n{text}\n{mark} record>>>"


def _render_lines(message: Message, cap: int) -> list[str]:
    return [_JSON.encode(entry) for entry in _list_entries(message, cap)]


def _list_entries(message: Message, cap: int) -> Iterator[JsonObject]:
    match message:
        case UserMessage():
            said = "tool" if message.of_call else "person"
            who = "summary of what was before" if is_summary(message) else said
            yield {"from": who, "text": keep_head_and_tail(message.sent_text, cap)}
        case AssistantMessage(response):
            if text := response.text_content():
                yield {"from": "assistant", "text": keep_head_and_tail(text, cap)}
            for call in response.tool_calls():
                yield {"from": "assistant", "call": call.tool_name, "arguments": _cut(call.arguments, cap)}
        case ToolResults(results):
            for result in results:
                outcome = "rejected" if result.is_rejected else "error" if result.is_error else "ok"
                output = keep_head_and_tail(result.output, cap)
                yield {"from": "tool", "call": result.tool_name, "outcome": outcome, "output": output}
        case _:
            assert_never(message)


def _cut(value: JsonValue, cap: int, depth: int = 0) -> JsonValue:
    """The value with every text in it cut, and nothing below a few levels."""
    match value:
        case str():
            return keep_head_and_tail(value, cap)
        case Mapping():
            return {k: _cut(v, cap, depth + 1) for k, v in value.items()} if depth < _DEEPEST else "…"
        case Sequence():
            return [_cut(item, cap, depth + 1) for item in value[:100]] if depth < _DEEPEST else "…"
        case _:
            return value

"""An answer of Anthropic Messages that came in one piece, as the events that would have streamed it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from domain.text.json_value import JsonObject
from infrastructure.models.shared.json_fields import object_of, objects_of, text_of


def message_events(body: JsonObject) -> Iterator[JsonObject]:
    """The events of a message; none where the body is no message."""
    if not isinstance(body.get("content"), list):
        return
    yield {"type": "message_start", "message": body}
    for index, block in enumerate(objects_of(body, "content")):
        yield from _block_events(index, block)
    yield {"type": "message_delta", "delta": {"stop_reason": body.get("stop_reason")}}
    yield {"type": "message_stop"}


def _block_events(index: int, block: JsonObject) -> Iterator[JsonObject]:
    is_call = text_of(block, "type") == "tool_use"
    start = {**block, "input": {}} if is_call else block
    yield {"type": "content_block_start", "index": index, "content_block": start}
    if is_call:
        arguments = json.dumps(object_of(block, "input"), ensure_ascii=False)
        delta: JsonObject = {"type": "input_json_delta", "partial_json": arguments}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}

"""What each provider demands of a request, and what a request says: read without the adapters' help.

The rules are those whose breach the providers answer with 400; each is quoted where it is asserted.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Sequence
from typing import Any, TypeAlias

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_LONGEST_ID = 64
_DATA_URL = re.compile(r"data:(image/[a-z]+);base64,([A-Za-z0-9+/=]+)")
_PDF_URL = re.compile(r"data:application/pdf;base64,([A-Za-z0-9+/=]+)")
_THINKING = ("thinking", "redacted_thinking")
_LOOKS_UP = ("server_tool_use", "mcp_tool_use")

Said: TypeAlias = tuple[Any, ...]
"""("user", text), ("image", media type, content), ("pdf", name, content), ("text", text),
("call", number, name, input),
("result", number, output, failed) or ("kept", payload). Calls are numbered as they come; `failed` is None where
the API cannot tell."""


def as_sent(body: dict[str, Any]) -> dict[str, Any]:
    """The body as it leaves: refuses what is not JSON, and halves of surrogate pairs, as the SDKs do."""
    data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    parsed: dict[str, Any] = json.loads(data)
    return parsed


def read_messages(body: dict[str, Any], *, thinking_first: bool = True) -> list[Said]:
    """What a request to Anthropic Messages says, its rules asserted.

    `thinking_first` does not hold of answers that were damaged on their way: they go back as they came.
    """
    messages: list[dict[str, Any]] = as_sent(body)["messages"]
    assert messages, "messages: at least one message is required"
    assert messages[0]["role"] == "user", 'messages: first message must use the "user" role'
    said: list[Said] = []
    numbers: dict[str, int] = {}
    open_ids: list[str] = []
    marks = sum("cache_control" in block for message in messages for block in message["content"])
    marks += sum("cache_control" in tool for tool in body.get("tools", []))
    marks += sum("cache_control" in block for block in body.get("system", []))
    assert marks <= 4, "A maximum of 4 blocks with cache_control may be provided"
    for position, message in enumerate(messages):
        assert message["role"] == ("user", "assistant")[position % 2], "roles must alternate"
        blocks = message["content"]
        assert blocks, "messages: all messages must have non-empty content"
        for block in blocks:
            if block["type"] == "text":
                assert block["text"].strip(), "text content blocks must contain non-whitespace text"
        if message["role"] == "user":
            given = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            assert given == open_ids, "each tool_use must have its tool_result in the next message"
            head = blocks[: len(given)]
            assert all(block["type"] == "tool_result" for block in head), "tool_result blocks come first"
            said += [part for block in blocks for part in _user_block(block, numbers)]
            open_ids = []
        else:
            open_ids = _check_assistant_blocks(blocks, numbers, is_last=position == len(messages) - 1)
            if thinking_first and any(block["type"] in _THINKING for block in blocks):
                assert blocks[0]["type"] in _THINKING, "if there is thinking, it must be the first block"
            said += [_assistant_block(block, numbers) for block in blocks]
    assert not open_ids, "tool_use ids were found without tool_result blocks immediately after"
    return said


def _check_assistant_blocks(
    blocks: list[dict[str, Any]], numbers: dict[str, int], *, is_last: bool
) -> list[str]:
    kinds = [block["type"] for block in blocks]
    assert kinds[-1] not in _THINKING, "the final block in an assistant message cannot be `thinking`"
    assert all(block.get("signature") for block in blocks if block["type"] == "thinking"), "signature: required"
    if is_last and kinds[-1] == "text":
        text = blocks[-1]["text"]
        assert text == text.rstrip(), "final assistant content cannot end with trailing whitespace"
    looked_up = [block["id"] for block in blocks if block["type"] in _LOOKS_UP]
    answered = [b["tool_use_id"] for b in blocks if b["type"].endswith("_tool_result")]
    assert set(answered) <= set(looked_up), "unexpected `tool_use_id` found in tool_result blocks"
    if not is_last:
        assert set(looked_up) <= set(answered), "server_tool_use was found without its result block"
    calls = [block for block in blocks if block["type"] == "tool_use"]
    for call in calls:
        assert _ID.fullmatch(call["id"]), "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        assert call["id"] not in numbers, "`tool_use` ids must be unique"
        assert _NAME.fullmatch(call["name"]), "tool_use.name: String should match pattern"
        assert isinstance(call["input"], dict), "tool_use.input: Input should be a valid dictionary"
        numbers[call["id"]] = len(numbers)
    return [call["id"] for call in calls]


def _user_block(block: dict[str, Any], numbers: dict[str, int]) -> list[Said]:
    if block["type"] == "text":
        return [("user", block["text"])]
    if block["type"] == "image":
        source = block["source"]
        assert set(source) == {"type", "media_type", "data"}, "source: Input tag must be base64, url or file"
        return [("image", source["media_type"], b64decode(source["data"], validate=True))]
    if block["type"] == "document":
        assert set(block) - {"cache_control"} == {"type", "source", "title"}, "Extra inputs are not permitted"
        source = block["source"]
        assert source["type"] == "base64", "source: Input tag must be base64, text, content, url or file"
        assert source["media_type"] == "application/pdf", "media_type: Input should be 'application/pdf'"
        return [("pdf", block["title"], b64decode(source["data"], validate=True))]
    assert block["type"] == "tool_result", "Input tag does not match any of the expected tags"
    number, failed = numbers[block["tool_use_id"]], block.get("is_error", False)
    if isinstance(block["content"], list):
        assert not failed, "all content must be type `text` if `is_error` is true"
        text, *parts = block["content"]
        inner = [said for part in parts for said in _user_block(part, numbers)]
        return [("result", number, text["text"], failed), *inner]
    assert block["content"].strip(), "content cannot be empty if `is_error` is true"
    return [("result", number, block["content"], failed)]


def _assistant_block(block: dict[str, Any], numbers: dict[str, int]) -> Said:
    match block["type"]:
        case "text":
            return ("text", block["text"])
        case "tool_use":
            return ("call", numbers[block["id"]], block["name"], block["input"])
        case _:
            return ("kept", block)


def read_chat(body: dict[str, Any]) -> list[Said]:
    """What a request to Chat Completions says, its rules asserted."""
    messages: list[dict[str, Any]] = as_sent(body)["messages"]
    said: list[Said] = []
    numbers: dict[str, int] = {}
    open_ids: list[str] = []
    calls = 0
    for position, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            assert open_ids, (
                "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            )
            assert message["tool_call_id"] == open_ids.pop(0), "one tool message for each call, in order"
            assert message["content"].strip()
            said.append(("result", numbers[message["tool_call_id"]], message["content"], None))
            continue
        assert not open_ids, "'tool_calls' must be followed by tool messages responding to each 'tool_call_id'"
        if role == "system":
            assert position == 0
        elif role == "user":
            said += _parts(message["content"], text="text", image="image_url", file="file")
        else:
            assert role == "assistant"
            assert message.get("tool_calls") != [], "[] is too short - 'messages.0.tool_calls'"
            assert message["content"] or ("tool_calls" in message and message["content"] is None), "no content"
            if message["content"]:
                assert message["content"].strip(), "text content blocks must contain non-whitespace text"
                said.append(("text", message["content"]))
            kept = {k: v for k, v in message.items() if k not in ("role", "content", "tool_calls")}
            if kept:
                said.append(("kept", kept))
            for call in message.get("tool_calls", ()):
                assert call["type"] == "function"
                numbers[call["id"]], calls = calls, calls + 1
                open_ids.append(call["id"])
                said.append(_call(numbers[call["id"]], call["function"]))
            _check_ids(open_ids)
    assert not open_ids, "an assistant message with 'tool_calls' must be followed by tool messages"
    return said


def read_responses(body: dict[str, Any]) -> list[Said]:
    """What a request to Responses says, its rules asserted."""
    items: list[dict[str, Any]] = as_sent(body)["input"]
    said: list[Said] = []
    numbers: dict[str, int] = {}
    answered: set[str] = set()
    for position, item in enumerate(items):
        following = items[position + 1] if position + 1 < len(items) else {}
        match item.get("type", "message"):
            case "message":
                assert item["role"] in ("user", "assistant")
                if item["role"] == "user":
                    said += _parts(item["content"], text="input_text", image="input_image", file="input_file")
                else:
                    assert item["content"].strip(), "a message must have content"
                    said.append(("text", item["content"]))
                if "phase" in item:
                    assert item["role"] == "assistant"
                    said.append(("kept", item["phase"]))
            case "function_call":
                _check_ids([item["call_id"]])
                assert item["call_id"] not in numbers, "a call_id pairs one call with one output"
                numbers[item["call_id"]] = len(numbers)
                said.append(_call(numbers[item["call_id"]], item))
            case "function_call_output":
                assert item["call_id"] in numbers, "No tool call found for function call output with call_id"
                assert item["call_id"] not in answered
                answered.add(item["call_id"])
                assert item["output"].strip()
                said.append(("result", numbers[item["call_id"]], item["output"], None))
            case "reasoning":
                is_own = following.get("role") != "user" and following.get("type") != "function_call_output"
                assert following, "'reasoning' was provided without its required following item"
                assert is_own, "'reasoning' was provided without its required following item"
                said.append(("kept", item))
            case _:
                said.append(("kept", item))
    assert set(numbers) == answered, "No tool output found for function call"
    return said


def _parts(content: Any, *, text: str, image: str, file: str) -> list[Said]:
    """What the person said: a text, or parts of these types."""
    parts = [{"type": text, "text": content}] if isinstance(content, str) else content
    assert parts, "a message must have content"
    said: list[Said] = []
    for part in parts:
        if part["type"] == text:
            assert part["text"].strip(), "a message must have content"
            said.append(("user", part["text"]))
            continue
        if part["type"] == file:
            named = part["file"] if file == "file" else {k: v for k, v in part.items() if k != "type"}
            assert set(named) == {"filename", "file_data"}, "one of file_id and file_data, with a filename"
            found = _PDF_URL.fullmatch(named["file_data"])
            assert found, "Invalid file data: expected a base64-encoded data URL with a MIME type"
            said.append(("pdf", named["filename"], b64decode(found[1], validate=True)))
            continue
        assert part["type"] == image, "Invalid value"
        url = part["image_url"]["url"] if image == "image_url" else part["image_url"]
        found = _DATA_URL.fullmatch(url)
        assert found, "Invalid image_url: expected a base64-encoded data URL"
        said.append(("image", found[1], b64decode(found[2], validate=True)))
    return said


def _call(number: int, function: dict[str, Any]) -> Said:
    assert _NAME.fullmatch(function["name"]), "name does not match pattern '^[a-zA-Z0-9_-]+$'"
    arguments = json.loads(function["arguments"])
    assert isinstance(arguments, dict)
    return ("call", number, function["name"], arguments)


def _check_ids(ids: Sequence[str]) -> None:
    assert len(set(ids)) == len(ids), "two calls of one message carry the same id"
    assert all(0 < len(call_id) <= _LONGEST_ID for call_id in ids), "string_above_max_length: at most 64"

"""What a stream of events says to the letter, read without any leniency: the calls it holds whole.

Written apart from the adapters on purpose, so that the two can be compared.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from tests.support.sse_server import Dialect

_OF_BLOCKS = ("content_block_start", "content_block_delta", "content_block_stop")
_ENDS = ("message_stop", "response.completed")
_LOW, _HIGH = r"\\ud[c-f][0-9a-f]{2}", r"\\ud[89ab][0-9a-f]{2}"
_LONE_SURROGATE = re.compile(rf"(?<!{_HIGH}){_LOW}|{_HIGH}(?!{_LOW})")
_NOT_READABLE: dict[str, Any] = {}


class HeldCall(NamedTuple):
    """A call as a stream tells it. The arguments are canonical JSON."""

    name: str
    arguments: str


def held_calls(dialect: Dialect, body: bytes) -> set[HeldCall]:
    """The calls of a stream whose every piece is of the right kind and in its place."""
    events = _events(body, has_end_mark=dialect == "openai-chat")
    match dialect:
        case "anthropic":
            return _of_messages(events)
        case "openai":
            return _of_responses(events)
        case "openai-chat":
            return _of_chat(events)


def canonical(arguments: object) -> str:
    """Arguments in the one form in which they can be compared."""
    return json.dumps(arguments, sort_keys=True)


def _events(body: bytes, *, has_end_mark: bool) -> list[dict[str, Any]]:
    """The events up to the last, or up to the first that is not a JSON object: no more may be believed.

    A kind that is no text says nothing beside the name of the event.
    """
    text = re.sub(r"\r\n|\r", "\n", body.decode("utf-8", "replace").lstrip("\ufeff"))
    found: list[dict[str, Any]] = []
    for event in text.split("\n\n"):
        fields = [line.partition(":") for line in event.split("\n")]
        data = "\n".join(value.removeprefix(" ") for name, _, value in fields if name == "data")
        if not data.strip():
            continue
        if data.strip() == "[DONE]":
            if has_end_mark:
                break
            continue
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            break
        names = [value.removeprefix(" ") for name, _, value in fields if name == "event"]
        if not isinstance(value, dict):
            break
        name = names[-1] if names else ""
        kind = value["type"] if isinstance(value.get("type"), str) and value["type"] else name
        found.append({**value, "type": kind, "name": name})
        if found[-1]["type"] in _ENDS:
            break
    return found


def _of_messages(events: list[dict[str, Any]]) -> set[HeldCall]:
    if any(event["type"] != event["name"] and event["name"] in _OF_BLOCKS for event in events):
        return set()
    held: set[HeldCall] = set()
    is_open: dict[int, tuple[object, str, list[str]]] = {}
    closed: set[int] = set()
    for event in (event for event in events if event["type"] in _OF_BLOCKS):
        kind, block, delta = event["type"], event.get("content_block"), event.get("delta")
        index = event.get("index")
        if index is None and kind != "content_block_start" and len(is_open) == 1:
            index = next(iter(is_open))
        if not isinstance(index, int) or isinstance(index, bool):
            return set()
        if kind == "content_block_start":
            if index in is_open or not isinstance(block, dict):
                return set()
            given = block.get("input")
            is_open[index] = (block.get("type"), str(block.get("name")), [json.dumps(given)] if given else [])
        elif index not in is_open:
            if index not in closed or _extends_a_call(delta):
                return set()
        elif kind == "content_block_stop":
            block_kind, name, pieces = is_open.pop(index)
            closed.add(index)
            if block_kind == "tool_use":
                _hold(held, name, pieces)
        elif isinstance(delta, dict) and _extends_a_call(delta):
            is_open[index][2].append(_text(delta.get("partial_json")))
    return held


def _extends_a_call(delta: object) -> bool:
    return isinstance(delta, dict) and delta.get("type") == "input_json_delta"


def _of_chat(events: list[dict[str, Any]]) -> set[HeldCall]:
    calls: list[tuple[object, object, list[str], list[str]]] = []
    for event in events:
        for choice in _dicts(event.get("choices")):
            if choice.get("index") not in (0, None) or isinstance(choice.get("index"), bool):
                continue
            delta = choice.get("delta") or choice.get("message") or {}
            for piece in _dicts(delta.get("tool_calls")) if isinstance(delta, dict) else [_NOT_READABLE]:
                if piece is _NOT_READABLE:
                    return set()
                function = piece.get("function") or {}
                if not isinstance(function, dict):
                    return set()
                index, call_id, name = piece.get("index"), piece.get("id"), function.get("name")
                same = [call for call in calls if call[0] == index or index is None]
                if not same or (name and call_id and same[-1][1] and same[-1][1] != call_id):
                    calls.append((index, call_id, [], []))
                    same = calls[-1:]
                if isinstance(name, str):
                    same[-1][2].append(name)
                arguments = function.get("arguments")
                same[-1][3].append(json.dumps(arguments) if isinstance(arguments, dict) else _text(arguments))
    held: set[HeldCall] = set()
    for _, _, names, pieces in calls:
        for name in names:
            _hold(held, name, pieces)
    return held


def _of_responses(events: list[dict[str, Any]]) -> set[HeldCall]:
    held: set[HeldCall] = set()
    for event in events:
        item, response = event.get("item"), event.get("response")
        forms = [item] if event.get("type") == "response.output_item.done" and isinstance(item, dict) else []
        if event.get("type") == "response.completed" and isinstance(response, dict):
            forms = _dicts(response.get("output"))
        for form in forms:
            arguments = form.get("arguments")
            text = json.dumps(arguments) if isinstance(arguments, dict) else _text(arguments)
            if form.get("type") == "function_call":
                _hold(held, str(form.get("name")), [text])
    return held


def _hold(held: set[HeldCall], name: str, pieces: list[str]) -> None:
    """Take note of a call. Texts may hold line ends as they are; what is said twice, or empty, counts once."""
    text, found = "".join(pieces).strip() or "{}", []
    reader = json.JSONDecoder(strict=False)
    try:
        while text:
            value, end = reader.raw_decode(text)
            found.append(value)
            text = text[end:].strip()
    except (ValueError, RecursionError):
        return
    told = [value for value in found if value] or found[:1]
    if isinstance(told[0], dict) and all(value == told[0] for value in told):
        held.add(HeldCall(name, canonical(json.loads(_LONE_SURROGATE.sub(r"\\ufffd", canonical(told[0]))))))


def _text(piece: object) -> str:
    """A piece of arguments; one that is not text spoils the whole."""
    return piece if isinstance(piece, str) else "" if piece is None else "\x00"


def _dicts(value: object) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return [_NOT_READABLE]
    return value

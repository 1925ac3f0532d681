"""Recognises an answer that is nothing but a call written as text: such a call is never run."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from domain.text.late_pattern import compile_late

_FENCE, _OPENING, _CLOSING = "```", "<tool_call>", "</tool_call>"
_LANGUAGE = compile_late(r"[\w-]{0,40}\s*")
_LONGEST = 1_000_000
# Under these a call names its tool. `name` alone is too common a word: it needs arguments beside it.
_TOOL_KEYS = ("tool", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "parameters", "input", "args")


def find_leaked_call(text: str, offered: Collection[str]) -> str | None:
    """Return the tool of `offered` that this answer calls in its text, or None.

    All of it must be one JSON object in the form of a call: bare, in a code fence or in a tag <tool_call>.
    """
    if len(text) > _LONGEST:
        return None
    inside = _strip_fence(_strip_tag(_strip_fence(text.strip())))
    if not (inside.startswith("{") and inside.endswith("}")):
        return None
    try:
        value: object = json.loads(inside)
    except (ValueError, RecursionError):
        return None
    name = _find_tool_name(value)
    return name if name in offered else None


def _strip_fence(text: str) -> str:
    if not (text.startswith(_FENCE) and text.endswith(_FENCE) and "\n" in text):
        return text
    language, _, inside = text.removesuffix(_FENCE).removeprefix(_FENCE).partition("\n")
    return inside.strip() if _LANGUAGE.fullmatch(language) else text


def _strip_tag(text: str) -> str:
    if not (text.startswith(_OPENING) and text.endswith(_CLOSING)):
        return text
    return text.removeprefix(_OPENING).removesuffix(_CLOSING).strip()


def _find_tool_name(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return None
    if isinstance(calls := value.get("tool_calls"), list) and len(calls) == 1:
        return _find_tool_name(calls[0])
    if isinstance(function := value.get("function"), Mapping):
        return _find_tool_name(function)
    for key in _TOOL_KEYS:
        if isinstance(name := value.get(key), str):
            return name
    name = value.get("name")
    return name if isinstance(name, str) and any(key in value for key in _ARGUMENT_KEYS) else None

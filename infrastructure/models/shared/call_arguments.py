"""A call with its arguments as a model wrote them, repaired where their text can be read in one way only."""

from __future__ import annotations

import ast
import json
import re

from domain.conversation.response import ToolUseBlock
from domain.text.json_value import JsonObject
from infrastructure.models.shared.json_fields import parse_arguments, parse_foreign_json

_FRAMED = re.compile(
    r"(?:```(?:json)?\s*)?(\{.*\})\s*(?:```|(?:\s*(?:</[\w:.-]+>|<\|[^|<>]{1,40}\|>))+)?", re.DOTALL
)
_LETTER_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\[bfnrtu]")
_STRAY_BACKSLASH = re.compile(r"(?<!\\)(?:\\\\)*\\(?![\\\"/bfnrtu])")
_LONGEST_PYTHON = 100_000


def build_call_block(call_id: str, name: str, raw: str) -> ToolUseBlock:
    """The call with these arguments as a model wrote them, repaired where the text can be read in one way."""
    arguments, problem = parse_arguments(raw)
    if problem is not None and (repaired := _repair_arguments(raw)) is not None:
        arguments, what = repaired
        return ToolUseBlock(
            id=call_id, name=name, input=arguments, repairs=(f"the text of the arguments: {what}",)
        )
    return ToolUseBlock(id=call_id, name=name, input=arguments, parse_error=problem)


def _repair_arguments(raw: str) -> tuple[JsonObject, str] | None:
    """The one reading of a text that is no JSON object, and what was done for it."""
    text = raw.strip()
    for what, candidate in (
        ("it was encoded twice", _unquote(text)),
        ("what stood around it was left out", _strip_frame(text)),
        ("backslashes were taken as they stand", _double_backslashes(text)),
        ("Python's form of it was read", _read_python(text)),
    ):
        if candidate:
            arguments, problem = parse_arguments(candidate)
            if problem is None:
                return arguments, what
    return None


def _unquote(text: str) -> str:
    for _ in range(2):
        try:
            value = parse_foreign_json(text)
        except ValueError:
            return ""
        if not isinstance(value, str):
            return text if isinstance(value, dict) else ""
        text = value
    return text


def _strip_frame(text: str) -> str:
    """The object without a code fence around it, or tags of a template behind it."""
    found = _FRAMED.fullmatch(text)
    return found[1] if found else ""


def _double_backslashes(text: str) -> str:
    """With every backslash for itself; where some are escapes of letters, it could be read in two ways."""
    if _LETTER_ESCAPE.search(text):
        return ""
    return _STRAY_BACKSLASH.sub(r"\\\g<0>", text)


def _read_python(text: str) -> str:
    """A dictionary of Python as JSON: single quotes, or a comma at the end."""
    if "\\" in text or len(text) > _LONGEST_PYTHON or not text.startswith("{"):
        return ""
    try:
        value = ast.literal_eval(text)
        return json.dumps(value, allow_nan=False) if isinstance(value, dict) and _has_text_keys(value) else ""
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ""


def _has_text_keys(value: object) -> bool:
    match value:
        case dict():
            return all(isinstance(key, str) and _has_text_keys(each) for key, each in value.items())
        case list():
            return all(map(_has_text_keys, value))
        case _:
            return value is None or isinstance(value, str | int | float | bool)

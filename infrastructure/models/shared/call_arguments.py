"""A call with its arguments as a model wrote them, repaired where their text can be read in one way only."""

from __future__ import annotations

import re

from quorum.domain.conversation.response import ToolUseBlock
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.shared.json_fields import parse_arguments, parse_foreign_json

_FRAMED = re.compile(
    r"(?:```(?:json)?\s*)?(\{.*\})\s*(?:```|(?:\s*(?:</[\w:.-]+>|<\|[^|<>]{1,40}\|>))+)?", re.DOTALL
)


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
    from quorum.domain.text.json_repair import double_backslashes, escape_line_breaks, read_python

    text = raw.strip()
    for what, candidate in (
        ("it was encoded twice", _unquote(text)),
        ("what stood around it was left out", _strip_frame(text)),
        ("backslashes were taken as they stand", double_backslashes(text)),
        ("line breaks in its texts were taken as they stand", escape_line_breaks(text)),
        ("Python's form of it was read", read_python(text)),
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

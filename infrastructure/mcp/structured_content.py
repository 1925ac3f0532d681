"""The output that an answer with structured content stands for: servers repeat it as text, or sum it up."""

from __future__ import annotations

import json
from collections.abc import Mapping

from quorum.domain.calls.summary import describe_structure, extract_text, is_long
from quorum.domain.text.json_text import is_json
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.output import OutputLimits, Stored, Structured, ToolOutput

_LIMITS = OutputLimits()


def add_structure(text: str, value: JsonValue) -> str | ToolOutput:
    """Return the output for an answer of this text and this structured content.

    A text that says no more than the content gives way to it. Any other is the summary of the content, where it
    is short enough for one, and else the whole answer: it is what the server wrote for models.
    """
    if not is_json(value) or _is_wrapped_text(text, value):
        return text
    structured = Structured(value)
    if not text.strip() or _is_rendering(text, value):
        return structured
    if is_long(text, _LIMITS.summary_bytes):
        return text
    if is_long(written := extract_text(structured), _LIMITS.inline_bytes):
        return Stored(structured, summary=f"{describe_structure(value)}\n{text}")
    return f"{text}\n{written}"


def _is_wrapped_text(text: str, value: JsonValue) -> bool:
    """Whether the content is but that text under a key, as where a function returns a text."""
    return isinstance(value, Mapping) and [*value.values()] == [text]


def _is_rendering(text: str, value: JsonValue) -> bool:
    """Whether the text is the same JSON, whole or entry by entry, maybe without the key that wraps it."""
    wrapped = next(iter(value.values())) if isinstance(value, Mapping) and len(value) == 1 else value
    parsed = _parse(text)
    if parsed in (value, wrapped):
        return True
    lines = [_parse(line) for line in text.splitlines()]
    return isinstance(wrapped, list) and lines == wrapped


def _parse(text: str) -> object:
    """The JSON of a text; the text itself where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text

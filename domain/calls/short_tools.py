"""The tools for a model with a small window: fewer of them, each in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from quorum.domain.text.json_value import JsonObject, JsonValue

# Others do the same in more steps, or their work does not fit into a small window.
_LEFT_OUT = frozenset({"glob_search", "jobs", "update_plan", "task", "load_skill", "web_search", "web_fetch"})
# Optional arguments that small models set for no reason; a call that has them is none the worse.
_ARGUMENTS_LEFT_OUT = frozenset(
    {
        *("raw", "edits", "background", "create_dirs", "context_lines", "case_insensitive"),
        *("outside_sandbox", "opens_git", "timeout_secs"),
    }
)
_PLAIN_ARGUMENTS = frozenset({"path", "content", "command", "working_dir", "pattern", "limit", "replace_all"})
_KEYS_LEFT_OUT = frozenset({"additionalProperties", "minimum"})
_SENTENCE = re.compile(r"(?P<first>.{20,}?[.;])(?:\s|\Z)")


def shorten_tools(schemas: Iterable[JsonObject]) -> tuple[JsonObject, ...]:
    """The schemas {name, description, input_schema} of those that stay, a sentence for each text."""
    return tuple(
        {
            **schema,
            "description": _shorten_text(schema.get("description")),
            "input_schema": _shorten_schema(schema.get("input_schema")),
        }
        for schema in schemas
        if schema.get("name") not in _LEFT_OUT
    )


def _shorten_schema(schema: JsonValue) -> JsonValue:
    if not isinstance(schema, Mapping):
        return schema
    return {key: _shorten_part(key, value) for key, value in schema.items() if key not in _KEYS_LEFT_OUT}


def _shorten_part(key: str, value: JsonValue) -> JsonValue:
    match key, value:
        case "description", str():
            return _shorten_text(value)
        case "properties", Mapping():
            return {
                name: _shorten_argument(name, each)
                for name, each in value.items()
                if name not in _ARGUMENTS_LEFT_OUT
            }
        case "items", Mapping():
            return _shorten_schema(value)
    return value


def _shorten_argument(name: str, schema: JsonValue) -> JsonValue:
    short = _shorten_schema(schema)
    if name in _PLAIN_ARGUMENTS and isinstance(short, Mapping):
        return {key: value for key, value in short.items() if key != "description"}
    return short


def _shorten_text(text: JsonValue) -> JsonValue:
    found = _SENTENCE.match(text) if isinstance(text, str) else None
    return found["first"].rstrip(";") if found else text

"""The tools that a request offered to its model, and what a call of any other reads.

The tools for a model with a small window: fewer of them, each in a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from quorum.domain.calls.server_tools import is_of_server
from quorum.domain.calls.tool_traits import find_traits, guess_meant_tool, means_an_answer, translate_tool_name
from quorum.domain.text.fuzzy import find_nearest_word
from quorum.domain.text.json_value import JsonObject, JsonValue

# Characters of a tool's name that an error repeats: names come from models.
_NAME_CHARS = 100
# What templates of models leave around a name.
_DECORATION = re.compile(r"^(?:functions?|tools?)[.:/]|<\|.*$|[:(].*$", re.DOTALL)
_RUN_COMMAND = "run_command"
_TYPO = 0.85
"""How much a name has to be like that of a tool to be taken for a slip: names of tools have much in common."""


class OfferedTools(Struct, frozen=True):
    """Their names, in the order of the request, and the names of the session's tools that it left out."""

    names: tuple[str, ...]
    withheld: frozenset[str] = frozenset()

    @classmethod
    def choose(cls, names: Iterable[str], offered: Collection[str] | None) -> OfferedTools:
        """Divide the session's tools by what a request offered; None stands for all of them."""
        known = tuple(names)
        if offered is None:
            return cls(known)
        kept = tuple(name for name in known if name in offered)
        return cls(kept, frozenset(known) - frozenset(kept))

    def explain_absence(self, name: str) -> str:
        """Say that a call of this name did not run, what does its work, and which tools there are."""
        shown = name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}…"
        lack = f"{shown} is not offered now, and was not run"
        if is_of_server(name) and name not in self.withheld:
            lack = f"no MCP server offers {shown} any longer, and it was not run"
        elif name not in self.withheld:
            lack = f"there is no tool named {shown!r}"
        remedy = "" if is_of_server(name) else self._find_remedy(_DECORATION.sub("", name))
        return f"{lack}{remedy}; the tools are: {', '.join(self.names) or 'none'}"

    def _find_remedy(self, name: str) -> str:
        meant = translate_tool_name(name)
        if meant in self.names:
            return f"; use {meant}"
        traits = find_traits(meant)
        if (other := next((each for each in traits.instead if each in self.names), None)) is not None:
            return f"; use {other}"
        can_run = _RUN_COMMAND in self.names
        if can_run and traits.program:
            return f"; use {_RUN_COMMAND} with {traits.program}"
        is_withheld = meant in self.withheld
        if not is_withheld and (near := find_nearest_word(name, self.names, alike=_TYPO)) is not None:
            return f"; use {near}"
        if means_an_answer(name):
            return "; answer in words instead"
        if not is_withheld and (guess := guess_meant_tool(name)):
            return f"; use {guess}" if guess in self.names else ""
        return f"; if it is a program, use {_RUN_COMMAND} with its command line" if can_run else ""


# Others do the same in more steps, or their work does not fit into a small window.
_LEFT_OUT = frozenset({"glob_search", "jobs", "update_plan", "task", "load_skill", "web_search", "web_fetch"})
# Optional arguments that small models set for no reason; a call that has them is none the worse.
_ARGUMENTS_LEFT_OUT = frozenset(
    {
        *("raw", "edits", "background", "create_dirs", "context_lines", "case_insensitive"),
        *("outside_sandbox", "opens_git", "timeout_secs"),
    }
)
# Where the other way to give them is left out.
_REQUIRED: Mapping[str, JsonValue] = {"edit_file": ["path", "old_text", "new_text"]}
_PLAIN_ARGUMENTS = frozenset({"path", "content", "command", "working_dir", "pattern", "limit", "replace_all"})
_KEYS_LEFT_OUT = frozenset({"additionalProperties", "minimum"})
_SENTENCE = re.compile(r"(?P<first>.{20,}?[.;])(?:\s|\Z)")


def shorten_tools(schemas: Iterable[JsonObject]) -> tuple[JsonObject, ...]:
    """The schemas {name, description, input_schema} of those that stay, a sentence for each text."""
    return tuple(
        {
            **schema,
            "description": _shorten_text(schema.get("description")),
            "input_schema": _require_more(schema.get("name"), _shorten_schema(schema.get("input_schema"))),
        }
        for schema in schemas
        if schema.get("name") not in _LEFT_OUT
    )


def _require_more(tool: JsonValue, schema: JsonValue) -> JsonValue:
    required = _REQUIRED.get(tool) if isinstance(tool, str) else None
    return {**schema, "required": required} if required and isinstance(schema, Mapping) else schema


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

"""Which tools a request lists, how others of MCP servers are called, and what is said of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from quorum.domain.calls.tool_traits import find_traits, guess_meant_tool, means_an_answer, translate_tool_name
from quorum.domain.text.fuzzy import find_nearest_word
from quorum.domain.text.json_text import count_json_bytes
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once

CALL_TOOL = "call_tool"
FIND_TOOLS = "find_tools"

MOST_TOOLS = 128
"""What a request may list: some APIs refuse more."""

_BEGINNING = "[quorum: the tools of MCP servers are told anew."
_MOST_NAMES = 100


class RecordedTool(Struct, frozen=True, kw_only=True):
    """A tool in the list that requests carry. `sha256` is over its schema {name, description, input_schema} as
    JSON; `schema` is None where an earlier event of the session has it."""

    name: str
    sha256: str
    schema: JsonObject | None = None


class ToolChanges(Struct, frozen=True, kw_only=True):
    """In which way the tools of servers differ from those of the list that requests carry, by their names."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def callable_only(self) -> tuple[str, ...]:
        """Those that are to be called with `call_tool`, as the list does not say what they take."""
        return *self.new, *self.changed

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone)


def is_of_server(tool: str) -> bool:
    """Whether a tool of this name is one of an MCP server."""
    return tool.startswith("mcp__")


def format_tool_name(tool: str) -> str:
    """A tool as people are shown it, everywhere in the same word: `run` is the tool `run_command`, and
    `time: convert` the tool `mcp__time__convert`. What is decided and kept about a call goes by its whole
    name."""
    if verb := find_traits(tool).verb:
        return verb
    server, separator, name = tool.removeprefix("mcp__").partition("__")
    return f"{server}: {name}" if is_of_server(tool) and server and separator and name else tool


def compute_tool_digest(schema: JsonObject) -> str:
    """The SHA-256 of a tool's schema as it is sent, in hexadecimal; another order of its keys is another."""
    return hashlib.sha256(json.dumps(schema).encode()).hexdigest()


def select_listed(schemas: Sequence[JsonObject], room: int) -> tuple[JsonObject, ...]:
    """The tools for a new list: all of quorum's own, and those of servers that fit into `room`, in bytes of
    JSON, the tools of one server together and small ones first. The others are found with `find_tools`;
    without `call_tool`, which calls them, all are listed."""
    if all(each["name"] != CALL_TOOL for each in schemas):
        return tuple(schemas)
    by_server: dict[str, list[JsonObject]] = {}
    for each in schemas:
        if is_of_server(name := str(each["name"])):
            by_server.setdefault(name.split("__")[1], []).append(each)
    number = len(schemas) - sum(map(len, by_server.values()))
    left_out: set[str] = set()
    sizes = {server: count_json_bytes(tools) for server, tools in by_server.items()}
    for server, size in sorted(sizes.items(), key=lambda each: each[1]):
        tools = by_server[server]
        if size > room or number + len(tools) > MOST_TOOLS:
            left_out.add(server)
        else:
            room, number = room - size, number + len(tools)
    return tuple(
        each
        for each in schemas
        if not is_of_server(name := str(each["name"])) or name.split("__")[1] not in left_out
    )


def find_tool_changes(listed: Sequence[RecordedTool], current: Sequence[RecordedTool]) -> ToolChanges | None:
    """In which way the tools of servers changed; None where other tools did, or none can be called without
    being listed: then requests need another list."""
    if _list_own(listed) != _list_own(current):
        return None
    before = {each.name: each.sha256 for each in listed}
    now = {each.name: each.sha256 for each in current}
    changes = ToolChanges(
        new=tuple(name for name in now if name not in before),
        changed=tuple(name for name in now if before.get(name, now[name]) != now[name]),
        gone=tuple(name for name in before if name not in now),
    )
    return changes if not changes.callable_only or CALL_TOOL in now else None


def _list_own(tools: Sequence[RecordedTool]) -> list[tuple[str, str]]:
    return [(each.name, each.sha256) for each in tools if not is_of_server(each.name)]


def render_unread_changes(changes: ToolChanges, said: Iterable[str]) -> str | None:
    """The message that tells of these changes; None where it is the last one of its kind that was said, or
    where there is nothing to tell. It has names alone: what servers say of their tools is data."""
    last = [text for text in said if text.startswith(_BEGINNING)][-1:]
    if not changes and not last:
        return None
    text = _render_changes(changes)
    return None if [text] == last else text


def _render_changes(changes: ToolChanges) -> str:
    if not changes:
        return f"{_BEGINNING} They are those that the request lists.]"
    how = f"{FIND_TOOLS} shows what it takes, {CALL_TOOL} calls it"
    lines = (
        _render_names(f"New, not listed ({how})", changes.new),
        _render_names(f"Changed, no longer as listed ({how})", changes.changed),
        _render_names("Gone, though listed (a call runs nothing)", changes.gone),
    )
    return "\n".join(
        (f"{_BEGINNING} This holds in place of what was said of them before.]\n", *filter(None, lines))
    )


def _render_names(heading: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    rest = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{heading}: {', '.join(names[:_MOST_NAMES])}{rest}"


def read_indirect_call(name: str, arguments: JsonObject) -> tuple[str, JsonObject] | None:
    """The tool of a server and the arguments that a call of `call_tool` stands for; None for any other call,
    and for one that names no such tool or no arguments."""
    if name != CALL_TOOL:
        return None
    tool, given = arguments.get("tool"), arguments.get("arguments")
    if not isinstance(tool, str) or not is_of_server(tool):
        return None
    if given is None or given == "":
        return tool, {}
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return None
    return (tool, given) if isinstance(given, Mapping) else None


def list_callable(listed: Collection[str], current: Collection[str]) -> frozenset[str]:
    """The tools of which calls may run: those that are listed and still there, and with `call_tool` all of
    servers."""
    reachable = CALL_TOOL in listed and CALL_TOOL in current
    return frozenset(name for name in current if name in listed or (reachable and is_of_server(name)))


# Characters of a tool's name that an error repeats: names come from models.
_NAME_CHARS = 100
# What templates of models leave around a name.
_DECORATION = r"(?s)^(?:functions?|tools?)[.:/]|<\|.*$|[:(].*$"
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
            lack = f"no MCP server offers {shown}, and it was not run"
        elif name not in self.withheld:
            lack = f"there is no tool named {shown!r}"
        remedy = "" if is_of_server(name) else self._find_remedy(compile_once(_DECORATION).sub("", name))
        return f"{lack}{remedy}; the tools are: {', '.join(self.names) or 'none'}"

    def _find_remedy(self, name: str) -> str:
        meant = translate_tool_name(name)
        if meant in self.names:
            return f"; use {meant}"
        if (
            len(served := [each for each in self.names if is_of_server(each) and each.endswith(f"__{name}")])
            == 1
        ):
            return f"; use {served[0]}"
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
        *("outside_sandbox", "opens_git", "hosts", "timeout_secs"),
    }
)
# Where the other way to give them is left out.
_REQUIRED: Mapping[str, JsonValue] = {"edit_file": ["path", "old_text", "new_text"]}
_PLAIN_ARGUMENTS = frozenset({"path", "content", "command", "working_dir", "pattern", "limit", "replace_all"})
_KEYS_LEFT_OUT = frozenset({"additionalProperties", "minimum"})
_SENTENCE = r"(?P<first>.{20,}?[.;])(?:\s|\Z)"


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
    found = compile_once(_SENTENCE).match(text) if isinstance(text, str) else None
    return found["first"].rstrip(";") if found else text

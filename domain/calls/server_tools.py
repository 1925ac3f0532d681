"""Tools of MCP servers that no request lists: how they are called, and what the model is told of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from quorum.domain.text.json_text import count_json_bytes
from quorum.domain.text.json_value import JsonObject

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
    """A tool as people are shown it: `time: convert` is the tool `mcp__time__convert`. What is decided and kept
    about a call goes by its whole name."""
    server, separator, name = tool.removeprefix("mcp__").partition("__")
    return f"{server}: {name}" if is_of_server(tool) and server and separator and name else tool


def compute_tool_digest(schema: JsonObject) -> str:
    """The SHA-256 of a tool's schema as it is sent, in hexadecimal; another order of its keys is another."""
    return hashlib.sha256(json.dumps(schema).encode()).hexdigest()


def list_tools(schemas: Sequence[JsonObject]) -> tuple[RecordedTool, ...]:
    """These tools by name and digest, without what the record may have of them already."""
    return tuple(RecordedTool(name=str(each["name"]), sha256=compute_tool_digest(each)) for each in schemas)


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

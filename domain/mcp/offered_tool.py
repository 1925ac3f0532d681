"""A tool as an MCP server offers it, and the name under which a model calls it."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable

MOST_TOOLS = 128
"""How many tools of one server a model is offered."""

_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 4_000
_LARGEST_SCHEMA = 64_000
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


class OfferedTool(Struct, frozen=True, kw_only=True):
    """What a server says of one of its tools. `description` is text from outside, cut where it is too long."""

    server: str
    name: str
    description: str
    input_schema: JsonObject

    @property
    def full_name(self) -> str:
        """The name for the model: `mcp__SERVER__TOOL`, with _ for each character that no name may have."""
        return render_full_name(self.server, self.name)

    @property
    def digest(self) -> str:
        """The SHA-256, in hexadecimal, of all that the model reads of it."""
        said = [self.name, self.description, self.input_schema]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def render_full_name(server: str, tool: str) -> str:
    """The name under which a model calls a tool of a server."""
    return f"mcp__{server}__{_UNFIT.sub('_', tool)}"


def make_offered_tool(server: str, name: str, description: str, input_schema: JsonObject) -> OfferedTool:
    """The tool with its description made printable and cut to 4,000 characters."""
    text = make_printable(description)
    if (left_out := len(text) - _LONGEST_DESCRIPTION) > 0:
        text = f"{text[:_LONGEST_DESCRIPTION]}\n[{left_out:,} more characters are left out]"
    return OfferedTool(server=server, name=name, description=text, input_schema=input_schema)


class Selection(Struct, frozen=True, kw_only=True):
    """The tools of one server that a model may be offered, and a sentence about each that it may not."""

    tools: tuple[OfferedTool, ...]
    problems: tuple[str, ...]


def select_tools(server: str, tools: Sequence[OfferedTool], wanted: Sequence[str] = ()) -> Selection:
    """Those with a name that a model can call, one of each name, 128 at the most, in the server's order.

    `wanted` are the only ones by the settings; empty: all. A name that the server does not have is a problem.
    """
    tools = list({(tool.name, tool.digest): tool for tool in tools}.values())  # some list one twice
    problems = [
        f"the MCP server {server} has no tool {name}, which mcp.servers.{server}.tools names"
        for name in wanted
        if name not in {tool.name for tool in tools}
    ]
    counts = Counter(tool.full_name for tool in tools)
    kept: list[OfferedTool] = []
    for tool in tools:
        if wanted and tool.name not in wanted:
            continue
        if (problem := _find_problem(tool, counts[tool.full_name])) is not None:
            shown = make_printable(tool.name, newlines=False)[:80]
            problems.append(f"the tool {shown!r} of the MCP server {server} is not offered: {problem}")
        else:
            kept.append(tool)
    if len(kept) > MOST_TOOLS:
        problems.append(
            f"the MCP server {server} has {len(kept)} tools, of which the first {MOST_TOOLS} are offered; "
            f"choose others with mcp.servers.{server}.tools"
        )
    return Selection(tools=tuple(kept[:MOST_TOOLS]), problems=tuple(problems))


def find_changed_tools(tools: Iterable[OfferedTool], pinned: dict[str, str]) -> tuple[OfferedTool, ...]:
    """Those that are not what the person last accepted, by their names and digests."""
    return tuple(tool for tool in tools if pinned.get(tool.name) != tool.digest)


def _find_problem(tool: OfferedTool, count: int) -> str | None:
    if not tool.name:
        return "it has no name"
    if len(tool.full_name) > _LONGEST_NAME:
        return f"{tool.full_name} is longer than {_LONGEST_NAME} characters"
    if count > 1:
        return f"{count} tools of the server would be named {tool.full_name}"
    if len(json.dumps(tool.input_schema)) > _LARGEST_SCHEMA:
        return f"the schema of its arguments is longer than {_LARGEST_SCHEMA:,} characters"
    return None

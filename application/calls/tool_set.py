"""The tools of a session: those it is built with, and those that tool servers offer while it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from quorum.application.calls.guarded_tool import GuardedTool
from quorum.application.ports.tools import Tool, ToolSchemaPort
from quorum.domain.calls.tool import ToolDefinition, ToolSpec
from quorum.domain.text.json_value import JsonObject


class ToolSet:
    """The tools by name, in a stable order, so that requests can be cached.

    `built` are there from the beginning to the end. Those of a server may be replaced between requests: a call
    that is already under way keeps the tool it has.
    """

    def __init__(self, built: Mapping[str, Tool], schema: ToolSchemaPort) -> None:
        self._schema = schema
        self._built = {name: GuardedTool(tool) for name, tool in built.items()}
        self._of_servers: dict[str, dict[str, GuardedTool]] = {}
        self._tools: dict[str, GuardedTool] = {}
        self._schemas: tuple[JsonObject, ...] = ()
        self._bytes: int | None = None
        self._refresh()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def list_schemas(self) -> tuple[JsonObject, ...]:
        """The neutral schemas of all tools, for the next request."""
        return self._schemas

    def list_low_risk_schemas(self) -> tuple[JsonObject, ...]:
        """The neutral schemas of the tools whose calls run without review."""
        return self._schema.low_risk_tools_schema(ToolSpec(self.list_definitions()))

    def count_schema_bytes(self) -> int:
        """How many bytes the schemas take in every request."""
        if self._bytes is None:
            self._bytes = len(json.dumps(self._schemas, ensure_ascii=False).encode("utf-8", "replace"))
        return self._bytes

    def find(self, name: str) -> GuardedTool | None:
        return self._tools.get(name)

    def list_server_schemas(self) -> tuple[JsonObject, ...]:
        """The neutral schemas of the tools of servers."""
        names = {name for tools in self._of_servers.values() for name in tools}
        return tuple(each for each in self._schemas if each["name"] in names)

    def list_definitions(self) -> Iterator[ToolDefinition]:
        return (tool.definition for tool in self._tools.values())

    def list_server_tools(self) -> Mapping[str, Mapping[str, Tool]]:
        """The tools of each server, by their names."""
        return {
            server: {name: tool.tool for name, tool in tools.items()}
            for server, tools in self._of_servers.items()
        }

    def offer(self, server: str, tools: Mapping[str, Tool]) -> tuple[str, ...]:
        """From now on these are the tools of the server, in place of those it had. A name that another tool has
        is left out; the answer is which."""
        self._of_servers.pop(server, None)
        self._refresh()
        taken = tuple(name for name in tools if name in self._tools)
        kept = {name: GuardedTool(tool) for name, tool in sorted(tools.items()) if name not in taken}
        if kept:
            self._of_servers[server] = kept
        self._refresh()
        return taken

    def _refresh(self) -> None:
        self._tools = dict(self._built)
        for _, tools in sorted(self._of_servers.items()):
            self._tools |= tools
        self._bytes = None
        self._schemas = self._schema.all_tools_schema(ToolSpec(self.list_definitions()))

"""find_tools: the tools of MCP servers, also those that the request does not list."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from quorum.application.calls.tool_set import ToolSet
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.server_tools import CALL_TOOL, FIND_TOOLS
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import ToolTraits
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.tools.builtin.arguments import require_text

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

TRAITS = ToolTraits(verb="find tools", telling=("query",), kind="search", is_conditional=True)

_MOST_SCHEMAS = 10


def build(parts: ToolParts) -> FindTools | None:
    """The tool; none where the settings name no MCP server."""
    return FindTools(parts.get_tool_set) if parts.has_servers else None


class FindTools:
    """Looks among the tools that servers offer now. What they say of them is data from outside."""

    def __init__(self, get_tool_set: Callable[[], ToolSet]) -> None:
        self._get_tool_set = get_tool_set
        self.definition = ToolDefinition(
            name=FIND_TOOLS,
            description=(
                "Look up tools of MCP servers by words of their names and descriptions, and what they take. "
                f"Those that are not among your tools are called with {CALL_TOOL}."
            ),
            parameters=(
                ToolParameter(
                    name="query", type="string", description="Names or words; without any, all are listed."
                ),
            ),
            risk=RiskLevel.LOW,
            access=lambda _arguments: Access(),
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """A JSON object a line: of the best ten with what they take, of the others the names alone."""
        words = require_text(arguments, "query", "").lower().replace(",", " ").split()
        schemas = self._get_tool_set().list_server_schemas()
        found = [each for each in schemas if _count_matches(each, words) or not words]
        found.sort(key=lambda each: -_count_matches(each, words))
        if not found:
            names = ", ".join(str(each["name"]) for each in schemas) or "none"
            return f"no tool of an MCP server has any of these words; there is: {names}"
        lines: list[JsonValue] = [
            *found[:_MOST_SCHEMAS],
            *({"name": each["name"]} for each in found[_MOST_SCHEMAS:]),
        ]
        return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)


def _count_matches(schema: JsonObject, words: list[str]) -> int:
    """How many of the words a tool has; a whole name counts more than all of them."""
    name, text = str(schema["name"]).lower(), f"{schema['name']} {schema['description']}".lower()
    return sum(word in text for word in words) + len(words) * (name in words)

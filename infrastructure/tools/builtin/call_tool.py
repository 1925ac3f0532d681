"""call_tool: a call of an MCP server's tool that the request does not list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.server_tools import CALL_TOOL, FIND_TOOLS
from quorum.domain.calls.tool import RiskLevel, ToolDefinition
from quorum.domain.calls.tool_traits import ToolTraits
from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonObject

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

TRAITS = ToolTraits(telling=("tool",), is_conditional=True, companion_of=FIND_TOOLS)

_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "description": "Its whole name, as in mcp__server__tool."},
        "arguments": {"type": "object", "description": "Its arguments, as its schema says."},
    },
    "required": ["tool"],
}


def build(parts: ToolParts) -> CallTool | None:
    """The tool; none where the settings name no MCP server."""
    return CallTool() if parts.has_servers else None


class CallTool:
    """Refuses what is no call of a server's tool: one that names such a tool is read as a call of that tool,
    with its own review, and never comes here."""

    def __init__(self) -> None:
        self.definition = ToolDefinition(
            name=CALL_TOOL,
            description=(
                "Call a tool of an MCP server that is not among your tools. It runs, and is reviewed, like any "
                f"other. {FIND_TOOLS} shows what it takes."
            ),
            parameters=(),
            input_schema=_SCHEMA,
            risk=RiskLevel.LOW,
            access=lambda _arguments: Access(),
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """Raise ToolError, which says how to call it."""
        raise ToolError(
            "tool is not the name of an MCP server's tool, which begins with mcp__, or arguments is no object; "
            f"{FIND_TOOLS} shows the tools and what they take. Call tools of quorum's own directly"
        )

"""The tools of an MCP server whose names and schemas a session can use."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.domain.mcp.offered_tool import OfferedTool, Selection, select_tools
from quorum.infrastructure.mcp.argument_schema import adapt_schema
from quorum.infrastructure.tools.json_schema import find_schema_problem


def select_usable_tools(server: str, tools: Sequence[OfferedTool], wanted: Sequence[str]) -> Selection:
    """Those of `select_tools` whose arguments can be checked. Loads the validator: blocks."""
    selection = select_tools(server, tools, wanted)
    problems = list(selection.problems)
    kept: list[OfferedTool] = []
    for tool in selection.tools:
        if (problem := find_schema_problem(adapt_schema(tool.input_schema).schema)) is None:
            kept.append(tool)
        else:
            problems.append(f"the tool {tool.full_name} is not offered: the schema of its arguments: {problem}")
    return Selection(tools=tuple(kept), problems=tuple(problems))

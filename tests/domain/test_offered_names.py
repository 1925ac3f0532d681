"""Which tools of a server are offered where several have one name."""

from __future__ import annotations

from quorum.domain.mcp.offers import make_offered_tool, select_tools
from quorum.domain.text.json_value import JsonObject


def _select(*names: str) -> tuple[list[str], tuple[str, ...]]:
    schemas: list[JsonObject] = [{"type": "object", "title": str(number)} for number in range(len(names))]
    tools = [make_offered_tool("s", name, "d", schema) for name, schema in zip(names, schemas, strict=True)]
    selection = select_tools("s", tools)
    return [tool.name for tool in selection.tools], selection.problems


def test_no_tool_is_offered_as_which_a_call_of_two_others_could_be_read() -> None:
    offered, problems = _select("dup", "dup", "DUP", "other")

    assert offered == ["other"]
    assert len(problems) == 3
    assert "'DUP' of the MCP server s is not offered: a call of mcp__s__dup" in problems[2]


def test_spellings_of_one_name_are_all_offered_where_each_is_of_one_tool() -> None:
    assert _select("get_page", "getPage")[0] == ["get_page", "getPage"]

"""The tools of a session, some of which come and go with their servers."""

from __future__ import annotations

from quorum.application.calls.tool_set import ToolSet
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.support.fake_ports import FakeTool


async def _ok(_arguments: JsonObject) -> str:
    return "ok"


def a_tool(name: str) -> FakeTool:
    return FakeTool(name, _ok)


def a_set(*names: str) -> ToolSet:
    return ToolSet({name: a_tool(name) for name in names}, JsonSchema())


def test_tools_of_servers_come_after_the_built_ones_sorted_by_server_and_name() -> None:
    tools = a_set("read", "edit")

    tools.offer("z", {"z__b": a_tool("z__b"), "z__a": a_tool("z__a")})
    tools.offer("g", {"g__x": a_tool("g__x")})

    assert tools.names == ("read", "edit", "g__x", "z__a", "z__b")
    assert [schema["name"] for schema in tools.list_schemas()] == list(tools.names)


def test_a_server_that_offers_others_loses_those_it_had() -> None:
    tools = a_set("read")
    tools.offer("g", {"g__x": a_tool("g__x")})
    before = tools.count_schema_bytes()

    tools.offer("g", {"g__y": a_tool("g__y"), "g__z": a_tool("g__z")})

    assert tools.names == ("read", "g__y", "g__z")
    assert tools.find("g__x") is None
    assert tools.count_schema_bytes() > before
    tools.offer("g", {})
    assert tools.names == ("read",)


def test_a_name_that_is_taken_is_left_out_and_named() -> None:
    tools = a_set("read")
    tools.offer("a", {"shared": a_tool("shared")})

    assert tools.offer("b", {"read": a_tool("read"), "shared": a_tool("shared"), "own": a_tool("own")}) == (
        "read",
        "shared",
    )
    assert tools.names == ("read", "shared", "own")
    assert tools.offer("b", {"own": a_tool("own")}) == ()

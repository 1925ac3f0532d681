"""find_tools: which tools of servers it shows for which words, and how much of them."""

from __future__ import annotations

import json

import pytest

from quorum.application.calls.tool_set import ToolSet
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import ToolDefinition
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.tools.builtin.find_tools import FindTools
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.support.builders import a_context

OFFERED = {
    "mcp__time__get_current_time": "Get the current time in a specific timezone.",
    "mcp__time__convert_time": "Convert a time between zones.",
    "mcp__web__searchNews": "Search for news in the current week.",
    "mcp__db__query": "Run a query in a database.",
    "mcp__db__list_tables": "List the tables.",
}


class _Offered:
    def __init__(self, name: str, description: str) -> None:
        schema = {"type": "object", "properties": {}}
        self.definition = ToolDefinition(name=name, description=description, parameters=(), input_schema=schema)

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        raise NotImplementedError


async def find(query: str, offered: dict[str, str] = OFFERED) -> str:
    tools = ToolSet({}, JsonSchema())
    for server in dict.fromkeys(name.split("__")[1] for name in offered):
        own = {name: _Offered(name, text) for name, text in offered.items() if name.split("__")[1] == server}
        assert tools.offer(server, own) == ()
    return await FindTools(lambda: tools).execute({"query": query}, a_context())


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what is the current time in a timezone", "mcp__time__get_current_time"),
        ("mcp__db__query", "mcp__db__query"),
        ("search the news", "mcp__web__searchNews"),
        ("a list of tables", "mcp__db__list_tables"),
        ("TIME convert", "mcp__time__convert_time"),
    ],
)
async def test_the_tool_that_fits_best_comes_first(query: str, first: str) -> None:
    assert json.loads((await find(query)).splitlines()[0])["name"] == first


async def test_words_that_say_nothing_find_nothing_and_the_tools_are_named() -> None:
    assert (await find("frobnicate")).endswith(f"there is: {', '.join(sorted(OFFERED))}")
    assert "query" not in await find("tables in")


async def test_without_words_all_are_shown() -> None:
    assert [json.loads(line)["name"] for line in (await find("")).splitlines()] == sorted(OFFERED)


async def test_what_is_shown_stays_whole_however_many_tools_there_are() -> None:
    many = {f"mcp__big__part_{number}": f"Does part {number}. " + "x" * 3_000 for number in range(300)}
    shown = await find("part", many)
    *schemas, names = shown.splitlines()

    limit = FindTools(lambda: ToolSet({}, JsonSchema())).definition.inline_bytes
    assert limit is not None
    assert len(shown.encode()) < limit
    assert 1 <= len(schemas) <= 10
    assert all(json.loads(line)["input_schema"] for line in schemas)
    assert names.startswith("less likely: mcp__big__part_")
    assert names.endswith(" more")

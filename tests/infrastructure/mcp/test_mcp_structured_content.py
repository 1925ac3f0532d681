"""What an answer with structured content becomes: JSON that `inspect` can open, unless its text says more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.output import Stored, Structured, ToolOutput
from quorum.infrastructure.mcp.answers import add_structure
from tests.infrastructure.mcp.server_bench import ServerBench, a_server, a_tool

ROWS: list[JsonValue] = [{"id": number, "name": f"row {number}"} for number in range(60)]
TABLE: JsonValue = {"rows": ROWS, "total": 60}
WRAPPED: JsonValue = {"result": ROWS}


@pytest.mark.parametrize(
    ("text", "value", "output"),
    [
        ("", TABLE, Structured(TABLE)),
        (json.dumps(TABLE), TABLE, Structured(TABLE)),
        (json.dumps(TABLE, indent=4), TABLE, Structured(TABLE)),
        (json.dumps(ROWS), WRAPPED, Structured(WRAPPED)),
        ("\n".join(map(json.dumps, ROWS)), WRAPPED, Structured(WRAPPED)),
        ("60 rows found", TABLE, Stored(Structured(TABLE), summary="json_object | 2 keys\n60 rows found")),
        ("done", {"ok": True}, 'done\n{\n  "ok": true\n}'),
        ("a long story " * 90, {"result": "a long story " * 90}, "a long story " * 90),
        ("told in words " * 90, TABLE, "told in words " * 90),
        ("said", {"n": float("nan")}, "said"),
    ],
)
def test_a_text_that_says_no_more_gives_way_and_any_other_is_kept(
    text: str, value: JsonValue, output: str | ToolOutput
) -> None:
    assert add_structure(text, value) == output


async def test_a_server_that_answers_with_structured_content_gives_json(tmp_path: Path) -> None:
    plan = {"tools": [a_tool("list")], "structured": {"list": TABLE}}
    async with ServerBench(tmp_path, plain=a_server(plan)) as bench:
        await bench.servers.settle()

        assert await bench.call_for_output("mcp__plain__list") == Structured(TABLE)

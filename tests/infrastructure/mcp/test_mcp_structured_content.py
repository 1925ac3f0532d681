"""What an answer with structured content becomes: JSON that `inspect` can open, unless its text says more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.application.calls.outputs import Outputs
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.output import OutputLimits, Stored, Structured, ToolOutput
from quorum.infrastructure.mcp.answers import add_structure
from tests.infrastructure.mcp.server_bench import ServerBench, a_server, a_tool
from tests.infrastructure.mcp.test_mcp_odd_servers import ask
from tests.support.fake_blob_store import FakeBlobStore

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
        ("said", {"n": float("nan")}, "said"),
    ],
)
def test_a_text_that_says_no_more_gives_way_and_any_other_is_kept(
    text: str, value: JsonValue, output: str | ToolOutput
) -> None:
    assert add_structure([text], value) == output


@pytest.mark.parametrize(
    ("parts", "value", "output"),
    [
        ([json.dumps(row, indent=2) for row in ROWS], WRAPPED, Structured(WRAPPED)),
        (
            ["[image #1]", json.dumps(TABLE)],
            TABLE,
            Stored(Structured(TABLE), "json_object | 2 keys\n[image #1]"),
        ),
        (["[image #1]", "said"], {"result": "said"}, "[image #1]\nsaid"),
        (["1", "b"], ["1", "b"], Structured(["1", "b"])),
        ([json.dumps([1.0, 2])], [1, 2], Structured([1, 2])),
        (["told in words " * 90], {"n": 1}, "told in words " * 90 + '\n{"n": 1}'),
    ],
)
def test_of_several_parts_those_give_way_that_say_no_more(
    parts: list[str], value: JsonValue, output: str | ToolOutput
) -> None:
    assert add_structure(parts, value) == output


async def test_a_long_text_and_a_long_content_are_both_kept_and_the_summary_shows_the_text() -> None:
    text = "".join(f"line {number} of the story\n" for number in range(300))
    store = FakeBlobStore()

    output = add_structure([text], TABLE)
    kept = await Outputs(store, OutputLimits()).keep_within(output)

    assert isinstance(output, Stored)
    assert output.content == Structured({"content": text, "structuredContent": TABLE})
    assert len(kept.text.encode()) <= OutputLimits().summary_bytes
    assert "structuredContent: object (2 keys)" in kept.text
    assert "line 0 of the story" in kept.text
    assert "line 299 of the story" in kept.text


async def test_without_a_store_a_text_stays_beside_its_content() -> None:
    kept = await Outputs(None, OutputLimits()).keep_within(add_structure(["60 rows found"], TABLE))

    assert kept.text == f"json_object | 2 keys\n60 rows found\n\n{json.dumps(TABLE, indent=2)}"


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"structuredContent": [1, 2]}, ["words\n[note: ", "not of type 'object'", "[\n  1,\n  2\n]"]),
        ({"structuredContent": {"n": "x"}}, ["words\n[note: ", '{\n  "n": "x"\n}']),
        ({"structuredContent": {"n": 7}, "isError": True}, ['error: words\n{\n  "n": 7\n}']),
        ({"structuredContent": "words", "isError": True}, ["error: words"]),
    ],
)
async def test_content_is_also_read_of_errors_and_where_it_does_not_fit(
    result: dict[str, object], said: list[str], tmp_path: Path
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    tools = [{"name": "ok", "inputSchema": {"type": "object"}, "outputSchema": schema}]
    answer = await ask(tmp_path, result={"content": ["words"], **result}, tools=tools)

    assert [part for part in said if part not in answer] == []
    assert answer.count("words") == 1


async def test_a_server_that_answers_with_structured_content_gives_json(tmp_path: Path) -> None:
    plan = {"tools": [a_tool("list")], "structured": {"list": TABLE}}
    async with ServerBench(tmp_path, plain=a_server(plan)) as bench:
        await bench.servers.settle()

        assert await bench.call_for_output("mcp__plain__list") == Structured(TABLE)

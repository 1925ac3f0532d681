"""Resources of MCP servers that a prompt names as `@server:scheme://…`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.infrastructure.commands.command_bench import eventually
from tests.infrastructure.mcp.server_bench import ServerBench, a_server, a_tool

PLAN = {
    "resources": {
        "notes://one": {"text": "first\n\x1b[2Jsecond\nthird"},
        "notes://empty": {"text": ""},
        "pics://logo": {"blob": "AAAA", "mimeType": "image/png"},
    }
}
CLEARED = "\x1b[2J"


async def test_a_text_is_attached_whole_without_control_sequences(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=a_server(PLAN)) as bench:
        found = await bench.servers.read_resource("plain", "notes://one", 1_000)

        assert found.label.startswith("plain:notes://one · 3 lines · ")
        assert found.content.splitlines()[0] == "first"
        assert CLEARED not in found.sent


async def test_what_does_not_fit_is_left_out_by_whole_lines_and_counted(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=a_server(PLAN)) as bench:
        found = await bench.servers.read_resource("plain", "notes://one", 8)

        assert (found.content, found.note) == ("first", "2 more lines are left out")
        assert not (await bench.servers.read_resource("plain", "notes://one", 2)).is_attached


@pytest.mark.parametrize(
    ("server", "uri", "note"),
    [
        ("plain", "notes://none", "the MCP server plain refused it: no such resource"),
        ("plain", "notes://empty", "it is empty"),
        ("plain", "pics://logo", "it is not text (image/png)"),
        ("other", "notes://one", "there is no MCP server other; there is: plain"),
    ],
)
async def test_where_nothing_is_attached_it_says_why(tmp_path: Path, server: str, uri: str, note: str) -> None:
    async with ServerBench(tmp_path, plain=a_server(PLAN)) as bench:
        found = await bench.servers.read_resource(server, uri, 1_000)

        assert (found.is_attached, found.note) == (False, note)


async def test_without_servers_it_says_that_the_settings_name_none(tmp_path: Path) -> None:
    async with ServerBench(tmp_path) as bench:
        found = await bench.servers.read_resource("plain", "notes://one", 1_000)

        assert found.note == "it names a resource of an MCP server, and the settings name none"


async def test_a_server_that_has_ended_gives_its_reason(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, broken=a_server({"exit": 2})) as bench:
        found = await bench.servers.read_resource("broken", "notes://one", 1_000)

        assert "is not running: it ended with exit code 2" in found.note


async def test_resources_and_templates_are_listed_for_completion_as_far_as_they_can_be_shown(
    tmp_path: Path,
) -> None:
    resources = {"notes://one": {}, "notes://\x1b[2J": {}, "no address": {}, "notes://" + "x" * 600: {}}
    plan = {"resources": resources, "templates": ["issue://{number}/text"]}
    async with ServerBench(tmp_path, plain=a_server(plan)) as bench:
        assert await bench.servers.settle() == ()

        listed = bench.servers.list_resources()

        assert [(each.mention, each.is_template) for each in listed] == [
            ("plain:issue://", True),
            ("plain:notes://one", False),
        ]


@pytest.mark.parametrize("changed", ["resources", "prompts"])
async def test_resources_and_prompts_that_come_later_are_there_once_the_server_says_so(
    tmp_path: Path, changed: str
) -> None:
    plan = {
        "tools": [a_tool("announce")],
        "resources": {"notes://one": {}},
        "prompts": [{"name": "first"}],
        "grows": {"resources": {"notes://two": {}}, "prompts": [{"name": "second"}]},
    }
    async with ServerBench(tmp_path, plain=a_server(plan)) as bench:
        await bench.servers.settle()

        def list_named() -> list[str]:
            listing = bench.servers._servers[0].connection.listing
            return [each.name for each in listing.prompts] + [
                each.mention for each in bench.servers.list_resources()
            ]

        assert list_named() == ["first", "plain:notes://one"]
        await bench.call("mcp__plain__announce", of=changed)

        await eventually(lambda: list_named() == ["second", "plain:notes://two"])

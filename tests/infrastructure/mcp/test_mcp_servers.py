"""MCP servers as real processes: their tools join those of a session, and nothing of them stays behind."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from pathlib import Path

import pytest

from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ToolError
from quorum.domain.mcp.offers import ServerState
from quorum.infrastructure.config.program_tables import McpServerTable
from tests.infrastructure.commands.command_bench import alive_with, eventually
from tests.infrastructure.mcp.server_bench import ServerBench, a_server, a_tool
from tests.support.pictures import png

ECHO = "mcp__plain__echo"
PNG = png()


async def test_the_tools_of_a_server_join_those_of_the_session_and_can_be_called(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=a_server(marker=str(tmp_path))) as bench:
        assert bench.tools.names == ()
        assert await bench.servers.settle() == ()

        assert bench.tools.names == (ECHO,)
        assert await bench.call(ECHO, text="hello") == "hello"
        (status,) = bench.servers.list_statuses()
        assert (status.state, status.version, status.tools) == (ServerState.RUNNING, "plain 1.2", (ECHO,))
        definition = bench.definition(ECHO)
        assert definition.description == "[MCP server plain] Says it again."
        assert (definition.risk, definition.determine_access({}).exclusive) == (RiskLevel.HIGH, True)
        assert definition.input_schema is not None
        assert definition.input_schema["required"] == ["text"]
    assert alive_with(str(tmp_path)) == []


async def test_suspended_a_server_has_no_process_and_is_there_again_afterwards(tmp_path: Path) -> None:
    off = McpServerTable(url="http://127.0.0.1:1/mcp", enabled=False)
    async with ServerBench(tmp_path, plain=a_server(marker=str(tmp_path)), off=off) as bench:
        await bench.servers.settle()
        (before,) = alive_with(str(tmp_path))
        async with bench.servers.suspended():
            assert alive_with(str(tmp_path)) == []

        assert await bench.servers.settle() == ()
        assert await bench.call(ECHO, text="hello") == "hello"
        assert alive_with(str(tmp_path)) != [before]


async def test_a_tool_only_reads_where_the_persons_settings_say_so_whatever_the_server_says(
    tmp_path: Path,
) -> None:
    claims = {**a_tool("boast"), "annotations": {"readOnlyHint": True}}
    table = a_server({"tools": [claims, a_tool("look")]}, read_only=("look", "gone"))
    async with ServerBench(tmp_path, plain=table) as bench:
        (notice,) = await bench.servers.settle()

        assert bench.definition("mcp__plain__boast").risk is RiskLevel.HIGH
        assert bench.definition("mcp__plain__look").risk is RiskLevel.LOW
        assert not bench.definition("mcp__plain__look").determine_access({}).exclusive
        assert notice == "the MCP server plain has no tool gone, which mcp.servers.plain.read_only names"


async def test_tools_that_the_settings_of_a_server_cut_are_named_and_not_offered(tmp_path: Path) -> None:
    table = a_server({"tools": [a_tool("drop_table"), a_tool("dropTable")]}, tools=("dropTable",))
    async with ServerBench(tmp_path, plain=table) as bench:
        await bench.servers.settle()

        assert bench.tools.names == ("mcp__plain__dropTable",)
        assert bench.servers.list_names() == ("mcp__plain__drop_table", "mcp__plain__dropTable")


async def test_a_session_that_only_asks_gets_the_tools_that_only_read(tmp_path: Path) -> None:
    table = a_server({"tools": [a_tool("write"), a_tool("look")]}, read_only=("look",))
    async with ServerBench(tmp_path, reads_only=True, plain=table) as bench:
        await bench.servers.settle()

        assert bench.tools.names == ("mcp__plain__look",)


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("fail", "no such row"),
        ("refuse", "the MCP server plain refused the call: not today"),
        ("crash", "the MCP server plain broke off the connection; whether the call took effect is not known"),
        ("flood", "the MCP server plain broke off the connection; whether the call took effect is not known"),
    ],
)
async def test_a_call_that_fails_says_why(tmp_path: Path, tool: str, said: str) -> None:
    async with ServerBench(tmp_path, plain=a_server({"tools": [a_tool(tool)]})) as bench:
        await bench.servers.settle()

        with pytest.raises(ToolError) as failure:
            await bench.call(f"mcp__plain__{tool}")

        assert str(failure.value) == said


@pytest.mark.long
async def test_a_server_that_ends_is_started_again_and_its_last_words_are_known(tmp_path: Path) -> None:
    plan = {"tools": [a_tool("crash"), a_tool("echo")]}
    async with ServerBench(tmp_path, plain=a_server(plan)) as bench:
        await bench.servers.settle()
        with pytest.raises(ToolError):
            await bench.call("mcp__plain__crash")
        await eventually(lambda: bench.servers.list_statuses()[0].state is not ServerState.RUNNING)

        (status,) = bench.servers.list_statuses()
        assert status.problem == "it ended with exit code 3; its last words: the disk is on fire"
        with pytest.raises(ToolError, match="is not running: it ended with exit code 3"):
            await bench.call(ECHO, text="x")
        await eventually(lambda: bench.servers.list_statuses()[0].state is ServerState.RUNNING)
        assert await bench.call(ECHO, text="again") == "again"


@pytest.mark.long
async def test_a_server_that_does_not_start_is_said_once_and_the_others_run(tmp_path: Path) -> None:
    async with ServerBench(
        tmp_path,
        broken=a_server({"exit": 2}, marker=str(tmp_path)),
        missing=McpServerTable(command=("no-such-program-here",)),
        slow=a_server({"slow_secs": 60}, marker=str(tmp_path), start_timeout_secs=1),
        plain=a_server(marker=str(tmp_path)),
    ) as bench:
        broken, missing, slow = await bench.servers.settle()

        said = "it ended with exit code 2; its last words: cannot find my settings"
        assert broken == f"the MCP server broken is not running: {said}"
        assert "missing is not running: there is no program no-such-program-here" in missing
        assert slow == "the MCP server slow is not running: it did not start within 1 s"
        assert bench.tools.names == (ECHO,)
        assert await bench.servers.settle() == ()
    assert alive_with(str(tmp_path)) == []


async def test_rubbish_on_its_output_is_dropped(tmp_path: Path) -> None:
    rubbish = ["Welcome to plain!", "{", '{"jsonrpc": "2.0"}', "\x1b[2J", "[1, 2]"]
    async with ServerBench(tmp_path, plain=a_server({"rubbish": rubbish})) as bench:
        assert await bench.servers.settle() == ()
        assert await bench.call(ECHO, text="hello") == "hello"


@pytest.mark.long
async def test_a_large_answer_arrives_whole(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=a_server({"tools": [a_tool("huge")]})) as bench:
        await bench.servers.settle()

        assert len(await bench.call("mcp__plain__huge")) == 10_000_000


@pytest.mark.long
async def test_a_call_that_hangs_ends_at_its_limit_and_the_server_is_told_of_a_cancellation(
    tmp_path: Path,
) -> None:
    log = tmp_path / "cancelled.json"
    plan = {"tools": [a_tool("hang"), a_tool("echo")], "cancelled": str(log)}
    short = a_server({"tools": [a_tool("hang")]}, timeout_secs=1)
    async with ServerBench(tmp_path, plain=a_server(plan), short=short) as bench:
        await bench.servers.settle()
        with pytest.raises(ToolError, match="the MCP server short"):
            await bench.call("mcp__short__hang")
        calling = asyncio.create_task(bench.call("mcp__plain__hang"))
        await asyncio.sleep(0)
        await bench.call(ECHO, text="in between")
        calling.cancel()

        with pytest.raises(asyncio.CancelledError):
            await calling
        await eventually(lambda: log.exists() and log.stat().st_size > 0)
        assert await bench.call(ECHO, text="goes on") == "goes on"


async def test_a_tool_that_changes_is_asked_about_and_not_offered_until_then(tmp_path: Path) -> None:
    when = tmp_path / "now"
    plan = {
        "tools": [a_tool("announce"), a_tool("look", "Looks.")],
        "changes_to": [a_tool("announce"), a_tool("look", "Looks, and tells everybody."), a_tool("more")],
        "when": str(when),
    }
    async with ServerBench(tmp_path, trusts=False, plain=a_server(plan)) as bench:
        await bench.servers.settle()
        when.touch()
        await bench.call("mcp__plain__announce")
        await eventually(lambda: len(bench.servers._servers[0].connection.listing.tools) == 3)
        assert "mcp__plain__more" not in bench.tools.names  # not before the next turn

        (notice,) = await bench.servers.settle()

        assert notice.startswith("not offered, because you have not accepted what the MCP server plain says")
        assert "look, more" in notice
        assert bench.tools.names == ("mcp__plain__announce",)
        (question,) = bench.person.trust_questions
        assert [(item.file, item.changed) for item in question.items] == [
            ("the tool look of the MCP server plain", True),
            ("the tool more of the MCP server plain", False),
        ]
        assert "Looks, and tells everybody." in question.items[0].wants
    bench = ServerBench(tmp_path, trusts=True, plain=a_server(plan))
    async with bench:
        assert await bench.servers.settle() == ()
        assert bench.tools.names == ("mcp__plain__announce", "mcp__plain__look", "mcp__plain__more")
    async with ServerBench(tmp_path, plain=a_server(plan)) as bench:
        assert await bench.servers.settle() == ()
        assert bench.person.trust_questions == []


async def test_a_program_gets_no_secret_but_those_that_are_passed_on(tmp_path: Path) -> None:
    environ = {**os.environ, "GITHUB_TOKEN": "one", "OTHER_TOKEN": "two", "ANTHROPIC_API_KEY": "three"}
    table = a_server({"tools": [a_tool("environment")]}, pass_env=("GITHUB_TOKEN",))
    async with ServerBench(tmp_path, environ=environ, plain=table) as bench:
        await bench.servers.settle()

        seen = json.loads(await bench.call("mcp__plain__environment"))

        assert seen["GITHUB_TOKEN"] == "one"
        assert {"OTHER_TOKEN", "ANTHROPIC_API_KEY"}.isdisjoint(seen)


async def test_each_kind_of_content_has_its_text(tmp_path: Path) -> None:
    blocks = [
        {"type": "text", "text": "one"},
        {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///a.txt", "name": "a.txt"},
        {"type": "resource", "resource": {"uri": "file:///b.txt", "text": "inside"}},
    ]
    plan = {"tools": [a_tool("blocks")], "blocks": blocks}
    async with ServerBench(tmp_path, plain=a_server(plan)) as bench:
        await bench.servers.settle()

        one, image, broken, audio, link, place, inside = (await bench.call("mcp__plain__blocks")).splitlines()

        assert (one, place, inside) == ("one", "[resource file:///b.txt]", "inside")
        assert image.startswith("[image mcp__plain__blocks")
        assert broken.startswith("[image, image/png, left out: ")
        assert audio == "[audio, audio/wav, 3 bytes: left out]"
        assert link == "[resource file:///a.txt: a.txt]"
        assert bench.images.contents == [PNG]


@pytest.mark.parametrize(
    ("kind", "data", "begins", "shown"),
    [
        ("image/png", PNG, "[image mcp__plain__blocks", [PNG]),
        ("Image/PNG", PNG, "[image mcp__plain__blocks", [PNG]),
        ("image/png", b"none", "[image, image/png, left out: ", []),
        ("application/zip", PNG, "", []),
        (None, PNG, "", []),
    ],
)
async def test_data_of_a_resource_that_says_to_be_an_image_is_shown_where_it_is_one(
    kind: str | None, data: bytes, begins: str, shown: list[bytes], tmp_path: Path
) -> None:
    content = {"uri": "file:///a.png", "blob": base64.b64encode(data).decode()}
    resource = content if kind is None else content | {"mimeType": kind}
    plan = {"tools": [a_tool("blocks")], "blocks": [{"type": "resource", "resource": resource}]}
    async with ServerBench(tmp_path, plain=a_server(plan)) as bench:
        await bench.servers.settle()

        place, _, image = (await bench.call("mcp__plain__blocks")).partition("\n")

        assert place == ("[resource file:///a.png]" if begins else "[resource file:///a.png: no text]")
        assert image.startswith(begins)
        assert bench.images.contents == shown


@pytest.mark.long
async def test_a_server_that_stays_though_its_input_is_closed_is_ended(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=a_server({"stays": True}, marker=str(tmp_path))) as bench:
        await bench.servers.settle()
    assert alive_with(str(tmp_path)) == []


async def test_a_server_can_be_started_anew(tmp_path: Path) -> None:
    async with ServerBench(tmp_path, plain=a_server(marker=str(tmp_path))) as bench:
        await bench.servers.settle()
        (before,) = alive_with(str(tmp_path))

        assert await bench.servers.restart("plain")
        await bench.servers.settle()

        assert before not in alive_with(str(tmp_path))
        assert await bench.call(ECHO, text="hello") == "hello"
        assert not await bench.servers.restart("other")

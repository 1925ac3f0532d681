"""The screen of `/mcp`."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.mcp.offers import ServerState, ServerStatus
from tests.support.app_stage import on_stage
from tests.support.fake_agent import FakeAgent

SERVERS = (
    ServerStatus(
        name="git",
        target="uvx mcp-server-git",
        state=ServerState.RUNNING,
        version="mcp-git 1.2",
        tools=("mcp__git__git_log", "mcp__git__git_status"),
    ),
    ServerStatus(
        name="web",
        target="https://example.invalid/mcp",
        state=ServerState.FAILED,
        problem="\x1b[31mconnection refused",
    ),
)


def with_servers(agent: FakeAgent) -> None:
    agent.tool_servers.servers = SERVERS


@pytest.mark.long
async def test_each_server_is_shown_with_its_state_its_tools_and_what_went_wrong(tmp_path: Path) -> None:
    async with on_stage(tmp_path, prepare=with_servers) as stage:
        await stage.send("/mcp")

        await stage.shows("MCP servers")
        await stage.shows("git  running  2 tools  mcp-git 1.2")
        await stage.shows("git_log, git_status")
        await stage.shows("connection refused")
        await stage.shows("/mcp restart web tries again")
        assert "\x1b" not in stage.text()


@pytest.mark.long
async def test_without_a_server_it_says_how_to_add_one(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        await stage.send("/mcp")

        await stage.shows("The settings name no MCP server.")


@pytest.mark.long
async def test_a_server_is_started_anew_by_its_name(tmp_path: Path) -> None:
    async with on_stage(tmp_path, prepare=with_servers) as stage:
        await stage.send("/mcp restart web")
        await stage.shows("the MCP server web is starting anew")

        await stage.send("/mcp restart nothing")
        await stage.shows("there is no MCP server 'nothing'; there is: git, web")
        await stage.send("/mcp stop")
        await stage.shows("/mcp restart NAME starts one of them anew")
        assert stage.agent.tool_servers.restarted == ["web", "nothing"]


ADDRESS = f"https://login.example/authorize?{'x' * 200}&end=1"


def with_login(agent: FakeAgent) -> None:
    agent.tool_servers.servers = (
        ServerStatus(
            name="issues",
            target="https://mcp.example/mcp",
            state=ServerState.NEEDS_LOGIN,
            problem="it wants you to log in",
        ),
    )
    agent.tool_servers.login_address = ADDRESS


@pytest.mark.long
async def test_a_server_that_needs_a_login_names_the_key_that_starts_it(tmp_path: Path) -> None:
    async with on_stage(tmp_path, prepare=with_login) as stage:
        await stage.send("/mcp")
        await stage.shows("issues  needs login")
        await stage.shows("l logs in · /mcp login issues")

        stage.hit("l")

        await stage.shows("The MCP server issues wants you to log in.")
        await stage.shows("&end=1")  # the whole address is there
        stage.agent.tool_servers.logged_in.set()
        await stage.shows("logged in to the MCP server issues")


@pytest.mark.long
async def test_closing_the_screen_cancels_the_login(tmp_path: Path) -> None:
    async with on_stage(tmp_path, prepare=with_login) as stage:
        await stage.send("/mcp login issues")
        await stage.shows("https://login.example/authorize?")

        stage.hit("escape")

        await stage.shows("the login to the MCP server issues was cancelled")


async def test_a_login_that_cannot_be_says_why(tmp_path: Path) -> None:
    async with on_stage(tmp_path, prepare=with_servers) as stage:
        await stage.send("/mcp login nothing")

        await stage.shows("no login to the MCP server nothing: there is no MCP server nothing")

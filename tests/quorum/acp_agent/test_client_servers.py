"""MCP servers that a client offers, as settings."""

from __future__ import annotations

import pytest
from acp.schema import EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio, SseMcpServer

from quorum.acp_agent.client_servers import ClientServer, convert_servers


def test_a_program_and_an_address_become_settings_of_their_names() -> None:
    servers = [
        McpServerStdio(name="My Files", command="uvx", args=["mcp-files", "--root=."], env=[]),
        HttpMcpServer(type="http", name="docs", url="https://example.org/mcp", headers=[]),
    ]
    converted = convert_servers(servers, ())

    assert converted.overrides == {
        "mcp.servers.my-files.command": ["uvx", "mcp-files", "--root=."],
        "mcp.servers.docs.url": "https://example.org/mcp",
    }
    assert converted.notices == ()


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (
            McpServerStdio(name="git", command="x", args=[], env=[EnvVariable(name="TOKEN", value="secret")]),
            "pass_env",
        ),
        (
            HttpMcpServer(type="http", name="a", url="https://a", headers=[HttpHeader(name="k", value="v")]),
            "bearer_token_env",
        ),
        (SseMcpServer(type="sse", name="a", url="https://a", headers=[]), "kind"),
        (McpServerStdio(name="Mine", command="x", args=[], env=[]), "your settings have a server mine"),
        (McpServerStdio(name="…", command="x", args=[], env=[]), "no letter"),
    ],
)
def test_what_cannot_be_started_is_said_with_the_reason_and_never_its_secrets(
    server: ClientServer, why: str
) -> None:
    converted = convert_servers([server], {"mine"})

    assert converted.overrides == {}
    (notice,) = converted.notices
    assert why in notice
    assert "secret" not in notice


def test_of_two_servers_with_one_name_the_first_is_started() -> None:
    one, other = (McpServerStdio(name="a", command=command, args=[], env=[]) for command in ("x", "y"))
    converted = convert_servers([one, other], ())

    assert converted.overrides == {"mcp.servers.a.command": ["x"]}
    assert len(converted.notices) == 1

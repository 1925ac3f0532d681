"""MCP servers that a client offers, as settings."""

from __future__ import annotations

import pytest
from acp.schema import (
    EnvVariable,
    HttpHeader,
    HttpMcpServer,
    McpServerStdio,
    NewSessionRequest,
    SseMcpServer,
)

from quorum.acp_agent.client_servers import ClientServer, convert_servers, explain_unread


def a_site(*headers: HttpHeader) -> HttpMcpServer:
    return HttpMcpServer(type="http", name="site", url="https://a", headers=list(headers))


def a_program(*variables: EnvVariable) -> McpServerStdio:
    return McpServerStdio(name="git", command="x", args=[], env=list(variables))


def test_headers_and_variables_are_kept_apart_from_the_settings_and_known_as_secrets() -> None:
    converted = convert_servers(
        [
            a_site(
                HttpHeader(name="authorization", value="Bearer first-7fh3qk20"),
                HttpHeader(name="Authorization", value="Bearer Hq72-kdn3-00zz"),
            ),
            a_program(EnvVariable(name="TOKEN", value="Px93-dkw8-11aa"), EnvVariable(name="NODE", value="dev")),
        ],
        (),
    )
    site, git = converted.credentials["site"], converted.credentials["git"]

    assert converted.overrides == {"mcp.servers.site.url": "https://a", "mcp.servers.git.command": ["x"]}
    assert site.headers == {"Authorization": "Bearer Hq72-kdn3-00zz"}
    assert git.environment == {"TOKEN": "Px93-dkw8-11aa", "NODE": "dev"}
    assert [secret.value for secret in site.list_secrets("site")] == ["Bearer Hq72-kdn3-00zz", "Hq72-kdn3-00zz"]
    assert [(secret.name, secret.value) for secret in git.list_secrets("git")] == [
        ("mcp.git.TOKEN", "Px93-dkw8-11aa")
    ]
    assert "Hq72" not in repr(converted)
    assert "Px93" not in repr(converted)


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
        (a_site(HttpHeader(name="X-Key", value="secret\r\nX-Other: 1")), "X-Key has characters"),
        (a_site(HttpHeader(name="X-Key", value="secrét")), "X-Key has characters"),
        (a_site(HttpHeader(name="X Key", value="secret")), "'X Key' is no header"),
        (a_site(HttpHeader(name="Transfer-Encoding", value="secret")), "no header that can be sent"),
        (a_program(EnvVariable(name="A=B", value="secret")), "'A=B' is no environment variable"),
        (a_program(EnvVariable(name="TOKEN", value="secret\0")), "'TOKEN' is no environment variable"),
        (HttpMcpServer(type="http", name="a", url="site", headers=[]), "does not start with http"),
        (HttpMcpServer(type="http", name="a", url="", headers=[]), "does not start with http"),
        (HttpMcpServer(type="http", name="a", url="http://a:secret", headers=[]), "does not start with http"),
        (McpServerStdio(name="a", command="", args=[], env=[]), "it names no program"),
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


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"name": "a", "command": "secret"}, "'a' is not started: args: Field required; env: Field required"),
        ({"type": "ws", "name": "a", "url": "secret"}, "'a' is not started: its kind is not supported"),
        ({"type": ["http"], "name": "a"}, "its kind is not supported"),
        ({"type": "http", "name": "a", "url": "https://secret"}, "'a' is not started: headers: Field required"),
        ({"type": "http", "name": "a", "url": "x", "headers": [{"value": "secret"}]}, "headers.0.name: Field"),
        ({"type": "acp", "name": "a"}, "serverId: Field required"),
        ({"name": "a", "command": "x", "args": [1], "env": [{"name": "A"}]}, "args.0: Input should be a valid"),
        ({"name": "\x1b[31m", "command": "x"}, "server '"),
        ({"type": "http", "url": "x", "headers": []}, "number 1 is not started: name: Field required"),
        ({"name": 5, "command": "x", "args": [], "env": []}, "number 1 is not started: name: Input"),
        ("secret", "number 1 is not started: it is no object"),
        (None, "number 1 is not started: it is no object"),
        ({"name": "a", "command": "x", "args": [], "env": []}, None),
        ({"type": "ws", "name": "a", "command": "x", "args": [], "env": []}, None),
        ({"type": "http", "name": "a", "command": "x", "args": [], "env": []}, None),
        ({"type": "http", "name": "a", "url": "x", "headers": []}, None),
        ({"type": "sse", "name": "a", "url": "x", "headers": []}, None),
    ],
)
def test_a_server_that_the_sdk_cannot_read_is_named_with_what_is_wrong_and_one_that_it_can_is_not(
    entry: object, said: str | None
) -> None:
    read = NewSessionRequest.model_validate({"cwd": "/", "mcpServers": [entry]}).mcp_servers
    notices = explain_unread([entry])

    assert len(notices) + len(read) == 1
    assert (said is None) == bool(read)
    assert said is None or said in notices[0]
    assert "secret" not in "".join(notices)
    assert "".join(notices).isprintable()


@pytest.mark.parametrize("offered", [None, 5, {}, "x", []])
def test_a_request_without_a_list_of_servers_has_none_to_name(offered: object) -> None:
    assert explain_unread(offered) == ()

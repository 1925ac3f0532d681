"""The settings of MCP servers: the table `[mcp]`."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct, field

from quorum.infrastructure.config.about import About, ProjectRule
from quorum.infrastructure.config.web_address import is_web_address

SERVER_NAME = r"\A[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?\Z"
_VARIABLE = r"\A[A-Za-z_][A-Za-z0-9_]*\Z"
_NO_VARIABLE = r"\A([A-Za-z_][A-Za-z0-9_]*)?\Z"
_NEVER = ProjectRule.NEVER


def find_unfit_server(table: Mapping[str, object]) -> str | None:
    """What is wrong with a server as a whole: it is either started or reached, and a key belongs to one way."""
    if bool(table.get("command")) == bool(table.get("url")):
        return 'needs either command = ["PROGRAM", …] or url = "https://…"'
    if table.get("url") and table.get("pass_env"):
        return "has pass_env, which only a server with a command takes; a token goes into bearer_token_env"
    if table.get("command") and table.get("bearer_token_env"):
        return "has bearer_token_env, which only a server with a url takes; a variable goes into pass_env"
    for key in ("oauth_client_id", "oauth_client_secret_env", "oauth_redirect_port"):
        if table.get("command") and table.get(key):
            return f"has {key}, which only a server with a url takes"
    if table.get("oauth_client_secret_env") and not table.get("oauth_client_id"):
        return "has oauth_client_secret_env without the oauth_client_id that it belongs to"
    return None


class McpServerTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    command: Annotated[
        tuple[str, ...],
        About(
            description="The program of the server and its arguments, run without a shell in the workspace, "
            "with your rights and outside of the sandbox, for the length of a session.",
            project=_NEVER,
            expected='a list of a program and its arguments, for example ["uvx", "mcp-server-git"]',
        ),
    ] = ()
    url: Annotated[
        str,
        About(
            description="Instead of a command, the address of a server that is reached over streamable HTTP.",
            project=_NEVER,
            expected="an address that starts with http:// or https://",
            accepts=is_web_address,
        ),
    ] = ""
    pass_env: Annotated[
        tuple[Annotated[str, Meta(pattern=_VARIABLE)], ...],
        About(
            description="Names of environment variables that the program gets although they look like secrets, "
            'for example ["GITHUB_TOKEN"].',
            project=ProjectRule.OWN,
            expected="a list of names of environment variables",
        ),
    ] = ()
    bearer_token_env: Annotated[
        str,
        Meta(pattern=_NO_VARIABLE),
        About(
            description="Name of the environment variable whose value goes to the url as a bearer token; never "
            "the token itself.",
            project=ProjectRule.OWN,
            expected="the name of an environment variable (not the token itself)",
            unquoted=True,
        ),
    ] = ""
    oauth_client_id: Annotated[
        str,
        About(
            description="For `quorum mcp login`: the client that you have registered with the server's "
            "authorisation server. Empty: quorum registers itself.",
            project=ProjectRule.OWN,
        ),
    ] = ""
    oauth_client_secret_env: Annotated[
        str,
        Meta(pattern=_NO_VARIABLE),
        About(
            description="Name of the environment variable with the secret of oauth_client_id, if it has one.",
            project=ProjectRule.OWN,
            expected="the name of an environment variable (not the secret itself)",
            unquoted=True,
        ),
    ] = ""
    oauth_redirect_port: Annotated[
        int,
        Meta(ge=0, le=65_535),
        About(
            description="The port of 127.0.0.1 to which the browser comes back from a login; 0: any free one.",
            project=ProjectRule.OWN,
        ),
    ] = 0
    tools: Annotated[
        tuple[str, ...],
        About(
            description="The only tools of the server that a model is offered, by the server's own names. "
            "Empty: all, up to 128.",
            project=_NEVER,
        ),
    ] = ()
    read_only: Annotated[
        tuple[str, ...],
        About(
            description="Tools of the server, by its own names, whose calls only read and run without review. "
            "What the server itself says about that does not count.",
            project=ProjectRule.OWN,
        ),
    ] = ()
    start_timeout_secs: Annotated[
        int,
        Meta(ge=1, le=600),
        About(
            description="Seconds that a turn waits for the server to start, then it continues without it.",
            project=_NEVER,
        ),
    ] = 20
    timeout_secs: Annotated[
        int,
        Meta(ge=1, le=86_400),
        About(description="Seconds after which a call of one of its tools fails.", project=_NEVER),
    ] = 120
    enabled: Annotated[bool, About(description="false: it is off.", project=_NEVER)] = True


class McpTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    servers: Annotated[
        Mapping[str, McpServerTable],
        About(
            description="Servers of the Model Context Protocol whose tools a model gets, one table per server.",
            project=_NEVER,
            problem=find_unfit_server,
            names=SERVER_NAME,
            names_expected="1 to 32 small letters, digits and - only",
            names_example="git",
        ),
    ] = field(default_factory=dict)

"""The way to an MCP server that its settings describe: a program to start, or an address to reach."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.application.program_lookup import (
    explain_local_package,
    explain_missing,
    filter_environment,
    find_local_package,
    find_program,
    pin_runner,
)
from quorum.domain.errors import ToolError
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.config.program_tables import McpServerTable
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.mcp.server_credentials import NO_CREDENTIALS, ServerCredentials

if TYPE_CHECKING:
    from quorum.infrastructure.mcp.connection import OpenTransport


def describe_target(table: McpServerTable) -> str:
    """The command line or the address of a server, as it is shown and as its tools are remembered by."""
    return make_printable(table.url or shlex.join(table.command), newlines=False)


def find_obstacle(
    table: McpServerTable,
    environ: Mapping[str, str],
    secret_names: Collection[str] = (),
    credentials: ServerCredentials = NO_CREDENTIALS,
) -> str:
    """Why a server cannot even be tried: a missing program or variable; empty where nothing is missing."""
    if table.url:
        if table.bearer_token_env and not environ.get(table.bearer_token_env):
            return f"the environment variable {table.bearer_token_env} is not set"
        return ""
    program = _locate_program(table)
    path = _build_environment(table, environ, secret_names, credentials).get("PATH")
    if find_program(program, path) is None:
        return make_printable(explain_missing(program, path), newlines=False)
    return ""


def open_transport(
    server: str,
    table: McpServerTable,
    *,
    cwd: Path,
    environ: Mapping[str, str],
    secret_names: Collection[str],
    learn: Callable[[str, str], object] = lambda _name, _value: None,
    credentials: ServerCredentials = NO_CREDENTIALS,
) -> OpenTransport:
    """One way to the server. Raises ToolError where there is none. `learn` gets the secrets of a login.

    A program gets no variable that looks like a secret, nor any of `secret_names`, but those of `pass_env` and
    of `credentials`.
    """
    if obstacle := find_obstacle(table, environ, secret_names, credentials):
        raise ToolError(obstacle)
    if table.url:
        from quorum.infrastructure.mcp.http_transport import HttpTransport
        from quorum.infrastructure.mcp.oauth.login_store import LoginStore

        token = environ.get(table.bearer_token_env) if table.bearer_token_env else None
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return HttpTransport(
            server, table.url, headers={**headers, **credentials.headers}, logins=LoginStore(learn)
        )
    from quorum.infrastructure.mcp.stdio_transport import StdioTransport

    if local := find_local_package(table.command, str(cwd)):
        raise ToolError(make_printable(explain_local_package(table.command, local), newlines=False))
    environment = _build_environment(table, environ, secret_names, credentials)
    path = find_program(_locate_program(table), environment.get("PATH"))
    assert path is not None  # `find_obstacle` has found it
    words, settings = pin_runner(table.command, path, str(cwd))
    return StdioTransport(server, words, cwd=cwd, environment=filter_environment(environment) | settings)


def _locate_program(table: McpServerTable) -> str:
    """The name of the program, or its absolute path where a path is given."""
    program = table.command[0]
    return os.path.abspath(program) if "/" in program else program


def _build_environment(
    table: McpServerTable,
    environ: Mapping[str, str],
    secret_names: Collection[str],
    credentials: ServerCredentials,
) -> dict[str, str]:
    passed = {name: environ[name] for name in table.pass_env if name in environ}
    return {**build_command_environment(environ, secret_names), **passed, **credentials.environment}

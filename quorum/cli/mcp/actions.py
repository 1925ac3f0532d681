"""`quorum mcp`: servers listed, added, removed, tested, logged in to and out of; and quorum as a server."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from quorum.cli.mcp import AddServerOptions, ServeReviewsOptions, ServerOptions
from quorum.command_line.options import StartOptions
from quorum.domain.errors import LoginError
from quorum.domain.text.fuzzy import find_nearest_word
from quorum.domain.text.printable import make_printable
from quorum.errors import UsageError, complain
from quorum.infrastructure.config.config_file import ConfigFile, ConfigFileEdit
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.program_tables import McpServerTable
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.toml_text import KeyPath, hide_credentials
from quorum.infrastructure.extras import is_installed, render_install_command
from quorum.infrastructure.mcp.mcp_json import read_server_of_mcp_json
from quorum.infrastructure.mcp.pinned_tools import open_pinned_tools
from quorum.infrastructure.mcp.server_trial import try_server
from quorum.infrastructure.mcp.transports import describe_target, find_obstacle
from quorum.infrastructure.settings_conversion import list_key_names
from quorum.settings import load, open_own_file
from quorum.tui.terminal.browser import open_address
from quorum.version import __version__


def print_login(name: str, table: McpServerTable) -> int:
    """Log the person in; the exit code. Raises ConfigError and UsageError."""
    _require_sdk()
    from quorum.infrastructure.mcp.oauth.login import run_login
    from quorum.infrastructure.mcp.oauth.login_store import LoginStore

    async def show(address: str) -> None:
        print(f"To log in to {name}, open this address:", make_printable(address), sep="\n", flush=True)
        if await open_address(address):
            print("It is open in your browser.")
        print("Ctrl+C cancels.", flush=True)

    try:
        asyncio.run(run_login(name, table, store=LoginStore(), show=show, environ=os.environ))
    except LoginError as error:
        complain([str(error)])
        return 1
    print(f"logged in to the MCP server {name}; quorum mcp test {name} tries it")
    return 0


def print_logout(name: str, table: McpServerTable | None) -> int:
    """End the login; the exit code. `table` is None where the settings do not name the server any more. Raises
    ConfigError and UsageError."""
    _require_sdk()
    from quorum.infrastructure.mcp.oauth.login import run_logout
    from quorum.infrastructure.mcp.oauth.login_store import LoginStore

    notice = asyncio.run(run_logout(name, table, store=LoginStore()))
    if notice is None:
        raise UsageError(f"the keyring holds no login to an MCP server {name}")
    complain([notice] if notice else [])
    print(f"logged out of the MCP server {name}")
    return 0


def _require_sdk() -> None:
    if not is_installed("mcp"):
        raise UsageError(f"there is no login to MCP servers without their SDK: {render_install_command('mcp')}")


_TABLE: KeyPath = ("mcp", "servers")
_LONGEST_LINE = 100


def list_servers(options: StartOptions, root: Path) -> int:
    """Print the servers, and where each is defined; always 0. Raises ConfigError."""
    loaded = _load(options, root)
    servers = loaded.settings.mcp.servers
    if servers and not is_installed("mcp"):
        complain([f"no MCP server can be started: for that, {render_install_command('mcp')}"])
    if not servers:
        print("the settings name no MCP server; quorum mcp add NAME adds one (quorum help mcp add)")
    for name, table in servers.items():
        state = _describe_state(table, loaded) if table.enabled else "off"
        target = hide_credentials(describe_target(table))
        print(f"{name}: {state}, {target} ({make_printable(_place(loaded, name))})")
    return 0


def _describe_state(table: McpServerTable, loaded: LoadedSettings) -> str:
    obstacle = find_obstacle(table, os.environ, list_key_names(loaded.settings))
    return f"on, but {obstacle}" if obstacle else "on"


def add_server(options: AddServerOptions, root: Path) -> int:
    """Write a server to the person's own settings; always 0. Raises ConfigError and UsageError."""
    if [bool(options.url), bool(options.after_dashes), options.mcp_json is not None].count(True) != 1:
        raise UsageError("give either --url URL or, behind --, the program: quorum mcp add NAME -- PROGRAM")
    loaded = _load(options, root)
    if options.server in loaded.settings.mcp.servers:
        raise UsageError(
            f"there is a server {options.server} already ({_place(loaded, options.server)}); take another "
            f"name, or quorum mcp remove {options.server}"
        )
    file = open_own_file(options, root, loaded)
    values = {(*_TABLE, options.server, key): value for key, value in _collect_settings(options).items()}
    change = file.preview(values)
    if options.server not in change.loaded.settings.mcp.servers:  # the managed policy leaves it out
        new = [warning for warning in change.loaded.warnings if warning not in loaded.warnings]
        raise UsageError("\n".join((*new, f"the MCP server {options.server} was not added")))
    _print_change(file, file.set_all(values, seen=change))
    print(f"added the MCP server {options.server}; quorum mcp test {options.server} tries it")
    return 0


def _collect_settings(asked: AddServerOptions) -> dict[str, object]:
    """The keys of its table that were given, in the order of the schema."""
    every: dict[str, object] = {
        "command": asked.after_dashes,
        "url": asked.url,
        "pass_env": asked.pass_env,
        "bearer_token_env": asked.bearer_token_env,
        "tools": asked.tools,
        "read_only": asked.read_only,
    }
    taken = read_server_of_mcp_json(asked.mcp_json, asked.server) if asked.mcp_json is not None else {}
    return {**taken, **{name: value for name, value in every.items() if value}}


def remove_server(options: ServerOptions, root: Path) -> int:
    """Take a server out of them; always 0. Raises ConfigError and UsageError."""
    loaded = _load(options, root)
    name = options.server
    file = open_own_file(options, root, loaded)
    if not file.holds_table((*_TABLE, name)):  # one that the managed policy leaves out is held all the same
        _find(name, loaded)
        place = _place(loaded, name)
        raise UsageError(f"the MCP server {name} is defined in {place}, not in your own settings; edit that")
    _print_change(file, file.remove_table((*_TABLE, name)))
    print(f"removed the MCP server {name}")
    return 0


def test_server(options: ServerOptions, root: Path) -> int:
    """Start a server, print its tools, and end it; 1 where it does not come up. Raises UsageError."""
    loaded = _load(options, root)
    name = options.server
    table = _find(name, loaded)
    if not is_installed("mcp"):
        raise UsageError(f"no MCP server can be started: for that, {render_install_command('mcp')}")
    trial = asyncio.run(
        try_server(
            name,
            table,
            pins=open_pinned_tools(os.environ),
            cwd=root,
            environ=os.environ,
            secret_names=list_key_names(loaded.settings),
        )
    )
    if trial.problem:
        complain([f"the MCP server {name} did not come up: {trial.problem}"])
        return 1
    complain(trial.notices)
    version = f" ({trial.version})" if trial.version else ""
    print(f"{name}{version}: {len(trial.tools)} tools" if len(trial.tools) != 1 else f"{name}{version}: 1 tool")
    for tool in trial.tools:
        about = [tool.outline.partition("\n")[0][:_LONGEST_LINE]]
        about += ["read-only by your settings"] if tool.name in table.read_only else []
        about += ["not as you accepted it: a session asks about it"] if tool.name in trial.changed else []
        print(f"  {'; '.join((tool.full_name, *filter(None, about)))}")
    return 0


def _find(name: str, loaded: LoadedSettings) -> McpServerTable:
    servers = loaded.settings.mcp.servers
    if name in servers:
        return servers[name]
    near = find_nearest_word(name, tuple(servers))
    known = f"known are {', '.join(servers)}" if servers else "the settings name none"
    raise UsageError(f"there is no MCP server {name}; {f'did you mean {near}?' if near else known}")


def _place(loaded: LoadedSettings, name: str) -> str:
    """Where a server is defined."""
    table = loaded.settings.mcp.servers[name]
    return loaded.locate((*_TABLE, name, "url" if table.url else "command"))


def _load(options: StartOptions, root: Path) -> LoadedSettings:
    loaded = load(options, root, needs_project=False)
    complain(loaded.warnings)
    return loaded


def _print_change(file: ConfigFile, change: ConfigFileEdit) -> None:
    print(f"{escape_path(file.path)}:")
    for line in change.changed_lines:
        print(hide_credentials(make_printable(line)))


def log_in(options: ServerOptions, root: Path) -> int:
    """Log the person in to a server over HTTP; the exit code. Raises ConfigError and UsageError."""
    return print_login(options.server, _find(options.server, _load(options, root)))


def log_out(options: ServerOptions, root: Path) -> int:
    """End the login to a server; the exit code. Raises ConfigError and UsageError."""
    return print_logout(options.server, _load(options, root).settings.mcp.servers.get(options.server))


def serve_reviews(options: ServeReviewsOptions, root: Path) -> int:
    """Serve until standard input ends. Raises UsageError without the extra, ConfigError and LedgerError."""
    if not is_installed("mcp"):
        raise UsageError(f"MCP needs a package that is not installed: {render_install_command('mcp')}")
    return asyncio.run(_serve(options, root))


async def _serve(options: ServeReviewsOptions, root: Path) -> int:
    from quorum.gate.permission_tool import DESCRIPTION, NAME, SCHEMA, PermissionTool
    from quorum.infrastructure.mcp.tool_server import serve_tool

    tool = PermissionTool(options, root, load, tui=options.tui, timeout_secs=options.timeout_secs)
    try:
        await serve_tool(NAME, DESCRIPTION, SCHEMA, tool.answer, version=__version__)
    finally:
        await tool.aclose()
    return 0

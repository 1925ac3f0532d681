"""`quorum mcp`: the MCP servers of the settings, listed, added, removed and tested; and quorum as one."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from domain.text.nearest import find_nearest_word
from domain.text.printable import make_printable
from infrastructure.config.config_file import ConfigFile, ConfigFileEdit
from infrastructure.config.loading import LoadedSettings
from infrastructure.config.mcp_table import McpServerTable
from infrastructure.config.toml_file import escape_path
from infrastructure.config.toml_text import KeyPath, hide_credentials
from infrastructure.extras import is_installed, render_install_command
from infrastructure.mcp.mcp_json import read_server_of_mcp_json
from infrastructure.mcp.pins import open_pinned_tools
from infrastructure.mcp.server_trial import try_server
from infrastructure.mcp.transports import describe_target, find_obstacle
from infrastructure.settings_conversion import list_key_names
from quorum.errors import UsageError, complain
from quorum.options import McpOptions, Options
from quorum.settings import load, open_own_file
from quorum.version import __version__

_TABLE: KeyPath = ("mcp", "servers")
_LONGEST_LINE = 100


def print_mcp(options: Options, root: Path) -> int:
    """Do what is asked about the servers; the exit code. Raises ConfigError, and UsageError."""
    match options.action:
        case "list":
            return _list(options, root)
        case "serve":
            return _serve_reviews(options, root)
        case "add":
            return _add(options, root)
        case "remove":
            return _remove(options, root)
        case "login" | "logout":
            from quorum.cli.mcp_login import print_login, print_logout

            loaded = _load(options, root)
            name = options.mcp.server
            if options.action == "logout":
                return print_logout(name, loaded.settings.mcp.servers.get(name))
            return print_login(name, _find(name, loaded))
        case _:
            return _test(options, root)


def _list(options: Options, root: Path) -> int:
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


def _add(options: Options, root: Path) -> int:
    asked = options.mcp
    if [bool(asked.url), bool(asked.program), asked.mcp_json is not None].count(True) != 1:
        raise UsageError("give either --url URL or, behind --, the program: quorum mcp add NAME -- PROGRAM")
    loaded = _load(options, root)
    if asked.server in loaded.settings.mcp.servers:
        raise UsageError(
            f"there is a server {asked.server} already ({_place(loaded, asked.server)}); take another name, or "
            f"quorum mcp remove {asked.server}"
        )
    file = open_own_file(options, root, loaded)
    values = {(*_TABLE, asked.server, key): value for key, value in _collect_settings(asked).items()}
    change = file.preview(values)
    if asked.server not in change.loaded.settings.mcp.servers:  # the managed policy leaves it out
        new = [warning for warning in change.loaded.warnings if warning not in loaded.warnings]
        raise UsageError("\n".join((*new, f"the MCP server {asked.server} was not added")))
    _print_change(file, file.set_all(values, seen=change))
    print(f"added the MCP server {asked.server}; quorum mcp test {asked.server} tries it")
    return 0


def _collect_settings(asked: McpOptions) -> dict[str, object]:
    """The keys of its table that were given, in the order of the schema."""
    every: dict[str, object] = {
        "command": asked.program,
        "url": asked.url,
        "pass_env": asked.pass_env,
        "bearer_token_env": asked.bearer_token_env,
        "tools": asked.tools,
        "read_only": asked.read_only,
    }
    taken = read_server_of_mcp_json(asked.mcp_json, asked.server) if asked.mcp_json is not None else {}
    return {**taken, **{name: value for name, value in every.items() if value}}


def _remove(options: Options, root: Path) -> int:
    loaded = _load(options, root)
    name = options.mcp.server
    file = open_own_file(options, root, loaded)
    if not file.holds_table((*_TABLE, name)):  # one that the managed policy leaves out is held all the same
        _find(name, loaded)
        place = _place(loaded, name)
        raise UsageError(f"the MCP server {name} is defined in {place}, not in your own settings; edit that")
    _print_change(file, file.remove_table((*_TABLE, name)))
    print(f"removed the MCP server {name}")
    return 0


def _test(options: Options, root: Path) -> int:
    loaded = _load(options, root)
    name = options.mcp.server
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
        about = [tool.description.partition("\n")[0][:_LONGEST_LINE]]
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


def _load(options: Options, root: Path) -> LoadedSettings:
    loaded = load(options, root, needs_project=False)
    complain(loaded.warnings)
    return loaded


def _print_change(file: ConfigFile, change: ConfigFileEdit) -> None:
    print(f"{escape_path(file.path)}:")
    for line in change.changed_lines:
        print(hide_credentials(make_printable(line)))


def _serve_reviews(options: Options, root: Path) -> int:
    """Serve until standard input ends. Raises UsageError without the extra, ConfigError and LedgerError."""
    if not is_installed("mcp"):
        raise UsageError(f"MCP needs a package that is not installed: {render_install_command('mcp')}")
    return asyncio.run(_serve(options, root))


async def _serve(options: Options, root: Path) -> int:
    from infrastructure.mcp.tool_server import serve_tool
    from quorum.gate.permission_tool import DESCRIPTION, NAME, SCHEMA, PermissionTool

    tool = PermissionTool(options, root, load)
    try:
        await serve_tool(NAME, DESCRIPTION, SCHEMA, tool.answer, version=__version__)
    finally:
        await tool.aclose()
    return 0

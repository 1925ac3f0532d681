"""`quorum mcp login` and `logout`: the login to an MCP server over HTTP."""

from __future__ import annotations

import asyncio
import os

from quorum.domain.errors import LoginError
from quorum.domain.text.printable import make_printable
from quorum.errors import UsageError, complain
from quorum.infrastructure.config.program_tables import McpServerTable
from quorum.infrastructure.extras import is_installed, render_install_command
from quorum.tui.terminal.browser import open_address


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

"""`quorum mcp serve`: quorum as an MCP server that reviews calls."""

from __future__ import annotations

import asyncio
from pathlib import Path

from infrastructure.extras import is_installed, render_install_command
from quorum.cli.errors import UsageError
from quorum.cli.settings import load
from quorum.options import Options
from quorum.version import __version__


def serve_reviews(options: Options, root: Path) -> int:
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

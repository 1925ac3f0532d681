"""MCP servers, through the official SDK: connections, their tools, and what the person accepted of them."""

from quorum.infrastructure.lean_imports import import_lazily

import_lazily("mcp")  # else a client would load web servers, a tenth of a second and 15 MB

"""MCP servers, through the official SDK: connections, their tools, and what the person accepted of them."""

"""What an MCP server asks the person: a form to fill in, or an address to open."""

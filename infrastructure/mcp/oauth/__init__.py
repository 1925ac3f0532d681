"""Logins to MCP servers over HTTP: OAuth 2.1 through the SDK, with tokens in the keyring."""

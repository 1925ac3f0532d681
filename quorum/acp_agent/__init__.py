"""The agent side of the Agent Client Protocol: `quorum acp`, the sessions of quorum in an editor."""

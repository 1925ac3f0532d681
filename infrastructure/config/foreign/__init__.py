"""The settings files of other agents, read."""

"""Subagents: agents that another agent gives a task, each in a session of its own."""

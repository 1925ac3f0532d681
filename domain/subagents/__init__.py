"""Subagents: what one is given to do, and the names of their sessions."""

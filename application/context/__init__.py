"""Keeping a conversation within its model's context window."""

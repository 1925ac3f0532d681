"""Dialogs about git worktrees."""

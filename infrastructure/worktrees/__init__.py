"""Git worktrees of tabs."""

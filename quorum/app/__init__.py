"""The full-screen app, composed: what it gets of settings, sessions, servers and worktrees."""

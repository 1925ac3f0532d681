"""The prompt: its keys, its pastes, and what was asked before."""

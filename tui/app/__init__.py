"""The full-screen app: its life, its tabs and its command palette."""

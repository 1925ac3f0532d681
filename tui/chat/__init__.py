"""The chat screen of one session."""

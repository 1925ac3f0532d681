"""Sessions as texts to keep and to pass on: pure functions from their recorded events."""

"""Sessions as texts to keep and to pass on: pure functions from records, and nothing in them is interpreted."""

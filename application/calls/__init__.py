"""The tool runtime: every declared call of a batch ends with exactly one result."""

"""Judging a shell command before it runs: what it is made of, and whether it can only read."""

"""Decisions that wait in any session, and their answers from other processes."""

"""Entries of the transcript as lines."""

"""The transcript as data: entries built from events."""

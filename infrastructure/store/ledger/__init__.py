"""The records of sessions, and what files held before they were changed: one SQLite database."""

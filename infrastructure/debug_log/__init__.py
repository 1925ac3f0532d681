"""The log that `--debug` writes for a report of a bug."""

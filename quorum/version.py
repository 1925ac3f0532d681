"""The version, where `--version` can read it without importing anything else."""

__version__ = "1.0.0"

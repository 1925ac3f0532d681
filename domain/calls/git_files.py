"""What the files in the folder of a git repository are for."""

from __future__ import annotations

_DATA = ("refs", "logs", "objects")


def is_git_folder(path: str) -> bool:
    """Whether git keeps a repository there, or what a linked working tree has of its own."""
    return ".git" in path.rstrip("/").split("/")


def makes_git_run(name: str) -> bool:
    """Whether a file, named from the folder of a repository, can make git run programs: a hook or settings."""
    parts = name.split("/")
    return parts[0] not in _DATA and ("hooks" in parts or parts[-1] in ("config", "config.worktree"))

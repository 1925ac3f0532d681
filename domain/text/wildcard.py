"""Texts with wildcards as rules write them: `*` stands for any characters, `?` for one, and nothing else."""

from __future__ import annotations

from fnmatch import fnmatchcase


def fits(text: str, pattern: str) -> bool:
    """Whether a text fits a pattern as a whole. A bracket is a bracket: `[::1]` is a host, `[ab]` a word."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))

"""A row of the tables of harmful uses of programs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HarmfulUse:
    """Programs, the words that must follow first, one that must be among the rest, and what that does.

    A word is needed, or excludes the row, if the pattern matches it whole; "" needs and excludes none.
    """

    program: str
    needed: str
    does: str
    unless: str = ""
    guard: str = "destructive"

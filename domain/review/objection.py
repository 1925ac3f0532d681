"""What a guard has against a call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Objection:
    """What a guard has against a call, in words for the person. `guard` is its name in the settings."""

    guard: str
    reason: str

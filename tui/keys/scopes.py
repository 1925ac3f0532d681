"""The scopes of a session by name: how far it goes. What they mean: `domain/plan/phase.py`."""

from __future__ import annotations

SCOPES = ("full", "fast", "plan-only")

"""The words that `/plan` takes besides what is to be planned."""

from __future__ import annotations

LEAVE, DROP = "off", "drop"
PLAN_WORDS = frozenset({LEAVE, DROP})

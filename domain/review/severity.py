"""How bad it would be if what a reviewer says is true."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """How bad it would be, the worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

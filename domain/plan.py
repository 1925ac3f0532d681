"""Planners: pure functions that say which earlier calls of a batch each call has to wait for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from domain.access import Access, conflict
from domain.tool import RiskLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """What a planner may know of a call."""

    index: int
    access: Access
    risk: RiskLevel


Plan: TypeAlias = Mapping[int, frozenset[int]]
Planner: TypeAlias = Callable[[Sequence[PlannedCall]], Plan]


def serializable(calls: Sequence[PlannedCall]) -> Plan:
    """Each call follows every earlier call it conflicts with; all else overlaps.

    The outcome then equals running the calls one by one in the model's order, and the time is that of
    the longest chain of calls that depend on each other. Two high-risk calls conflict always, so that
    the person sees them in order and each review knows what the one before did.
    """
    return {
        call.index: frozenset(earlier.index for earlier in calls[:place] if _ordered(earlier, call))
        for place, call in enumerate(calls)
    }


def _ordered(earlier: PlannedCall, later: PlannedCall) -> bool:
    both_high = earlier.risk is RiskLevel.HIGH and later.risk is RiskLevel.HIGH
    return both_high or conflict(earlier.access, later.access)
